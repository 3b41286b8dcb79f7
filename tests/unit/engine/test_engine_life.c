/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* How an engine comes to be, on which threads it runs, and what has ended when it ends. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_record.h"
#include "ring_error.h"

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
	record_clear();
	for (int error = 0; error >= -EPERM; error -= EPERM) {
		ring_error = error;
		atomic_store(&thread_limit, 0);
		assert_int_equal(engine_create(&recording_owner, 0, &message_log, &seen.engine),
				 -EAGAIN);
		assert_null(seen.engine);
	}
	memory_fails = true;
	assert_int_equal(engine_create(&recording_owner, 0, &message_log, &seen.engine), -ENOMEM);
	memory_fails = false;
	assert_null(seen.engine);
	engine_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		both(test_draining_waits),
		both(test_destroying_waits),
		both(test_destroying_waits_for_successors),
		both(test_threads),
		with_ring(test_destroying_waits_for_completions),
		with_ring(test_without_a_worker_the_rings_thread_executes),
		without_ring(test_the_lack_of_io_uring_is_logged),
		cmocka_unit_test_setup_teardown(test_the_lack_of_io_uring_is_logged,
						set_up_with_a_ring_of_no_use, tear_down),
		cmocka_unit_test(test_an_engine_needs_a_thread_and_memory),
	};

	return run_unit_tests(tests);
}
