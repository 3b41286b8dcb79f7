/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* VERIFY and WRITE AND VERIFY (10), (12), (16) (SBC-3 5.29 to 5.31, 5.36 to 5.38). */
#include "cmocka_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disk_fixture.h"

enum { BYTCHK_NONE = 0x00, BYTCHK_BUFFER = 0x02, BYTCHK_RESERVED = 0x04, BYTCHK_ONE_BLOCK = 0x06 };

static const uint8_t verifies[] = { TCMU_EXT_VERIFY_10, TCMU_EXT_VERIFY_12, TCMU_EXT_VERIFY_16 };
static const uint8_t writes[] = { TCMU_EXT_WRITE_AND_VERIFY_10, TCMU_EXT_WRITE_AND_VERIFY_12,
				  TCMU_EXT_WRITE_AND_VERIFY_16 };

static struct cdb checked(uint8_t code, uint8_t byte_check, uint64_t lba, uint32_t blocks)
{
	return cdb_with(cdb_blocks(code, lba, blocks), 1, byte_check);
}

static void open_filled(struct disk_fixture *fixture, uint32_t block_bytes)
{
	struct disk_setup setup = disk_setup_default;

	setup.block_bytes = block_bytes;
	setup.blocks = 512;
	disk_fixture_open(fixture, &setup);
	disk_fixture_fill_medium(fixture);
}

/* Without data only reading is tried: the medium is read whole, nothing is transferred. */
static void test_verify_reads_the_medium(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	open_filled(&fixture, 512);
	for (size_t i = 0; i < ARRAY_COUNT(verifies); i++) {
		uint64_t read_bytes = 0;

		memory_backend_forget_calls(&fixture.memory);
		expect_good(&fixture,
			    disk_command(&fixture, checked(verifies[i], BYTCHK_NONE, 7, 500)));
		for (size_t call = 0; call < fixture.memory.call_count; call++) {
			assert_int_equal(fixture.memory.calls[call].operation, MEMORY_READ);
			assert_true(fixture.memory.calls[call].offset == 7 * 512 + read_bytes);
			read_bytes += fixture.memory.calls[call].bytes;
		}
		assert_true(read_bytes == 500 * 512);
		expect_good(&fixture,
			    disk_command(&fixture, checked(verifies[i], BYTCHK_NONE, 7, 0)));
	}
	disk_fixture_close(&fixture);
}

static void test_verify_reports_the_block_that_cannot_be_read(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	open_filled(&fixture, 512);
	memory_backend_fail(&fixture.memory, MEMORY_READ, EIO, 5 * 512 + 1);
	expect_sense(&fixture,
		     disk_command(&fixture, checked(TCMU_EXT_VERIFY_10, BYTCHK_NONE, 7, 100)),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_UNRECOVERED_READ_ERROR);
	assert_true(fixture.seen.information_valid && fixture.seen.information == 12);
	disk_fixture_close(&fixture);
}

static enum tcmu_ext_status verify_buffer(struct disk_fixture *fixture, uint8_t code,
					  uint8_t byte_check, uint64_t lba, uint32_t blocks,
					  const uint8_t *data, size_t bytes, size_t cut)
{
	return disk_data_out(fixture, checked(code, byte_check, lba, blocks), data, bytes,
			     disk_cuts[cut]);
}

/* MISCOMPARE, with the address of the first block that differs. */
static void expect_miscompare_at(struct disk_fixture *fixture, enum tcmu_ext_status status,
				 uint64_t lba)
{
	expect_sense(fixture, status, TCMU_EXT_MISCOMPARE, TCMU_EXT_MISCOMPARE_DURING_VERIFY);
	assert_true(fixture->seen.information_valid);
	assert_true(fixture->seen.information == lba);
}

static void verify_against_buffer(uint32_t block_bytes)
{
	struct disk_fixture fixture;
	const uint32_t blocks = 200;
	const size_t bytes = blocks * block_bytes;
	uint8_t *data = malloc(bytes);

	open_filled(&fixture, block_bytes);
	memcpy(data, fixture.memory.medium + 10 * block_bytes, bytes);
	for (size_t i = 0; i < ARRAY_COUNT(verifies); i++) {
		expect_good(&fixture, verify_buffer(&fixture, verifies[i], BYTCHK_BUFFER, 10,
						    blocks, data, bytes, 1));
		for (size_t at = 0; at < bytes; at += bytes / 7 - 1) {
			data[at] ^= 0x01;
			expect_miscompare_at(&fixture,
					     verify_buffer(&fixture, verifies[i], BYTCHK_BUFFER, 10,
							   blocks, data, bytes, 2),
					     10 + at / block_bytes);
			data[at] ^= 0x01;
		}
		data[bytes - 1] ^= 0x80;
		expect_sense(&fixture,
			     verify_buffer(&fixture, verifies[i], BYTCHK_BUFFER, 10, blocks, data,
					   bytes, 0),
			     TCMU_EXT_MISCOMPARE, TCMU_EXT_MISCOMPARE_DURING_VERIFY);
		data[bytes - 1] ^= 0x80;
	}
	free(data);
	disk_fixture_close(&fixture);
}

static void test_verify_compares_with_the_buffer(void **state)
{
	(void)state;
	verify_against_buffer(512);
	verify_against_buffer(4096);
}

static void test_verify_buffer_too_short_is_refused(void **state)
{
	struct disk_fixture fixture;
	uint8_t *data;

	(void)state;
	open_filled(&fixture, 512);
	data = malloc(1024);
	memcpy(data, fixture.memory.medium, 1024);
	expect_sense(
		&fixture,
		verify_buffer(&fixture, TCMU_EXT_VERIFY_10, BYTCHK_BUFFER, 0, 2, data, 1023, 0),
		TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_CDB);
	expect_sense(
		&fixture,
		verify_buffer(&fixture, TCMU_EXT_VERIFY_10, BYTCHK_ONE_BLOCK, 0, 2, data, 511, 0),
		TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_CDB);
	/* More than is compared does not matter. */
	expect_good(&fixture, verify_buffer(&fixture, TCMU_EXT_VERIFY_10, BYTCHK_BUFFER, 0, 1, data,
					    1024, 4));
	free(data);
	disk_fixture_close(&fixture);
}

/* BYTCHK 11b: one block of data against every block of the range. */
static void test_verify_compares_each_block_with_one(void **state)
{
	struct disk_fixture fixture;
	uint8_t *block = disk_fixture_new_data(512);

	(void)state;
	open_filled(&fixture, 512);
	for (size_t i = 0; i < 300; i++)
		memcpy(fixture.memory.medium + (10 + i) * 512, block, 512);
	for (size_t i = 0; i < ARRAY_COUNT(verifies); i++) {
		for (size_t cut = 0; cut < disk_cut_count; cut++)
			expect_good(&fixture, verify_buffer(&fixture, verifies[i], BYTCHK_ONE_BLOCK,
							    10, 300, block, 512, cut));
		expect_miscompare_at(&fixture,
				     verify_buffer(&fixture, verifies[i], BYTCHK_ONE_BLOCK, 10, 301,
						   block, 512, 0),
				     10 + 300);
		for (uint64_t lba = 10; lba < 310; lba += 23) {
			fixture.memory.medium[lba * 512 + 511] ^= 1;
			expect_miscompare_at(&fixture,
					     verify_buffer(&fixture, verifies[i], BYTCHK_ONE_BLOCK,
							   10, 300, block, 512, 3),
					     lba);
			fixture.memory.medium[lba * 512 + 511] ^= 1;
		}
	}
	free(block);
	disk_fixture_close(&fixture);
}

static void test_reserved_byte_check_is_refused(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	open_filled(&fixture, 512);
	for (size_t i = 0; i < ARRAY_COUNT(verifies); i++) {
		expect_invalid_field(
			&fixture,
			disk_command(&fixture, checked(verifies[i], BYTCHK_RESERVED, 0, 1)), 1, 2);
		expect_invalid_field(
			&fixture, disk_command(&fixture, checked(writes[i], BYTCHK_RESERVED, 0, 1)),
			1, 2);
	}
	disk_fixture_close(&fixture);
}

static void test_range_is_checked(void **state)
{
	static const uint8_t checks[] = { BYTCHK_NONE, BYTCHK_BUFFER, BYTCHK_ONE_BLOCK };
	struct disk_fixture fixture;

	(void)state;
	open_filled(&fixture, 512);
	memory_backend_forget_calls(&fixture.memory);
	for (size_t i = 0; i < ARRAY_COUNT(verifies); i++)
		for (size_t j = 0; j < ARRAY_COUNT(checks); j++) {
			expect_out_of_range(&fixture,
					    disk_data_in(&fixture,
							 checked(verifies[i], checks[j], 512, 1),
							 512, disk_cuts[0]));
			expect_out_of_range(&fixture,
					    disk_data_in(&fixture,
							 checked(verifies[i], checks[j], 511, 2),
							 1024, disk_cuts[0]));
			expect_out_of_range(&fixture,
					    disk_data_in(&fixture,
							 checked(verifies[i], checks[j], 513, 0),
							 512, disk_cuts[0]));
		}
	expect_out_of_range(&fixture, disk_command(&fixture, checked(TCMU_EXT_VERIFY_16,
								     BYTCHK_NONE, UINT64_MAX, 2)));
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	disk_fixture_close(&fixture);
}

/* One VERIFY may not read for ever: there is a limit, and what it allows works. */
static void test_verify_of_too_much_is_refused(void **state)
{
	const uint32_t allowed = 256 * 1024 * 2;
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.blocks = UINT64_C(1) << 33;
	setup.memory.window_bytes = 512;
	disk_fixture_open(&fixture, &setup);
	expect_invalid_field(
		&fixture,
		disk_command(&fixture, checked(TCMU_EXT_VERIFY_12, BYTCHK_NONE, 0, UINT32_MAX)), 6,
		-1);
	expect_invalid_field(&fixture,
			     disk_command(&fixture, checked(TCMU_EXT_VERIFY_16, BYTCHK_ONE_BLOCK, 0,
							    allowed + 1)),
			     10, -1);
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	expect_good(&fixture,
		    disk_command(&fixture, checked(TCMU_EXT_VERIFY_16, BYTCHK_NONE, 7, allowed)));
	disk_fixture_close(&fixture);
}

static void write_and_verify(struct disk_fixture *fixture, uint8_t code, uint8_t byte_check)
{
	const uint32_t blocks = 300;
	const size_t bytes = blocks * 512, medium_bytes = 512 * 512;
	uint8_t *data = disk_fixture_new_data(bytes), *model = malloc(medium_bytes);

	disk_fixture_fill_medium(fixture);
	memcpy(model, fixture->memory.medium, medium_bytes);
	memcpy(model + 20 * 512, data, bytes);
	memory_backend_forget_calls(&fixture->memory);
	expect_good(fixture, disk_data_out(fixture, checked(code, byte_check, 20, blocks), data,
					   bytes, disk_cuts[1]));
	assert_memory_equal(fixture->memory.medium, model, medium_bytes);
	/* SBC-3 5.36: written to the medium, and read back from there. */
	assert_memory_equal(fixture->memory.durable, model, medium_bytes);
	assert_true(fixture->memory.counts[MEMORY_READ] > 0);
	free(data);
	free(model);
}

static void test_write_and_verify(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	open_filled(&fixture, 512);
	for (size_t i = 0; i < ARRAY_COUNT(writes); i++) {
		write_and_verify(&fixture, writes[i], BYTCHK_NONE);
		write_and_verify(&fixture, writes[i], BYTCHK_BUFFER);
	}
	disk_fixture_close(&fixture);
}

static void test_write_and_verify_that_fails(void **state)
{
	struct disk_fixture fixture;
	uint8_t *data = disk_fixture_new_data(1024);
	struct cdb cdb = checked(TCMU_EXT_WRITE_AND_VERIFY_10, BYTCHK_BUFFER, 20, 2);

	(void)state;
	open_filled(&fixture, 512);
	memory_backend_fail(&fixture.memory, MEMORY_WRITE, EIO, 512);
	expect_sense(&fixture, disk_data_out(&fixture, cdb, data, 1024, disk_cuts[0]),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR);
	assert_true(fixture.seen.information == 21);
	memory_backend_fail(&fixture.memory, MEMORY_READ, EIO, 512);
	expect_sense(&fixture, disk_data_out(&fixture, cdb, data, 1024, disk_cuts[0]),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_UNRECOVERED_READ_ERROR);
	assert_true(fixture.seen.information == 21);
	memory_backend_fail(&fixture.memory, MEMORY_FLUSH, EIO, 0);
	expect_sense(&fixture, disk_data_out(&fixture, cdb, data, 1024, disk_cuts[0]),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR);
	free(data);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verify_reads_the_medium),
		cmocka_unit_test(test_verify_reports_the_block_that_cannot_be_read),
		cmocka_unit_test(test_verify_compares_with_the_buffer),
		cmocka_unit_test(test_verify_buffer_too_short_is_refused),
		cmocka_unit_test(test_verify_compares_each_block_with_one),
		cmocka_unit_test(test_reserved_byte_check_is_refused),
		cmocka_unit_test(test_range_is_checked),
		cmocka_unit_test(test_verify_of_too_much_is_refused),
		cmocka_unit_test(test_write_and_verify),
		cmocka_unit_test(test_write_and_verify_that_fails),
	};

	return run_unit_tests(tests);
}
