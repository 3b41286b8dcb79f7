/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Failures of the backend as status and sense data. */
#include "cmocka_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disk_fixture.h"

static const uint8_t reads[] = { TCMU_EXT_READ_6, TCMU_EXT_READ_10, TCMU_EXT_READ_12,
				 TCMU_EXT_READ_16 };
static const uint8_t writes[] = { TCMU_EXT_WRITE_6, TCMU_EXT_WRITE_10, TCMU_EXT_WRITE_12,
				  TCMU_EXT_WRITE_16 };

static enum tcmu_ext_status failing_read(struct disk_fixture *fixture, struct cdb cdb,
					 uint32_t blocks, int error, size_t after_bytes)
{
	memory_backend_fail(&fixture->memory, MEMORY_READ, error, after_bytes);
	return disk_data_in(fixture, cdb, (size_t)blocks * fixture->block_bytes, disk_cuts[2]);
}

static enum tcmu_ext_status failing_write(struct disk_fixture *fixture, struct cdb cdb,
					  uint32_t blocks, int error, size_t after_bytes)
{
	size_t bytes = (size_t)blocks * fixture->block_bytes;
	uint8_t *data = disk_fixture_new_data(bytes);
	enum tcmu_ext_status status;

	memory_backend_fail(&fixture->memory, MEMORY_WRITE, error, after_bytes);
	status = disk_data_out(fixture, cdb, data, bytes, disk_cuts[2]);
	free(data);
	return status;
}

static void expect_information(const struct disk_fixture *fixture, uint64_t lba)
{
	assert_true(fixture->seen.information_valid);
	assert_true(fixture->seen.information == lba);
}

static void test_medium_error_names_the_failing_block(void **state)
{
	static const struct {
		size_t after_bytes;
		uint64_t block;
	} cases[] = { { 0, 0 }, { 1, 0 }, { 511, 0 }, { 512, 1 }, { 513, 1 }, { 4095, 7 } };
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(reads); i++)
		for (size_t j = 0; j < ARRAY_COUNT(cases); j++) {
			expect_sense(&fixture,
				     failing_read(&fixture, cdb_blocks(reads[i], 100, 8), 8, EIO,
						  cases[j].after_bytes),
				     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_UNRECOVERED_READ_ERROR);
			expect_information(&fixture, 100 + cases[j].block);
			expect_sense(&fixture,
				     failing_write(&fixture, cdb_blocks(writes[i], 100, 8), 8, EIO,
						   cases[j].after_bytes),
				     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR);
			expect_information(&fixture, 100 + cases[j].block);
		}
	disk_fixture_close(&fixture);
}

static void test_medium_error_counts_in_logical_blocks(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.block_bytes = 4096;
	disk_fixture_open(&fixture, &setup);
	failing_read(&fixture, cdb_blocks(TCMU_EXT_READ_10, 10, 8), 8, EIO, 8191);
	expect_information(&fixture, 11);
	failing_read(&fixture, cdb_blocks(TCMU_EXT_READ_10, 10, 8), 8, EIO, 8192);
	expect_information(&fixture, 12);
	disk_fixture_close(&fixture);
}

/* SPC-4 4.5.3: INFORMATION of fixed format has 32 bits; what does not fit is left out. */
static void test_address_that_does_not_fit_fixed_format_is_left_out(void **state)
{
	const uint64_t blocks = (UINT64_C(1) << 32) + 8;
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.blocks = blocks;
	setup.memory.window_bytes = 8192;
	setup.memory.window_offset = blocks * 512 - 8192;
	disk_fixture_open(&fixture, &setup);
	failing_read(&fixture, cdb_blocks(TCMU_EXT_READ_16, UINT32_MAX, 4), 4, EIO, 0);
	expect_information(&fixture, UINT32_MAX);
	expect_sense(
		&fixture,
		failing_read(&fixture, cdb_blocks(TCMU_EXT_READ_16, UINT32_MAX, 4), 4, EIO, 512),
		TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_UNRECOVERED_READ_ERROR);
	assert_false(fixture.seen.information_valid);
	disk_fixture_close(&fixture);
}

static void expect_write_sense(struct disk_fixture *fixture, int error, int key, int additional)
{
	for (size_t i = 0; i < ARRAY_COUNT(writes); i++)
		expect_sense(fixture,
			     failing_write(fixture, cdb_blocks(writes[i], 3, 2), 2, error, 0), key,
			     additional);
}

static void expect_read_sense(struct disk_fixture *fixture, int error, int key, int additional)
{
	for (size_t i = 0; i < ARRAY_COUNT(reads); i++)
		expect_sense(fixture,
			     failing_read(fixture, cdb_blocks(reads[i], 3, 2), 2, error, 0), key,
			     additional);
}

static void test_lack_of_space_is_told_from_other_errors(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_write_sense(&fixture, ENOSPC, TCMU_EXT_DATA_PROTECT,
			   TCMU_EXT_SPACE_ALLOCATION_FAILED_WRITE_PROTECT);
	expect_write_sense(&fixture, EDQUOT, TCMU_EXT_DATA_PROTECT,
			   TCMU_EXT_SPACE_ALLOCATION_FAILED_WRITE_PROTECT);
	expect_write_sense(&fixture, EFBIG, TCMU_EXT_DATA_PROTECT,
			   TCMU_EXT_SPACE_ALLOCATION_FAILED_WRITE_PROTECT);
	disk_fixture_close(&fixture);
}

static void test_read_only_backing_is_write_protection(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_write_sense(&fixture, EROFS, TCMU_EXT_DATA_PROTECT, TCMU_EXT_WRITE_PROTECTED);
	expect_write_sense(&fixture, EPERM, TCMU_EXT_DATA_PROTECT, TCMU_EXT_WRITE_PROTECTED);
	disk_fixture_close(&fixture);
}

static void expect_not_ready(struct disk_fixture *fixture, enum tcmu_ext_status status)
{
	assert_int_equal(status, TCMU_EXT_STATUS_CHECK_CONDITION);
	assert_int_equal(fixture->seen.key, TCMU_EXT_NOT_READY);
	assert_true(fixture->seen.additional_sense >> 8 == 0x04 ||
		    fixture->seen.additional_sense == TCMU_EXT_MEDIUM_NOT_PRESENT);
}

static void test_device_that_is_gone_is_not_ready(void **state)
{
	static const int errors[] = { ENODEV, ENXIO };
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(errors); i++) {
		expect_not_ready(&fixture,
				 failing_read(&fixture, cdb_blocks(TCMU_EXT_READ_10, 0, 1), 1,
					      errors[i], 0));
		expect_not_ready(&fixture,
				 failing_write(&fixture, cdb_blocks(TCMU_EXT_WRITE_10, 0, 1), 1,
					       errors[i], 0));
	}
	disk_fixture_close(&fixture);
}

static void expect_busy(enum tcmu_ext_status status)
{
	assert_true(status == TCMU_EXT_STATUS_BUSY || status == TCMU_EXT_STATUS_TASK_SET_FULL);
}

static void test_shortage_that_passes_is_busy(void **state)
{
	static const int errors[] = { EAGAIN, ENOMEM };
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(errors); i++) {
		expect_busy(failing_read(&fixture, cdb_blocks(TCMU_EXT_READ_16, 0, 1), 1, errors[i],
					 0));
		expect_busy(failing_write(&fixture, cdb_blocks(TCMU_EXT_WRITE_16, 0, 1), 1,
					  errors[i], 0));
		/* The next attempt is served. */
		expect_good(&fixture, disk_data_in(&fixture, cdb_blocks(TCMU_EXT_READ_16, 0, 1),
						   512, disk_cuts[0]));
	}
	disk_fixture_close(&fixture);
}

/* EINVAL of a transfer that passed all checks is a defect here, not the medium's. */
static void test_refused_arguments_are_an_internal_failure(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_read_sense(&fixture, EINVAL, TCMU_EXT_HARDWARE_ERROR,
			  TCMU_EXT_INTERNAL_TARGET_FAILURE);
	expect_write_sense(&fixture, EINVAL, TCMU_EXT_HARDWARE_ERROR,
			   TCMU_EXT_INTERNAL_TARGET_FAILURE);
	disk_fixture_close(&fixture);
}

/* No error number at all may pass as success, or leave the kernel without sense data. */
static void test_every_error_number_is_a_failure(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (int error = 1; error < 140; error++) {
		enum tcmu_ext_status status;

		status = failing_read(&fixture, cdb_blocks(TCMU_EXT_READ_10, 5, 2), 2, error, 512);
		assert_int_not_equal(status, TCMU_EXT_STATUS_GOOD);
		assert_int_not_equal(status, TCMU_EXT_STATUS_NOT_MINE);
		if (status == TCMU_EXT_STATUS_CHECK_CONDITION)
			assert_true(fixture.seen.key > TCMU_EXT_RECOVERED_ERROR);
		status = failing_write(&fixture, cdb_blocks(TCMU_EXT_WRITE_10, 5, 2), 2, error,
				       1024);
		assert_int_not_equal(status, TCMU_EXT_STATUS_GOOD);
		assert_int_not_equal(status, TCMU_EXT_STATUS_NOT_MINE);
		if (status == TCMU_EXT_STATUS_CHECK_CONDITION)
			assert_true(fixture.seen.key > TCMU_EXT_RECOVERED_ERROR);
	}
	disk_fixture_close(&fixture);
}

static void expect_protected(const struct disk_setup *setup)
{
	struct disk_fixture fixture;
	uint8_t *data = disk_fixture_new_data(512);

	disk_fixture_open(&fixture, setup);
	for (size_t i = 0; i < ARRAY_COUNT(writes); i++)
		expect_sense(&fixture,
			     disk_data_out(&fixture, cdb_blocks(writes[i], 0, 1), data, 512,
					   disk_cuts[0]),
			     TCMU_EXT_DATA_PROTECT, TCMU_EXT_WRITE_PROTECTED);
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	for (size_t i = 0; i < ARRAY_COUNT(reads); i++)
		expect_good(&fixture,
			    disk_data_in(&fixture, cdb_blocks(reads[i], 0, 1), 512, disk_cuts[0]));
	free(data);
	disk_fixture_close(&fixture);
}

static void test_write_protection_refuses_writes_and_allows_reads(void **state)
{
	struct disk_setup setup = disk_setup_default;

	(void)state;
	setup.disk.write_protect = true;
	expect_protected(&setup);
	setup.disk.write_protect = false;
	setup.memory.properties.read_only = true;
	expect_protected(&setup);
}

static void test_failed_command_is_logged_once(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	failing_read(&fixture, cdb_blocks(TCMU_EXT_READ_10, 5, 2), 2, EIO, 0);
	assert_int_equal(fixture.messages, 1);
	assert_true(strlen(fixture.last_message) > 10);
	assert_null(strchr(fixture.last_message, '\n'));
	for (int i = 0; i < 50; i++)
		failing_read(&fixture, cdb_blocks(TCMU_EXT_READ_10, 5, 2), 2, EIO, 0);
	assert_int_equal(fixture.messages, 1);
	/* Another kind is reported too. */
	failing_write(&fixture, cdb_blocks(TCMU_EXT_WRITE_10, 5, 2), 2, ENOSPC, 0);
	assert_int_equal(fixture.messages, 2);
	disk_fixture_close(&fixture);
}

/* What initiators get wrong is answered, not logged. */
static void test_bad_commands_are_not_logged(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	disk_command(&fixture, cdb_blocks(TCMU_EXT_READ_10, 128, 1));
	disk_command(&fixture, cdb_blocks(TCMU_EXT_READ_10, 0, 1));
	disk_command(&fixture, cdb_make(0xff));
	assert_int_equal(fixture.messages, 0);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_medium_error_names_the_failing_block),
		cmocka_unit_test(test_medium_error_counts_in_logical_blocks),
		cmocka_unit_test(test_address_that_does_not_fit_fixed_format_is_left_out),
		cmocka_unit_test(test_lack_of_space_is_told_from_other_errors),
		cmocka_unit_test(test_read_only_backing_is_write_protection),
		cmocka_unit_test(test_device_that_is_gone_is_not_ready),
		cmocka_unit_test(test_shortage_that_passes_is_busy),
		cmocka_unit_test(test_refused_arguments_are_an_internal_failure),
		cmocka_unit_test(test_every_error_number_is_a_failure),
		cmocka_unit_test(test_write_protection_refuses_writes_and_allows_reads),
		cmocka_unit_test(test_failed_command_is_logged_once),
		cmocka_unit_test(test_bad_commands_are_not_logged),
	};

	return run_unit_tests(tests);
}
