/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* COMPARE AND WRITE (SBC-3 5.2) and ORWRITE (16) (SBC-3 5.5). */
#include "cmocka_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disk_fixture.h"

enum { FUA = 0x08 };

static struct cdb compare_and_write(uint64_t lba, uint8_t blocks)
{
	struct cdb cdb = cdb_make(TCMU_EXT_COMPARE_AND_WRITE);

	field_put(cdb.bytes + 2, 8, lba);
	cdb.bytes[13] = blocks;
	return cdb;
}

static void open_filled(struct disk_fixture *fixture, uint32_t block_bytes)
{
	struct disk_setup setup = disk_setup_default;

	setup.blocks = 512;
	setup.block_bytes = block_bytes;
	disk_fixture_open(fixture, &setup);
	disk_fixture_fill_medium(fixture);
}

/* A buffer: what the medium holds, then what is to be written. */
static uint8_t *make_buffer(const struct disk_fixture *fixture, uint64_t lba, size_t half_bytes)
{
	uint8_t *buffer = malloc(2 * half_bytes + 1), *data = disk_fixture_new_data(half_bytes);

	memcpy(buffer, fixture->memory.medium + lba * fixture->block_bytes, half_bytes);
	memcpy(buffer + half_bytes, data, half_bytes);
	buffer[2 * half_bytes] = 0xa5; /* for those who send a byte too many */
	free(data);
	return buffer;
}

static uint8_t *copy_of_medium(const struct disk_fixture *fixture)
{
	uint8_t *copy = malloc(fixture->memory.window_bytes);

	memcpy(copy, fixture->memory.medium, fixture->memory.window_bytes);
	return copy;
}

static uint8_t maximum_length(struct disk_fixture *fixture)
{
	struct cdb cdb = cdb_with(cdb_make(TCMU_EXT_INQUIRY), 1, 0x01);

	cdb.bytes[2] = 0xb0;
	cdb.bytes[4] = 64;
	expect_good(fixture, disk_data_in(fixture, cdb, 64, disk_cuts[0]));
	return fixture->data[5];
}

static void swap_all_ways(uint32_t block_bytes)
{
	struct disk_fixture fixture;
	uint8_t maximum;

	open_filled(&fixture, block_bytes);
	maximum = maximum_length(&fixture);
	assert_true(maximum >= 1);
	for (uint8_t blocks = 1; blocks && blocks <= maximum;
	     blocks = (uint8_t)(blocks == maximum      ? 0
				: blocks * 2 > maximum ? maximum
						       : blocks * 2))
		for (size_t cut = 0; cut < disk_cut_count; cut++) {
			const size_t half = blocks * (size_t)block_bytes;
			uint8_t *buffer, *model;

			if (cut == disk_cut_count - 1 && half > 2048)
				continue;
			disk_fixture_fill_medium(&fixture);
			buffer = make_buffer(&fixture, 11, half);
			model = copy_of_medium(&fixture);
			memcpy(model + 11 * block_bytes, buffer + half, half);
			expect_good(&fixture, disk_data_out(&fixture, compare_and_write(11, blocks),
							    buffer, 2 * half, disk_cuts[cut]));
			assert_memory_equal(fixture.memory.medium, model,
					    fixture.memory.window_bytes);
			free(buffer);
			free(model);
		}
	disk_fixture_close(&fixture);
}

static void test_equal_data_is_replaced(void **state)
{
	(void)state;
	swap_all_ways(512);
	swap_all_ways(4096);
}

/* INFORMATION is the offset of the first byte that differs; the medium stays as it was. */
static void test_miscompare_tells_the_offset(void **state)
{
	struct disk_fixture fixture;
	uint8_t *buffer, *before;

	(void)state;
	open_filled(&fixture, 512);
	buffer = make_buffer(&fixture, 11, 2048);
	before = copy_of_medium(&fixture);
	for (size_t at = 0; at < 2048; at += 89) {
		buffer[at] ^= 0x04;
		buffer[2047] ^= 0x01;
		expect_sense(&fixture,
			     disk_data_out(&fixture, compare_and_write(11, 4), buffer, 4096,
					   disk_cuts[at % disk_cut_count]),
			     TCMU_EXT_MISCOMPARE, TCMU_EXT_MISCOMPARE_DURING_VERIFY);
		assert_true(fixture.seen.information_valid);
		assert_true(fixture.seen.information == at);
		buffer[2047] ^= 0x01;
		buffer[at] ^= 0x04;
	}
	buffer[2047] ^= 0x80;
	disk_data_out(&fixture, compare_and_write(11, 4), buffer, 4096, disk_cuts[0]);
	assert_true(fixture.seen.information == 2047);
	assert_int_equal(fixture.memory.counts[MEMORY_WRITE], 0);
	assert_memory_equal(fixture.memory.medium, before, fixture.memory.window_bytes);
	free(buffer);
	free(before);
	disk_fixture_close(&fixture);
}

static void test_nothing_is_compared_and_written(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	open_filled(&fixture, 512);
	expect_good(&fixture, disk_command(&fixture, compare_and_write(11, 0)));
	expect_out_of_range(&fixture, disk_command(&fixture, compare_and_write(513, 0)));
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	disk_fixture_close(&fixture);
}

static void test_buffer_must_be_both_halves(void **state)
{
	struct disk_fixture fixture;
	uint8_t *buffer;

	(void)state;
	open_filled(&fixture, 512);
	buffer = make_buffer(&fixture, 11, 512);
	expect_invalid_field(
		&fixture,
		disk_data_out(&fixture, compare_and_write(11, 1), buffer, 1023, disk_cuts[2]), 13,
		-1);
	expect_invalid_field(
		&fixture,
		disk_data_out(&fixture, compare_and_write(11, 1), buffer, 512, disk_cuts[2]), 13,
		-1);
	expect_invalid_field(
		&fixture,
		disk_data_out(&fixture, compare_and_write(11, 1), buffer, 1025, disk_cuts[2]), 13,
		-1);
	expect_invalid_field(
		&fixture,
		disk_data_out(&fixture, compare_and_write(11, 0), buffer, 1024, disk_cuts[2]), 13,
		-1);
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	expect_good(&fixture,
		    disk_data_out(&fixture, compare_and_write(11, 1), buffer, 1024, disk_cuts[2]));
	free(buffer);
	disk_fixture_close(&fixture);
}

static void test_limits(void **state)
{
	struct disk_fixture fixture;
	uint8_t maximum;

	(void)state;
	open_filled(&fixture, 512);
	maximum = maximum_length(&fixture);
	if (maximum < 255)
		expect_invalid_field(&fixture,
				     disk_data_in(&fixture,
						  compare_and_write(0, (uint8_t)(maximum + 1)),
						  (maximum + 1) * 1024u, disk_cuts[0]),
				     13, -1);
	expect_out_of_range(&fixture,
			    disk_data_in(&fixture, compare_and_write(512, 1), 1024, disk_cuts[0]));
	expect_out_of_range(&fixture,
			    disk_data_in(&fixture, compare_and_write(511, 2), 2048, disk_cuts[0]));
	expect_out_of_range(&fixture, disk_data_in(&fixture, compare_and_write(UINT64_MAX, 2), 2048,
						   disk_cuts[0]));
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	disk_fixture_close(&fixture);
}

static void test_compare_and_write_durably(void **state)
{
	struct disk_fixture fixture;
	uint8_t *buffer;

	(void)state;
	open_filled(&fixture, 512);
	buffer = make_buffer(&fixture, 11, 512);
	expect_good(&fixture, disk_data_out(&fixture, cdb_with(compare_and_write(11, 1), 1, FUA),
					    buffer, 1024, disk_cuts[0]));
	assert_memory_equal(fixture.memory.medium, fixture.memory.durable,
			    fixture.memory.window_bytes);
	free(buffer);
	buffer = make_buffer(&fixture, 12, 512);
	memory_backend_forget_calls(&fixture.memory);
	expect_good(&fixture,
		    disk_data_out(&fixture, compare_and_write(12, 1), buffer, 1024, disk_cuts[0]));
	assert_int_equal(fixture.memory.calls[1].flags, 0);
	free(buffer);
	disk_fixture_close(&fixture);
}

static void test_compare_and_write_errors(void **state)
{
	struct disk_fixture fixture;
	uint8_t *buffer;

	(void)state;
	open_filled(&fixture, 512);
	buffer = make_buffer(&fixture, 11, 1024);
	memory_backend_fail(&fixture.memory, MEMORY_READ, EIO, 512);
	expect_sense(&fixture,
		     disk_data_out(&fixture, compare_and_write(11, 2), buffer, 2048, disk_cuts[0]),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_UNRECOVERED_READ_ERROR);
	assert_true(fixture.seen.information == 12);
	memory_backend_fail(&fixture.memory, MEMORY_WRITE, ENOSPC, 0);
	expect_sense(&fixture,
		     disk_data_out(&fixture, compare_and_write(11, 2), buffer, 2048, disk_cuts[0]),
		     TCMU_EXT_DATA_PROTECT, TCMU_EXT_SPACE_ALLOCATION_FAILED_WRITE_PROTECT);
	free(buffer);
	disk_fixture_close(&fixture);
}

static void or_all_ways(uint32_t block_bytes, uint32_t blocks)
{
	struct disk_fixture fixture;
	const size_t bytes = (size_t)blocks * block_bytes;
	uint8_t *data = disk_fixture_new_data(bytes), *model;

	open_filled(&fixture, block_bytes);
	model = copy_of_medium(&fixture);
	for (size_t i = 0; i < bytes; i++)
		model[9 * block_bytes + i] |= data[i];
	for (size_t cut = 0; cut < 3; cut++) {
		disk_fixture_fill_medium(&fixture);
		expect_good(&fixture,
			    disk_data_out(&fixture, cdb_blocks(TCMU_EXT_ORWRITE_16, 9, blocks),
					  data, bytes, disk_cuts[cut]));
		assert_memory_equal(fixture.memory.medium, model, fixture.memory.window_bytes);
	}
	free(data);
	free(model);
	disk_fixture_close(&fixture);
}

/* In one piece and across all pieces it may be done in. */
static void test_bits_are_added(void **state)
{
	(void)state;
	or_all_ways(512, 1);
	or_all_ways(512, 128);
	or_all_ways(512, 129);
	or_all_ways(512, 500);
	or_all_ways(4096, 40);
}

static void test_orwrite_checks_its_range_and_buffer(void **state)
{
	struct disk_fixture fixture;
	uint8_t *data = disk_fixture_new_data(1024);

	(void)state;
	open_filled(&fixture, 512);
	expect_out_of_range(&fixture,
			    disk_data_out(&fixture, cdb_blocks(TCMU_EXT_ORWRITE_16, 511, 2), data,
					  1024, disk_cuts[0]));
	expect_out_of_range(&fixture,
			    disk_data_out(&fixture, cdb_blocks(TCMU_EXT_ORWRITE_16, UINT64_MAX, 2),
					  data, 1024, disk_cuts[0]));
	expect_sense(&fixture,
		     disk_data_out(&fixture, cdb_blocks(TCMU_EXT_ORWRITE_16, 3, 2), data, 1023,
				   disk_cuts[0]),
		     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_CDB);
	expect_good(&fixture, disk_command(&fixture, cdb_blocks(TCMU_EXT_ORWRITE_16, 3, 0)));
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	free(data);
	disk_fixture_close(&fixture);
}

static void test_orwrite_durably_and_its_errors(void **state)
{
	struct disk_fixture fixture;
	struct cdb cdb = cdb_blocks(TCMU_EXT_ORWRITE_16, 3, 2);
	uint8_t *data = disk_fixture_new_data(1024);

	(void)state;
	open_filled(&fixture, 512);
	expect_good(&fixture,
		    disk_data_out(&fixture, cdb_with(cdb, 1, FUA), data, 1024, disk_cuts[0]));
	assert_memory_equal(fixture.memory.medium, fixture.memory.durable,
			    fixture.memory.window_bytes);
	memory_backend_forget_calls(&fixture.memory);
	expect_good(&fixture, disk_data_out(&fixture, cdb, data, 1024, disk_cuts[0]));
	assert_int_equal(fixture.memory.calls[1].operation, MEMORY_WRITE);
	assert_int_equal(fixture.memory.calls[1].flags, 0);
	memory_backend_fail(&fixture.memory, MEMORY_READ, EIO, 512);
	expect_sense(&fixture, disk_data_out(&fixture, cdb, data, 1024, disk_cuts[0]),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_UNRECOVERED_READ_ERROR);
	assert_true(fixture.seen.information == 4);
	memory_backend_fail(&fixture.memory, MEMORY_WRITE, EIO, 0);
	expect_sense(&fixture, disk_data_out(&fixture, cdb, data, 1024, disk_cuts[0]),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR);
	assert_true(fixture.seen.information == 3);
	free(data);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_data_is_replaced),
		cmocka_unit_test(test_miscompare_tells_the_offset),
		cmocka_unit_test(test_nothing_is_compared_and_written),
		cmocka_unit_test(test_buffer_must_be_both_halves),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_compare_and_write_durably),
		cmocka_unit_test(test_compare_and_write_errors),
		cmocka_unit_test(test_bits_are_added),
		cmocka_unit_test(test_orwrite_checks_its_range_and_buffer),
		cmocka_unit_test(test_orwrite_durably_and_its_errors),
	};

	return run_unit_tests(tests);
}
