/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Threads that execute requests, one at a time each. */
#include <signal.h>

#include "engine/internal.h"

enum { STACK_BYTES = 256 * 1024 };

int thread_start(pthread_t *thread, void *(*function)(void *), void *argument)
{
	sigset_t all;
	sigset_t before;
	pthread_attr_t attributes;
	int error;

	sigfillset(&all);
	error = pthread_attr_init(&attributes);
	if (error)
		return -error;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, &attributes, function, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}

/* With the engine locked. NULL: there is nothing left to do, ever. */
static struct engine_request *wait_for_work(struct engine *engine)
{
	while (!engine->work.first && !engine_is_done(engine)) {
		engine->idle_workers++;
		pthread_cond_wait(&engine->work_there, &engine->lock);
		engine->idle_workers--;
	}
	if (!engine->work.first)
		return NULL;
	engine->queued--;
	return queue_take(&engine->work);
}

static void *work(void *argument)
{
	struct engine *engine = argument;
	struct engine_request *request;
	unsigned int thread = 1;

	pthread_setname_np(pthread_self(), "tcmu-ext-work");
	pthread_mutex_lock(&engine->lock);
	while (!pthread_equal(engine->workers[thread - 1], pthread_self()))
		thread++;
	while ((request = wait_for_work(engine))) {
		pthread_mutex_unlock(&engine->lock);
		request->status = engine->owner.execute(engine->owner.context, request, thread);
		requests_end(engine, &request, 1);
		pthread_mutex_lock(&engine->lock);
	}
	pthread_mutex_unlock(&engine->lock);
	return NULL;
}

/* With the engine locked: the new thread waits for that, and by then can find its own place. */
static int add_worker(struct engine *engine)
{
	int error = thread_start(&engine->workers[engine->worker_count], work, engine);

	if (!error)
		engine->worker_count++;
	return error;
}

int workers_start_first(struct engine *engine)
{
	int error;

	pthread_mutex_lock(&engine->lock);
	error = add_worker(engine);
	pthread_mutex_unlock(&engine->lock);
	return error;
}

bool workers_give(struct engine *engine, struct engine_request *request)
{
	if (engine->queued >= engine->idle_workers && engine->worker_count < engine->worker_maximum)
		add_worker(engine);
	if (!engine->worker_count)
		return false;
	queue_append(&engine->work, request);
	engine->queued++;
	pthread_cond_signal(&engine->work_there);
	return true;
}

void workers_wake(struct engine *engine)
{
	pthread_cond_broadcast(&engine->work_there);
}

void workers_join(struct engine *engine)
{
	for (unsigned int i = 0; i < engine->worker_count; i++)
		pthread_join(engine->workers[i], NULL);
}
