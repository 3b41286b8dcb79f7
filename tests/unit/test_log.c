/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Messages: formatting, dropping, and the limit on repeated ones. */
#include "cmocka_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plumbing/log.h"

static time_t now_seconds;
static atomic_uint clock_readings;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	clock_readings++;
	*time = (struct timespec){ .tv_sec = now_seconds };
	return 0;
}

struct sink {
	unsigned int count;
	enum tcmu_ext_log_level level;
	char last[4096];
};

static void sink_write(void *context, enum tcmu_ext_log_level level, const char *message)
{
	struct sink *sink = context;

	sink->count++;
	sink->level = level;
	snprintf(sink->last, sizeof(sink->last), "%s", message);
}

static void test_message_is_formatted_and_handed_on(void **state)
{
	struct sink sink = { 0 };
	struct tcmu_ext_log log = { .write = sink_write, .context = &sink };

	(void)state;
	log_message(&log, TCMU_EXT_LOG_WARNING, "%s: error %d", "/dev/sdx", 5);
	assert_int_equal(sink.count, 1);
	assert_int_equal(sink.level, TCMU_EXT_LOG_WARNING);
	assert_string_equal(sink.last, "/dev/sdx: error 5");
	assert_int_equal(clock_readings, 0);
}

static void test_message_without_a_sink_is_dropped(void **state)
{
	struct tcmu_ext_log log = { 0 };
	struct log_limiter limiter = { 0 };

	(void)state;
	log_message(&log, TCMU_EXT_LOG_ERROR, "%d", 1);
	log_limited(&limiter, &log, TCMU_EXT_LOG_ERROR, "%d", 1);
}

static void test_long_message_keeps_its_beginning(void **state)
{
	struct sink sink = { 0 };
	struct tcmu_ext_log log = { .write = sink_write, .context = &sink };
	struct log_limiter limiter = { 0 };
	char path[3000];

	(void)state;
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = 0;
	log_message(&log, TCMU_EXT_LOG_ERROR, "start %s", path);
	assert_memory_equal(sink.last, "start xxx", 9);
	/* The kernel's longest path in a configuration string fits with room for words. */
	assert_true(strlen(sink.last) > 512);
	log_limited(&limiter, &log, TCMU_EXT_LOG_ERROR, "limited %s", path);
	assert_memory_equal(sink.last, "limited xxx", 11);
}

static void test_formatted_text_belongs_to_the_caller(void **state)
{
	char *text = format_text("%s needs %u bytes", "a", 7u);

	(void)state;
	assert_string_equal(text, "a needs 7 bytes");
	free(text);
}

static void test_text_that_cannot_be_formatted_is_null(void **state)
{
	(void)state;
	/* Not a character of the C locale: vasprintf() fails and leaves its result undefined. */
	assert_null(format_text("%ls", L"\x7fffffff"));
}

static void test_repeats_are_counted_and_left_out(void **state)
{
	struct sink sink = { 0 };
	struct tcmu_ext_log log = { .write = sink_write, .context = &sink };
	struct log_limiter limiter = { 0 };

	(void)state;
	now_seconds = 1000;
	log_limited(&limiter, &log, TCMU_EXT_LOG_ERROR, "block %d", 1);
	assert_int_equal(sink.count, 1);
	assert_int_equal(sink.level, TCMU_EXT_LOG_ERROR);
	assert_string_equal(sink.last, "block 1");

	for (int i = 2; i < 9; i++) {
		now_seconds = 1000 + 7 * i; /* up to 1056 */
		log_limited(&limiter, &log, TCMU_EXT_LOG_ERROR, "block %d", i);
	}
	now_seconds = 1059;
	log_limited(&limiter, &log, TCMU_EXT_LOG_ERROR, "block 9");
	assert_int_equal(sink.count, 1);

	now_seconds = 1060;
	log_limited(&limiter, &log, TCMU_EXT_LOG_WARNING, "block %d", 10);
	assert_int_equal(sink.count, 2);
	assert_int_equal(sink.level, TCMU_EXT_LOG_WARNING);
	assert_memory_equal(sink.last, "block 10", 8);
	assert_non_null(strstr(sink.last, " 8 more"));

	/* The count starts anew, and so does the minute. */
	now_seconds = 1119;
	log_limited(&limiter, &log, TCMU_EXT_LOG_ERROR, "block 11");
	assert_int_equal(sink.count, 2);
	now_seconds = 1120;
	log_limited(&limiter, &log, TCMU_EXT_LOG_ERROR, "block 12");
	assert_int_equal(sink.count, 3);
	assert_non_null(strstr(sink.last, " 1 more"));
	now_seconds = 1300;
	log_limited(&limiter, &log, TCMU_EXT_LOG_ERROR, "block 13");
	assert_string_equal(sink.last, "block 13");
}

static void test_first_message_after_boot_is_logged(void **state)
{
	struct sink sink = { 0 };
	struct tcmu_ext_log log = { .write = sink_write, .context = &sink };
	struct log_limiter limiter = { 0 };

	(void)state;
	now_seconds = 0;
	log_limited(&limiter, &log, TCMU_EXT_LOG_ERROR, "early");
	assert_int_equal(sink.count, 1);
	log_limited(&limiter, &log, TCMU_EXT_LOG_ERROR, "early");
	assert_int_equal(sink.count, 1);
}

static void test_limiters_are_independent(void **state)
{
	struct sink sink = { 0 };
	struct tcmu_ext_log log = { .write = sink_write, .context = &sink };
	struct log_limiter limiters[2] = { { 0 }, { 0 } };

	(void)state;
	now_seconds = 5;
	log_limited(&limiters[0], &log, TCMU_EXT_LOG_ERROR, "a");
	log_limited(&limiters[1], &log, TCMU_EXT_LOG_ERROR, "b");
	assert_int_equal(sink.count, 2);
}

enum { THREADS = 4, CALLS = 1000 };

struct storm {
	struct log_limiter limiter;
	struct tcmu_ext_log log;
};

static void *log_in_a_storm(void *argument)
{
	struct storm *storm = argument;

	for (int i = 0; i < CALLS; i++)
		log_limited(&storm->limiter, &storm->log, TCMU_EXT_LOG_ERROR, "storm");
	return NULL;
}

/* Of all threads that meet the same failure one reports it, and none is left out of the count. */
static void test_many_threads_make_one_message(void **state)
{
	struct sink sink = { 0 };
	struct storm storm = { .log = { .write = sink_write, .context = &sink } };
	pthread_t threads[THREADS];

	(void)state;
	now_seconds = 100;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, log_in_a_storm, &storm), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(sink.count, 1);
	now_seconds = 160;
	log_limited(&storm.limiter, &storm.log, TCMU_EXT_LOG_ERROR, "calm");
	assert_int_equal(sink.count, 2);
	assert_non_null(strstr(sink.last, " 3999 more"));
}

static int reset(void **state)
{
	(void)state;
	now_seconds = 0;
	clock_readings = 0;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_message_is_formatted_and_handed_on, reset),
		cmocka_unit_test_setup(test_message_without_a_sink_is_dropped, reset),
		cmocka_unit_test_setup(test_long_message_keeps_its_beginning, reset),
		cmocka_unit_test_setup(test_formatted_text_belongs_to_the_caller, reset),
		cmocka_unit_test_setup(test_text_that_cannot_be_formatted_is_null, reset),
		cmocka_unit_test_setup(test_repeats_are_counted_and_left_out, reset),
		cmocka_unit_test_setup(test_first_message_after_boot_is_logged, reset),
		cmocka_unit_test_setup(test_limiters_are_independent, reset),
		cmocka_unit_test_setup(test_many_threads_make_one_message, reset),
	};

	return run_unit_tests(tests);
}
