/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A READ or WRITE that succeeds allocates nothing, takes no lock, reads no clock, logs nothing. One
 * that has to be durable takes the lock that flushes take, once.
 */
#include "cmocka_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "disk_fixture.h"

/* Calls the library made of what is forbidden there. */
static unsigned int forbidden_calls;
static unsigned int locks;
static bool watching;

static void watch(unsigned int *calls)
{
	if (watching)
		(*calls)++;
}

/* One wrapper for each function: counts and passes on. */
#define WATCHED(calls, type, name, parameters, arguments) \
	type __real_##name parameters;                    \
	type __wrap_##name parameters;                    \
	type __wrap_##name parameters                     \
	{                                                 \
		watch(&(calls));                          \
		return __real_##name arguments;           \
	}

WATCHED(forbidden_calls, void *, malloc, (size_t bytes), (bytes))
WATCHED(forbidden_calls, void *, calloc, (size_t count, size_t bytes), (count, bytes))
WATCHED(forbidden_calls, void *, realloc, (void *memory, size_t bytes), (memory, bytes))
WATCHED(forbidden_calls, void *, aligned_alloc, (size_t alignment, size_t bytes),
	(alignment, bytes))
WATCHED(forbidden_calls, void, free, (void *memory), (memory))
WATCHED(forbidden_calls, int, clock_gettime, (clockid_t clock, struct timespec *now), (clock, now))
WATCHED(forbidden_calls, int, gettimeofday, (struct timeval * now, void *zone), (now, zone))
WATCHED(forbidden_calls, time_t, time, (time_t * now), (now))
WATCHED(locks, int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
WATCHED(locks, int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))

static void expect_clean(struct disk_fixture *fixture, struct cdb cdb, size_t bytes,
			 unsigned int locks_allowed)
{
	struct iovec_split split;
	uint8_t sense[TCMU_EXT_SENSE_BYTES];
	struct tcmu_ext_command command;
	enum tcmu_ext_status status;

	iovec_split_make(&split, bytes, disk_cuts[1]);
	iovec_split_fill(&split, 1);
	command = (struct tcmu_ext_command){ .cdb = cdb.bytes,
					     .cdb_bytes = cdb.count,
					     .iov = split.iov,
					     .iov_count = split.iov_count,
					     .sense = sense,
					     .sense_bytes = sizeof(sense) };
	forbidden_calls = 0;
	locks = 0;
	watching = true;
	status = tcmu_ext_disk_execute(fixture->disk, &command);
	watching = false;
	assert_int_equal(status, TCMU_EXT_STATUS_GOOD);
	check(!forbidden_calls, "operation %02x made %u calls it must not", cdb.bytes[0],
	      forbidden_calls);
	check(locks <= locks_allowed, "operation %02x took %u locks", cdb.bytes[0], locks);
	iovec_split_free(&split);
}

static void test_reads_and_writes_are_clean(void **state)
{
	static const uint8_t codes[] = { TCMU_EXT_READ_6,   TCMU_EXT_READ_10, TCMU_EXT_READ_12,
					 TCMU_EXT_READ_16,  TCMU_EXT_WRITE_6, TCMU_EXT_WRITE_10,
					 TCMU_EXT_WRITE_12, TCMU_EXT_WRITE_16 };
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(codes); i++) {
		expect_clean(&fixture, cdb_blocks(codes[i], 3, 1), 512, 0);
		expect_clean(&fixture, cdb_blocks(codes[i], 3, 100), 51200, 0);
		expect_clean(&fixture, cdb_blocks(codes[i], 3, 1), 5000, 0);
		if (codes[i] >= 0x20)
			expect_clean(&fixture, cdb_with(cdb_blocks(codes[i], 3, 1), 1, 0x18), 512,
				     1);
	}
	assert_int_equal(fixture.messages, 0);
	disk_fixture_close(&fixture);
}

/* The watch itself works: creating a disk allocates. */
static void test_watch_sees_what_is_forbidden(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	forbidden_calls = 0;
	watching = true;
	disk_fixture_open(&fixture, &disk_setup_default);
	disk_fixture_close(&fixture);
	watching = false;
	assert_true(forbidden_calls > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_and_writes_are_clean),
		cmocka_unit_test(test_watch_sees_what_is_forbidden),
	};

	return run_unit_tests(tests);
}
