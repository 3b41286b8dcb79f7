/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A READ or WRITE that succeeds allocates nothing, takes no lock, reads no clock, logs nothing. One
 * that has to be durable takes the lock that flushes take, once.
 */
#include "cmocka_test.h"

#include "disk_fixture.h"
#include "forbidden_calls.h"

static void expect_clean(struct disk_fixture *fixture, struct cdb cdb, size_t bytes,
			 unsigned int locks_allowed)
{
	struct iovec_split split;
	uint8_t sense[TCMU_EXT_SENSE_BYTES];
	struct tcmu_ext_command command;
	struct forbidden_calls calls;
	enum tcmu_ext_status status;

	iovec_split_make(&split, bytes, disk_cuts[1]);
	iovec_split_fill(&split, 1);
	command = (struct tcmu_ext_command){ .cdb = cdb.bytes,
					     .cdb_bytes = cdb.count,
					     .iov = split.iov,
					     .iov_count = split.iov_count,
					     .sense = sense,
					     .sense_bytes = sizeof(sense) };
	forbidden_calls_watch();
	status = tcmu_ext_disk_execute(fixture->disk, &command);
	calls = forbidden_calls_seen();
	assert_int_equal(status, TCMU_EXT_STATUS_GOOD);
	check(!calls.allocations && !calls.clocks && calls.locks <= locks_allowed,
	      "operation %02x made calls it must not: %u for memory, %u of clocks, %u of locks",
	      cdb.bytes[0], calls.allocations, calls.clocks, calls.locks);
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
	forbidden_calls_watch();
	disk_fixture_open(&fixture, &disk_setup_default);
	disk_fixture_close(&fixture);
	assert_true(forbidden_calls_seen().allocations > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_and_writes_are_clean),
		cmocka_unit_test(test_watch_sees_what_is_forbidden),
	};

	return run_unit_tests(tests);
}
