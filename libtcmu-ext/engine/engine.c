/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The life of an engine. */
#include "engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/internal.h"
#include "plumbing/log.h"

static void init(struct engine *engine, const struct engine_owner *owner,
		 const struct tcmu_ext_log *log)
{
	engine->owner = *owner;
	engine->log = *log;
	pthread_mutex_init(&engine->lock, NULL);
	pthread_cond_init(&engine->request_free, NULL);
	pthread_cond_init(&engine->idle, NULL);
	pthread_cond_init(&engine->work_there, NULL);
}

static void release(struct engine *engine)
{
	pthread_cond_destroy(&engine->work_there);
	pthread_cond_destroy(&engine->idle);
	pthread_cond_destroy(&engine->request_free);
	pthread_mutex_destroy(&engine->lock);
	free(engine);
}

/* The ring, or where there is to be none, the worker that takes its place. */
static int start_first_thread(struct engine *engine, int descriptor)
{
	int error;

	engine->worker_maximum = ENGINE_WORKERS_WITHOUT_RING;
	if (descriptor >= 0) {
		error = ring_create(engine, descriptor);
		if (!error) {
			engine->worker_maximum = ENGINE_WORKERS_BESIDE_RING;
			return 0;
		}
		log_message(&engine->log, TCMU_EXT_LOG_INFO,
			    "io_uring cannot be used here (%s): up to %d threads take its place",
			    strerror(-error), ENGINE_WORKERS_WITHOUT_RING);
	}
	return workers_start_first(engine);
}

int engine_create(const struct engine_owner *owner, int descriptor, const struct tcmu_ext_log *log,
		  struct engine **engine_out)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	int error;

	*engine_out = NULL;
	if (!engine)
		return -ENOMEM;
	init(engine, owner, log);
	error = start_first_thread(engine, descriptor);
	if (error) {
		release(engine);
		return error;
	}
	*engine_out = engine;
	return 0;
}

/* With the engine locked. */
static void wait_until_idle(struct engine *engine)
{
	while (!engine_is_idle(engine))
		pthread_cond_wait(&engine->idle, &engine->lock);
}

void engine_drain(struct engine *engine)
{
	pthread_mutex_lock(&engine->lock);
	wait_until_idle(engine);
	pthread_mutex_unlock(&engine->lock);
}

void engine_destroy(struct engine *engine)
{
	if (!engine)
		return;
	pthread_mutex_lock(&engine->lock);
	engine->stopping = true;
	wait_until_idle(engine);
	workers_wake(engine);
	pthread_mutex_unlock(&engine->lock);
	/* From here on no worker is made any more. */
	workers_join(engine);
	if (engine->ring)
		ring_destroy(engine->ring);
	release(engine);
}
