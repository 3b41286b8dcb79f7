/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What the engine's own files share. */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include "engine/engine.h"

enum {
	/* Requests that end together. To complete one takes time, in which new ones come. */
	ENGINE_BATCH = 8,
};

static inline void queue_append(struct engine_queue *queue, struct engine_request *request)
{
	request->next = NULL;
	if (queue->last)
		queue->last->next = request;
	else
		queue->first = request;
	queue->last = request;
}

static inline struct engine_request *queue_take(struct engine_queue *queue)
{
	struct engine_request *request = queue->first;

	if (!request)
		return NULL;
	queue->first = request->next;
	if (!queue->first)
		queue->last = NULL;
	return request;
}

/* order.c: with the engine locked. */

/* Puts a request behind those that have not ended, and counts which of them it has to wait for. */
void order_append(struct engine *engine, struct engine_request *request);

/* Takes out a request that has ended. Returns those that waited for it and now for none, in order
 * of submission. */
struct engine_queue order_remove(struct engine *engine, struct engine_request *request);

/* requests.c */

/* Hands a request that is not held back to who will execute it. With the engine locked; returns
 * whether the ring's thread is to be woken once it is not. */
bool request_start(struct engine *engine, struct engine_request *request);

/*
 * Ends up to ENGINE_BATCH requests: starts those they held back, frees them and calls their
 * completion functions.
 */
void requests_end(struct engine *engine, struct engine_request **requests, size_t count);

/* Whether there is nothing left to do. With the engine locked. */
static inline bool engine_is_idle(const struct engine *engine)
{
	return !engine->earliest && !engine->completing;
}

/* Whether there is nothing left to do, ever. With the engine locked. */
static inline bool engine_is_done(const struct engine *engine)
{
	return engine->stopping && engine_is_idle(engine);
}

/* Starts a thread with all signals blocked and a small stack. Returns 0 or -errno. */
int thread_start(pthread_t *thread, void *(*function)(void *), void *argument);

/* workers.c */

/* Puts a request into the workers' queue, and makes a worker if there are too few. With the engine
 * locked. Returns false when there is no worker and none can be made. */
bool workers_give(struct engine *engine, struct engine_request *request);

/* Makes the worker without which an engine cannot be. Returns 0 or -errno. */
int workers_start_first(struct engine *engine);

/* Lets workers look whether they are done. With the engine locked. */
void workers_wake(struct engine *engine);

void workers_join(struct engine *engine);

/* ring.c */

/* Makes engine->ring and starts its thread. Returns 0, or -errno where io_uring cannot be used. */
int ring_create(struct engine *engine, int descriptor);
void ring_wake(struct ring *ring);
/* Once there is nothing left to do. */
void ring_destroy(struct ring *ring);

#endif
