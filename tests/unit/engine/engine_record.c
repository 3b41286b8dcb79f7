/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "engine_record.h"

#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring_error.h"

/* -- what can be made to fail -- */

static int enter_error; /* what io_uring_submit_and_wait() returns, 0: what it does */
atomic_int thread_limit;

int __real_io_uring_submit_and_wait(struct io_uring *ring, unsigned int count);
int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned int count);
int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned int count)
{
	return enter_error ? enter_error : __real_io_uring_submit_and_wait(ring, count);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*function)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*function)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*function)(void *), void *argument)
{
	if (atomic_fetch_sub(&thread_limit, 1) <= 0)
		return EAGAIN;
	return __real_pthread_create(thread, attributes, function, argument);
}

bool memory_fails;

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
	return memory_fails ? NULL : __real_calloc(count, bytes);
}

/* -- the owner -- */

struct engine_record seen = { .lock = PTHREAD_MUTEX_INITIALIZER };

static enum tcmu_ext_status execute(void *context, struct engine_request *request,
				    unsigned int thread)
{
	unsigned int together = atomic_fetch_add(&seen.together, 1) + 1;
	unsigned int most = atomic_load(&seen.most_together);

	(void)context;
	while (together > most &&
	       !atomic_compare_exchange_weak(&seen.most_together, &most, together))
		;
	atomic_fetch_or(&seen.threads, 1u << thread);
	atomic_fetch_add(&seen.executed, 1);
	gate_pass(&seen.gate);
	pthread_mutex_lock(&seen.lock);
	seen.order[seen.order_count++] = (int)(intptr_t)request->command.caller_command;
	pthread_mutex_unlock(&seen.lock);
	atomic_fetch_sub(&seen.together, 1);
	return TCMU_EXT_STATUS_BUSY;
}

static bool accept_transfer(void *context, struct engine_request *request, unsigned int thread)
{
	(void)context;
	(void)request;
	if (thread != 0)
		return false;
	atomic_fetch_add(&seen.accepted, 1);
	return atomic_load(&seen.accepts);
}

static void submit_successor(int number);

static void complete(void *context, void *caller_command, enum tcmu_ext_status status)
{
	assert_ptr_equal(context, &seen);
	pthread_mutex_lock(&seen.lock);
	seen.completions[(intptr_t)caller_command]++;
	seen.statuses[(intptr_t)caller_command] = status;
	seen.ended++;
	pthread_mutex_unlock(&seen.lock);
	submit_successor((int)(intptr_t)caller_command);
	gate_pass(&seen.finished);
}

static void keep_message(void *context, enum tcmu_ext_log_level level, const char *message)
{
	(void)context;
	(void)level;
	snprintf(seen.message, sizeof(seen.message), "%s", message);
}

const struct engine_owner recording_owner = { .execute = execute, .accept = accept_transfer };
const struct tcmu_ext_log message_log = { .write = keep_message };

void record_clear(void)
{
	static const struct gate new_gate = GATE_INITIALIZER;

	seen.gate = seen.finished = seen.late = new_gate;
	atomic_store(&seen.executed, 0);
	atomic_store(&seen.accepted, 0);
	atomic_store(&seen.threads, 0);
	atomic_store(&seen.together, 0);
	atomic_store(&seen.most_together, 0);
	atomic_store(&seen.accepts, true);
	seen.ended = seen.order_count = 0;
	memset(seen.completions, 0, sizeof(seen.completions));
	seen.message[0] = '\0';
}

static int make(void)
{
	char path[] = "engine-XXXXXX";

	record_clear();
	seen.file = mkstemp(path);
	if (seen.file < 0 || unlink(path) || ftruncate(seen.file, FILE_BYTES))
		return -1;
	return engine_create(&recording_owner, seen.file, &message_log, &seen.engine);
}

int set_up_with_ring(void **state)
{
	(void)state;
	ring_error = 0;
	atomic_store(&thread_limit, 100);
	return make();
}

int set_up_without_ring(void **state)
{
	(void)state;
	ring_error = -EPERM;
	atomic_store(&thread_limit, 100);
	return make();
}

int set_up_with_a_ring_of_no_use(void **state)
{
	int error;

	(void)state;
	ring_error = 0;
	enter_error = -EPERM;
	atomic_store(&thread_limit, 100);
	error = make();
	enter_error = 0;
	return error;
}

int tear_down(void **state)
{
	(void)state;
	gate_open(&seen.gate); /* a test that failed may have left it closed */
	engine_destroy(seen.engine);
	close(seen.file);
	seen.engine = NULL;
	ring_error = 0;
	atomic_store(&thread_limit, 100);
	return 0;
}

/* -- requests -- */

struct engine_request request_of(int number, uint64_t offset, uint64_t bytes, bool changes)
{
	return (struct engine_request){
		.command = { .complete = complete,
			     .context = &seen,
			     .caller_command = (void *)(intptr_t)number },
		.offset = offset,
		.bytes = bytes,
		.changes = changes,
	};
}

void submit(int number, uint64_t offset, uint64_t bytes, bool changes)
{
	struct engine_request request = request_of(number, offset, bytes, changes);

	engine_submit(seen.engine, &request);
}

void submit_transfer(int number, enum engine_transfer transfer, uint64_t offset, struct iovec *iov,
		     size_t iov_count, size_t bytes)
{
	struct engine_request request = request_of(number, offset, bytes, transfer == ENGINE_WRITE);

	request.transfer = transfer;
	request.command.iov = iov;
	request.command.iov_count = iov_count;
	engine_submit(seen.engine, &request);
}

static void wait_until_stopping(struct engine *engine)
{
	bool stopping = false;

	gate_pass(&seen.late);
	while (!stopping) {
		usleep(1000);
		pthread_mutex_lock(&engine->lock);
		stopping = engine->stopping;
		pthread_mutex_unlock(&engine->lock);
	}
	/* Time for an engine that does not wait to end its workers. */
	usleep(20 * 1000);
}

static void submit_successor(int number)
{
	struct engine_request next = request_of(number + 1, 0, 512, true);

	if (number == LATE)
		wait_until_stopping(seen.engine);
	if ((number >= CHAIN_BEGIN && number < CHAIN_END) || number == LATE)
		engine_submit_allocated(seen.engine, &next);
}
