/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The life of a request: submitted, started, ended. */
#include <errno.h>
#include <stdlib.h>

#include "engine/internal.h"

bool request_start(struct engine *engine, struct engine_request *request)
{
	bool wake_ring = engine->ring_waits;

	if (!engine->ring) {
		workers_give(engine, request); /* there is at least one */
		return false;
	}
	/* Without a worker the ring's thread does their work. */
	if (request->transfer == ENGINE_NO_TRANSFER && workers_give(engine, request))
		return false;
	queue_append(&engine->ring_work, request);
	engine->ring_waits = false;
	return wake_ring;
}

/* With the engine locked, which it no longer is afterwards. */
static void append(struct engine *engine, struct engine_request *request)
{
	bool wake_ring = false;

	order_append(engine, request);
	if (!request->blockers)
		wake_ring = request_start(engine, request);
	pthread_mutex_unlock(&engine->lock);
	if (wake_ring)
		ring_wake(engine->ring);
}

/* With the engine locked; waits for one. */
static struct engine_request *take_free(struct engine *engine)
{
	struct engine_request *request;

	if (!engine->free && engine->used < ENGINE_REQUESTS)
		return &engine->requests[engine->used++];
	while (!engine->free)
		pthread_cond_wait(&engine->request_free, &engine->lock);
	request = engine->free;
	engine->free = request->next;
	return request;
}

void engine_submit(struct engine *engine, const struct engine_request *request)
{
	struct engine_request *own;

	pthread_mutex_lock(&engine->lock);
	own = take_free(engine);
	*own = *request;
	own->allocated = false;
	append(engine, own);
}

/* With the engine locked. */
static void begin_access(struct engine *engine)
{
	engine->accesses++;
	atomic_fetch_add_explicit(&engine->unfinished, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&engine->changing, 1, memory_order_relaxed);
}

static void end_accesses(struct engine *engine, unsigned int count)
{
	engine->accesses -= count;
	atomic_fetch_sub_explicit(&engine->unfinished, count, memory_order_release);
	atomic_fetch_sub_explicit(&engine->changing, count, memory_order_release);
}

int engine_submit_allocated(struct engine *engine, const struct engine_request *request)
{
	struct engine_request *own = malloc(sizeof(*own));

	if (!own)
		return -ENOMEM;
	*own = *request;
	own->allocated = true;
	pthread_mutex_lock(&engine->lock);
	begin_access(engine);
	append(engine, own);
	return 0;
}

/* What is left of a request when its memory is free for the next. */
struct completion {
	void (*complete)(void *context, void *caller_command, enum tcmu_ext_status status);
	void *context;
	void *caller_command;
	enum tcmu_ext_status status;
	bool allocated;
};

static void release(struct engine *engine, struct engine_request *request)
{
	if (request->allocated) {
		free(request);
		return;
	}
	if (!engine->free)
		pthread_cond_signal(&engine->request_free);
	request->next = engine->free;
	engine->free = request;
}

/* With the engine locked. Returns whether the ring's thread is to be woken. */
static bool end_one(struct engine *engine, struct engine_request *request,
		    struct completion *completion)
{
	struct engine_queue released;
	struct engine_request *next;
	bool wake_ring = false;

	*completion = (struct completion){
		.complete = request->command.complete,
		.context = request->command.context,
		.caller_command = request->command.caller_command,
		.status = request->status,
		.allocated = request->allocated,
	};
	released = order_remove(engine, request);
	release(engine, request);
	while ((next = queue_take(&released)))
		wake_ring |= request_start(engine, next);
	return wake_ring;
}

/* Completion functions may submit more, so that it is not over before they have returned. */
static void complete(struct engine *engine, const struct completion *completions, size_t count)
{
	unsigned int accesses = 0;

	for (size_t i = 0; i < count; i++) {
		completions[i].complete(completions[i].context, completions[i].caller_command,
					completions[i].status);
		accesses += completions[i].allocated;
	}
	pthread_mutex_lock(&engine->lock);
	if (accesses)
		end_accesses(engine, accesses);
	engine->completing -= count;
	if (engine_is_idle(engine))
		pthread_cond_signal(&engine->idle);
	pthread_mutex_unlock(&engine->lock);
}

void requests_end(struct engine *engine, struct engine_request **requests, size_t count)
{
	struct completion completions[ENGINE_BATCH];
	bool wake_ring = false;

	pthread_mutex_lock(&engine->lock);
	for (size_t i = 0; i < count; i++)
		wake_ring |= end_one(engine, requests[i], &completions[i]);
	engine->completing += count;
	pthread_mutex_unlock(&engine->lock);
	if (wake_ring)
		ring_wake(engine->ring);
	complete(engine, completions, count);
}
