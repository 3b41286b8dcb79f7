/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The engine by itself: which requests run beside which, on which threads, and how each ends. */
#include "engine/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_test.h"
#include "gate.h"

enum { FILE_BYTES = 64 * 1024 };

/* -- what can be made to fail -- */

static int ring_error;          /* what io_uring_queue_init_params() returns, 0: what it does */
static int enter_error;         /* likewise io_uring_submit_and_wait() */
static atomic_int thread_limit; /* threads that can still be made */

int __real_io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
				      struct io_uring_params *parameters);
int __wrap_io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
				      struct io_uring_params *parameters);
int __wrap_io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
				      struct io_uring_params *parameters)
{
	return ring_error ? ring_error
			  : __real_io_uring_queue_init_params(entries, ring, parameters);
}

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

static bool memory_fails;

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
	return memory_fails ? NULL : __real_calloc(count, bytes);
}

/* -- an owner that records what it is asked to do -- */

enum { RECORDS_MAXIMUM = 4 * ENGINE_REQUESTS + 200 };

static struct {
	struct engine *engine;
	int file;
	struct gate gate;     /* that execution passes */
	struct gate finished; /* that completion passes; never closed */
	struct gate late;     /* that the completion of LATE passes first; never closed */
	atomic_uint executed; /* requests */
	atomic_uint accepted;
	atomic_uint threads;  /* that executed, a bit each */
	atomic_uint together; /* under execution right now */
	atomic_uint most_together;
	atomic_bool accepts;
	pthread_mutex_t lock;
	int order[RECORDS_MAXIMUM]; /* of requests as their execution ended */
	unsigned int order_count;
	enum tcmu_ext_status statuses[RECORDS_MAXIMUM]; /* of each request, by number */
	unsigned int completions[RECORDS_MAXIMUM];
	unsigned int ended;
	char message[256];
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER };

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

static const struct engine_owner owner = { .execute = execute, .accept = accept_transfer };
static const struct tcmu_ext_log message_log = { .write = keep_message };

static void forget(void)
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

	forget();
	seen.file = mkstemp(path);
	if (seen.file < 0 || unlink(path) || ftruncate(seen.file, FILE_BYTES))
		return -1;
	return engine_create(&owner, seen.file, &message_log, &seen.engine);
}

static int set_up_with_ring(void **state)
{
	(void)state;
	ring_error = 0;
	atomic_store(&thread_limit, 100);
	return make();
}

static int set_up_without_ring(void **state)
{
	(void)state;
	ring_error = -EPERM;
	atomic_store(&thread_limit, 100);
	return make();
}

/* As a filter of system calls does that knows io_uring_setup(2) alone. */
static int set_up_with_a_ring_of_no_use(void **state)
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

static int tear_down(void **state)
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

static struct engine_request request_of(int number, uint64_t offset, uint64_t bytes, bool changes)
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

static void submit(int number, uint64_t offset, uint64_t bytes, bool changes)
{
	struct engine_request request = request_of(number, offset, bytes, changes);

	engine_submit(seen.engine, &request);
}

static void submit_transfer(int number, enum engine_transfer transfer, uint64_t offset,
			    struct iovec *iov, size_t iov_count, size_t bytes)
{
	struct engine_request request = request_of(number, offset, bytes, transfer == ENGINE_WRITE);

	request.transfer = transfer;
	request.command.iov = iov;
	request.command.iov_count = iov_count;
	engine_submit(seen.engine, &request);
}

/* Requests from CHAIN_BEGIN on are submitted by the completion of the one before. */
enum { CHAIN_BEGIN = 4 * ENGINE_REQUESTS, CHAIN_END = CHAIN_BEGIN + 100 };

/* One whose completion submits the next only while the engine is being destroyed. */
enum { LATE = CHAIN_END + 1 };

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

static unsigned int place_of(int number)
{
	for (unsigned int i = 0; i < seen.order_count; i++)
		if (seen.order[i] == number)
			return i;
	fail_msg("request %d was not executed", number);
	return 0;
}

/* -- tests -- */

/* Ten requests on the same bytes, each changing them, with the gate closed for the first. */
static void test_what_overlaps_runs_in_order(void **state)
{
	(void)state;
	gate_close(&seen.gate);
	for (int i = 0; i < 10; i++)
		submit(i, 4096 + (uint64_t)(i % 2) * 100, 512, true);
	gate_wait_for(&seen.gate, 1);
	gate_open(&seen.gate);
	gate_wait_for(&seen.finished, 10);
	assert_int_equal(atomic_load(&seen.most_together), 1);
	for (int i = 0; i < 10; i++)
		assert_int_equal(seen.order[i], i);
}

static void test_a_reader_waits_for_a_change_and_a_change_for_readers(void **state)
{
	(void)state;
	gate_close(&seen.gate);
	submit(0, 0, 1024, false);
	submit(1, 512, 1024, false);
	gate_wait_for(&seen.gate, 2); /* readers do not wait for one another */
	submit(2, 1000, 100, true);
	submit(3, 1099, 1, false);
	submit(4, 1100, 1, false); /* just beside the change */
	gate_wait_for(&seen.gate, 3);
	assert_int_equal(gate_count(&seen.gate), 3);
	gate_open(&seen.gate);
	gate_wait_for(&seen.finished, 5);
	assert_true(place_of(2) > place_of(0));
	assert_true(place_of(2) > place_of(1));
	assert_true(place_of(3) > place_of(2));
}

static void test_what_does_not_overlap_runs_together(void **state)
{
	unsigned int workers =
		ring_error ? ENGINE_WORKERS_WITHOUT_RING : ENGINE_WORKERS_BESIDE_RING;

	(void)state;
	gate_close(&seen.gate);
	for (unsigned int i = 0; i < 2 * workers; i++)
		submit((int)i, i * 512, 512, true);
	gate_wait_for(&seen.gate, workers);
	gate_open(&seen.gate);
	gate_wait_for(&seen.finished, 2 * workers);
	assert_int_equal(atomic_load(&seen.most_together), workers);
}

/* A flush touches no bytes: it waits for nothing and holds nothing back. */
static void test_what_touches_nothing_waits_for_nothing(void **state)
{
	(void)state;
	gate_close(&seen.gate);
	submit(0, 0, FILE_BYTES, true);
	submit(1, 0, 0, false);
	gate_wait_for(&seen.gate, 2);
	gate_open(&seen.gate);
	gate_wait_for(&seen.finished, 2);
}

static void test_conflicts_are_seen_by_who_asks(void **state)
{
	struct engine *engine = seen.engine;

	(void)state;
	assert_false(engine_conflicts(engine, 0, FILE_BYTES, true));
	gate_close(&seen.gate);
	submit(0, 512, 512, false);
	assert_true(engine_conflicts(engine, 0, 513, true));
	assert_false(engine_conflicts(engine, 0, 513, false));
	assert_false(engine_conflicts(engine, 0, 512, true));
	assert_false(engine_conflicts(engine, 1024, 512, true));
	submit(1, 2048, 512, true);
	assert_true(engine_conflicts(engine, 2559, 1, false));
	assert_false(engine_conflicts(engine, 2560, 1, false));
	gate_open(&seen.gate);
	gate_wait_for(&seen.finished, 2);
	assert_false(engine_conflicts(engine, 0, FILE_BYTES, true));
}

static void test_transfers_are_the_kernels(void **state)
{
	char out[3][512], in[1536];
	struct iovec pieces[] = { { out[0], 512 }, { out[1], 512 }, { out[2], 512 } };
	struct iovec whole = { in, sizeof(in) };

	(void)state;
	memset(out, 'o', sizeof(out));
	submit_transfer(0, ENGINE_WRITE, 1024, pieces, 3, sizeof(out));
	submit_transfer(1, ENGINE_READ, 1024, &whole, 1, sizeof(in)); /* waits for the write */
	gate_wait_for(&seen.finished, 2);
	assert_int_equal(seen.statuses[0], TCMU_EXT_STATUS_GOOD);
	assert_int_equal(seen.statuses[1], TCMU_EXT_STATUS_GOOD);
	assert_memory_equal(in, out, sizeof(in));
	assert_int_equal(atomic_load(&seen.accepted), 2);
	assert_int_equal(atomic_load(&seen.executed), 0);
	/* The array is as it was. */
	assert_int_equal(pieces[2].iov_len, 512);
	assert_ptr_equal(whole.iov_base, in);
}

static void test_what_a_transfer_lacks_is_executed(void **state)
{
	char buffer[1024];
	struct iovec iov = { buffer, sizeof(buffer) };
	struct iovec nowhere = { NULL, sizeof(buffer) };

	(void)state;
	submit_transfer(0, ENGINE_READ, FILE_BYTES - 512, &iov, 1, sizeof(buffer)); /* short */
	submit_transfer(1, ENGINE_READ, FILE_BYTES, &iov, 1, sizeof(buffer));       /* the end */
	submit_transfer(2, ENGINE_READ, 0, &nowhere, 1, sizeof(buffer));            /* EFAULT */
	gate_wait_for(&seen.finished, 3);
	assert_int_equal(atomic_load(&seen.executed), 3);
	atomic_store(&seen.accepts, false);
	submit_transfer(3, ENGINE_WRITE, 0, &iov, 1, sizeof(buffer)); /* not accepted */
	gate_wait_for(&seen.finished, 4);
	assert_int_equal(atomic_load(&seen.executed), 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(seen.statuses[i], TCMU_EXT_STATUS_BUSY);
	assert_int_equal(atomic_load(&seen.threads) & 1, 0);
}

/* Every one of more requests than the engine holds ends once. */
static void test_more_requests_than_there_is_room_for(void **state)
{
	enum { COUNT = 4 * ENGINE_REQUESTS };
	static char buffers[COUNT][64];
	static struct iovec iov[COUNT];

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		iov[i] = (struct iovec){ buffers[i], sizeof(buffers[i]) };
		memset(buffers[i], i, sizeof(buffers[i]));
		if (i % 3)
			submit_transfer(i, i % 2 ? ENGINE_WRITE : ENGINE_READ,
					(uint64_t)(i % 97) * 48, &iov[i], 1, sizeof(buffers[i]));
		else
			submit(i, (uint64_t)(i % 89) * 64, 64, i % 5 == 0);
	}
	gate_wait_for(&seen.finished, COUNT);
	assert_int_equal(seen.ended, COUNT);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(seen.completions[i], 1);
}

static void *submit_from_elsewhere(void *argument)
{
	for (int i = 0; i < 200; i++) {
		struct engine_request request = request_of(i, (uint64_t)(i % 7) * 512, 512, i % 2);

		if (engine_submit_allocated(seen.engine, &request))
			*(int *)argument = -ENOMEM;
	}
	return NULL;
}

static void test_others_may_submit_meanwhile(void **state)
{
	pthread_t threads[3];
	int errors[3] = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			__real_pthread_create(&threads[i], NULL, submit_from_elsewhere, &errors[i]),
			0);
	for (int i = 0; i < 300; i++)
		submit(i, (uint64_t)(i % 5) * 512, 512, true);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(errors[i], 0);
	}
	gate_wait_for(&seen.finished, 900);
}

static void *open_gate(void *argument)
{
	gate_wait_for(&seen.gate, 2);
	gate_open(&seen.gate);
	return argument;
}

/* engine_destroy() returns when what was submitted has ended and its completion has returned. */
static void test_destroying_waits(void **state)
{
	pthread_t opener;

	(void)state;
	gate_close(&seen.gate);
	for (int i = 0; i < 20; i++)
		submit(i, (uint64_t)(i % 2) * 512, 512, true);
	assert_int_equal(__real_pthread_create(&opener, NULL, open_gate, NULL), 0);
	engine_destroy(seen.engine);
	seen.engine = NULL;
	assert_int_equal(seen.ended, 20);
	pthread_join(opener, NULL);
}

/* engine_drain() likewise; the engine goes on afterwards. */
static void test_draining_waits(void **state)
{
	pthread_t opener;

	(void)state;
	engine_drain(seen.engine);
	gate_close(&seen.gate);
	for (int i = 0; i < 20; i++)
		submit(i, (uint64_t)(i % 2) * 512, 512, true);
	assert_int_equal(__real_pthread_create(&opener, NULL, open_gate, NULL), 0);
	engine_drain(seen.engine);
	assert_int_equal(seen.ended, 20);
	pthread_join(opener, NULL);
	submit(CHAIN_BEGIN, 0, 512, true);
	engine_drain(seen.engine);
	assert_int_equal(seen.ended, 20 + CHAIN_END - CHAIN_BEGIN + 1);
}

/* That, too, for what completion functions submit. */
static void test_destroying_waits_for_successors(void **state)
{
	struct engine *engine = seen.engine;

	(void)state;
	submit(CHAIN_BEGIN, 0, 512, true);
	engine_destroy(engine);
	seen.engine = NULL;
	assert_int_equal(seen.ended, CHAIN_END - CHAIN_BEGIN + 1);
}

/* The ring's thread is in a completion function and the workers have nothing to do. */
static void test_destroying_waits_for_completions(void **state)
{
	char buffer[512] = "";
	struct iovec iov = { buffer, sizeof(buffer) };

	(void)state;
	submit(0, 0, 512, true);
	gate_wait_for(&seen.finished, 1);
	submit_transfer(LATE, ENGINE_READ, 0, &iov, 1, sizeof(buffer));
	gate_wait_for(&seen.late, 1);
	engine_destroy(seen.engine);
	seen.engine = NULL;
	assert_int_equal(seen.ended, 3);
}

/* Reads the line of a thread's status file that begins with `key`. */
static unsigned long long thread_status(const char *thread, const char *key)
{
	unsigned long long value = 0;
	char path[300], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", thread);
	file = fopen(path, "r");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			value = strtoull(line + strlen(key), NULL, 16);
	fclose(file);
	return value;
}

/* The threads whose names begin with `name`; each must block what can be blocked. */
static unsigned int threads_named(const char *name)
{
	DIR *directory = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned int count = 0;

	assert_non_null(directory);
	while ((entry = readdir(directory))) {
		char path[300], line[64] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fgets(line, sizeof(line), file) && !strncmp(line, name, strlen(name))) {
			count++;
			/* SIGTERM, SIGINT, SIGHUP, SIGUSR1 */
			assert_int_equal(thread_status(entry->d_name, "SigBlk:") & 0x4203, 0x4203);
		}
		fclose(file);
	}
	closedir(directory);
	return count;
}

/* A thread names itself once it runs, and is listed until shortly after it has been joined. */
static void expect_threads(const char *name, unsigned int count)
{
	for (int i = 0; i < 1000 && threads_named(name) != count; i++)
		usleep(1000);
	assert_int_equal(threads_named(name), count);
}

static void test_threads(void **state)
{
	unsigned int workers =
		ring_error ? ENGINE_WORKERS_WITHOUT_RING : ENGINE_WORKERS_BESIDE_RING;

	(void)state;
	gate_close(&seen.gate);
	for (unsigned int i = 0; i < 30; i++)
		submit((int)i, i * 512, 512, false);
	gate_wait_for(&seen.gate, workers);
	expect_threads("tcmu-ext-work", workers);
	expect_threads("tcmu-ext-io", ring_error ? 0 : 1);
	gate_open(&seen.gate);
	gate_wait_for(&seen.finished, 30);
	engine_destroy(seen.engine);
	seen.engine = NULL;
	expect_threads("tcmu-ext", 0);
}

static void test_the_lack_of_io_uring_is_logged(void **state)
{
	(void)state;
	assert_non_null(strstr(seen.message, "io_uring"));
	assert_non_null(strstr(seen.message, strerror(EPERM)));
	gate_close(&seen.gate);
	submit(0, 0, 512, true);
	gate_wait_for(&seen.gate, 1);
	expect_threads("tcmu-ext-io", 0);
	gate_open(&seen.gate);
	gate_wait_for(&seen.finished, 1);
}

static void test_without_a_worker_the_rings_thread_executes(void **state)
{
	(void)state;
	atomic_store(&thread_limit, 0);
	gate_close(&seen.gate);
	submit(0, 0, 512, true);
	submit(1, 0, 512, true);
	submit(2, 4096, 512, true);
	gate_wait_for(&seen.gate, 1);
	gate_open(&seen.gate);
	gate_wait_for(&seen.finished, 3);
	assert_int_equal(atomic_load(&seen.threads), 1);
	/* As soon as threads can be made again, there is a worker. */
	atomic_store(&thread_limit, 1);
	submit(3, 0, 512, true);
	gate_wait_for(&seen.finished, 4);
	assert_int_equal(atomic_load(&seen.threads), 3);
}

static void test_an_engine_needs_a_thread_and_memory(void **state)
{
	(void)state;
	forget();
	for (int error = 0; error >= -EPERM; error -= EPERM) {
		ring_error = error;
		atomic_store(&thread_limit, 0);
		assert_int_equal(engine_create(&owner, 0, &message_log, &seen.engine), -EAGAIN);
		assert_null(seen.engine);
	}
	memory_fails = true;
	assert_int_equal(engine_create(&owner, 0, &message_log, &seen.engine), -ENOMEM);
	memory_fails = false;
	assert_null(seen.engine);
	engine_destroy(NULL);
}

#define with_ring(test)    cmocka_unit_test_setup_teardown(test, set_up_with_ring, tear_down)
#define without_ring(test) cmocka_unit_test_setup_teardown(test, set_up_without_ring, tear_down)
#define both(test)         with_ring(test), without_ring(test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		both(test_what_overlaps_runs_in_order),
		both(test_a_reader_waits_for_a_change_and_a_change_for_readers),
		both(test_what_does_not_overlap_runs_together),
		both(test_what_touches_nothing_waits_for_nothing),
		both(test_conflicts_are_seen_by_who_asks),
		both(test_more_requests_than_there_is_room_for),
		both(test_others_may_submit_meanwhile),
		both(test_draining_waits),
		both(test_destroying_waits),
		both(test_destroying_waits_for_successors),
		both(test_threads),
		with_ring(test_transfers_are_the_kernels),
		with_ring(test_what_a_transfer_lacks_is_executed),
		with_ring(test_destroying_waits_for_completions),
		with_ring(test_without_a_worker_the_rings_thread_executes),
		without_ring(test_the_lack_of_io_uring_is_logged),
		cmocka_unit_test_setup_teardown(test_the_lack_of_io_uring_is_logged,
						set_up_with_a_ring_of_no_use, tear_down),
		cmocka_unit_test(test_an_engine_needs_a_thread_and_memory),
	};

	return run_unit_tests(tests);
}
