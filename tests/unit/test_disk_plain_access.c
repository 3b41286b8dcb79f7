/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Reads, writes and flushes by a caller that emulates further commands on the disk. */
#include "cmocka_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disk_fixture.h"

struct plain_access {
	struct iovec_split split;
	uint8_t sense[TCMU_EXT_SENSE_BYTES];
	struct tcmu_ext_command command;
};

static void plain_begin(struct plain_access *access, size_t bytes, const uint8_t *data)
{
	iovec_split_make(&access->split, bytes, disk_cuts[2]);
	if (data)
		iovec_split_set(&access->split, data);
	else
		iovec_split_fill(&access->split, UNTOUCHED_BYTE);
	access->command = (struct tcmu_ext_command){ .iov = access->split.iov,
						     .iov_count = access->split.iov_count,
						     .sense = access->sense,
						     .sense_bytes = sizeof(access->sense) };
}

static void test_plain_write_and_read(void **state)
{
	struct disk_fixture fixture;
	struct plain_access access;
	uint8_t *data = disk_fixture_new_data(1536), back[2000];

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	plain_begin(&access, 1536, data);
	assert_int_equal(tcmu_ext_disk_write(fixture.disk, &access.command, 1024, 1536), 0);
	iovec_split_free(&access.split);
	assert_memory_equal(fixture.memory.medium + 1024, data, 1536);
	assert_int_equal(fixture.memory.calls[0].flags, 0);
	/* A longer buffer is cleared beyond the answer. */
	plain_begin(&access, 2000, NULL);
	assert_int_equal(tcmu_ext_disk_read(fixture.disk, &access.command, 1024, 1536), 0);
	iovec_split_get(&access.split, back);
	assert_memory_equal(back, data, 1536);
	for (size_t i = 1536; i < sizeof(back); i++)
		assert_int_equal(back[i], 0);
	iovec_split_free(&access.split);
	plain_begin(&access, 0, NULL);
	assert_int_equal(tcmu_ext_disk_flush(fixture.disk, &access.command), 0);
	assert_memory_equal(fixture.memory.durable + 1024, data, 1536);
	iovec_split_free(&access.split);
	free(data);
	disk_fixture_close(&fixture);
}

static void test_plain_access_of_nothing(void **state)
{
	struct disk_fixture fixture;
	struct plain_access access;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	plain_begin(&access, 0, NULL);
	assert_int_equal(tcmu_ext_disk_read(fixture.disk, &access.command, 0, 0), 0);
	assert_int_equal(tcmu_ext_disk_write(fixture.disk, &access.command, 0, 0), 0);
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	iovec_split_free(&access.split);
	disk_fixture_close(&fixture);
}

static void expect_plain_refused(struct disk_fixture *fixture, uint64_t offset, size_t bytes,
				 size_t buffer_bytes, int key, int additional_sense)
{
	uint8_t *data = disk_fixture_new_data(buffer_bytes);
	struct plain_access access;

	for (int writing = 0; writing < 2; writing++) {
		plain_begin(&access, buffer_bytes, data);
		assert_int_equal(
			writing ? tcmu_ext_disk_write(fixture->disk, &access.command, offset, bytes)
				: tcmu_ext_disk_read(fixture->disk, &access.command, offset, bytes),
			TCMU_EXT_STATUS_CHECK_CONDITION);
		assert_int_equal(access.sense[2] & 0x0f, key);
		assert_int_equal(field_get(access.sense + 12, 2), additional_sense);
		iovec_split_free(&access.split);
	}
	assert_int_equal(memory_backend_calls(&fixture->memory), 0);
	free(data);
}

static void test_plain_access_beyond_the_end(void **state)
{
	const int key = TCMU_EXT_ILLEGAL_REQUEST;
	const int code = TCMU_EXT_LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE;
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_plain_refused(&fixture, 128 * 512, 512, 512, key, code);
	expect_plain_refused(&fixture, 127 * 512, 1024, 1024, key, code);
	expect_plain_refused(&fixture, UINT64_MAX - 511, 512, 512, key, code);
	expect_plain_refused(&fixture, UINT64_C(1) << 63, 512, 512, key, code);
	disk_fixture_close(&fixture);
}

/* Half blocks and short buffers: a defect of whoever emulates the command, not the initiator's. */
static void test_plain_access_that_does_not_fit(void **state)
{
	const int key = TCMU_EXT_HARDWARE_ERROR, code = TCMU_EXT_INTERNAL_TARGET_FAILURE;
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_plain_refused(&fixture, 1, 512, 512, key, code);
	expect_plain_refused(&fixture, 0, 511, 512, key, code);
	expect_plain_refused(&fixture, 0, 1024, 1023, key, code);
	disk_fixture_close(&fixture);
}

static void test_plain_write_obeys_protection_and_write_cache(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	struct plain_access access;
	uint8_t data[512] = { 1 };

	(void)state;
	setup.disk.write_cache = false;
	disk_fixture_open(&fixture, &setup);
	plain_begin(&access, 512, data);
	assert_int_equal(tcmu_ext_disk_write(fixture.disk, &access.command, 0, 512), 0);
	assert_int_equal(fixture.memory.calls[0].flags, TCMU_EXT_IO_DURABLE);
	iovec_split_free(&access.split);
	disk_fixture_close(&fixture);

	setup.disk.write_protect = true;
	disk_fixture_open(&fixture, &setup);
	plain_begin(&access, 512, data);
	assert_int_equal(tcmu_ext_disk_write(fixture.disk, &access.command, 0, 512),
			 TCMU_EXT_STATUS_CHECK_CONDITION);
	assert_int_equal(access.sense[2], TCMU_EXT_DATA_PROTECT);
	assert_int_equal(field_get(access.sense + 12, 2), TCMU_EXT_WRITE_PROTECTED);
	iovec_split_free(&access.split);
	disk_fixture_close(&fixture);
}

static void test_plain_access_that_fails(void **state)
{
	struct disk_fixture fixture;
	struct plain_access access;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	memory_backend_fail(&fixture.memory, MEMORY_READ, EIO, 600);
	plain_begin(&access, 1024, NULL);
	assert_int_equal(tcmu_ext_disk_read(fixture.disk, &access.command, 5120, 1024),
			 TCMU_EXT_STATUS_CHECK_CONDITION);
	assert_int_equal(access.sense[2], TCMU_EXT_MEDIUM_ERROR);
	assert_int_equal(field_get(access.sense + 3, 4), 11);
	iovec_split_free(&access.split);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_write_and_read),
		cmocka_unit_test(test_plain_access_of_nothing),
		cmocka_unit_test(test_plain_access_beyond_the_end),
		cmocka_unit_test(test_plain_access_that_does_not_fit),
		cmocka_unit_test(test_plain_write_obeys_protection_and_write_cache),
		cmocka_unit_test(test_plain_access_that_fails),
	};

	return run_unit_tests(tests);
}
