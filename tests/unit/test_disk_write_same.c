/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* WRITE SAME (10) and (16) (SBC-3 5.39, 5.40). */
#include "cmocka_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disk_fixture.h"

enum { ANCHOR = 0x10, UNMAP = 0x08, NDOB = 0x01, BLOCKS = 4400 };

static const uint8_t codes[] = { TCMU_EXT_WRITE_SAME_10, TCMU_EXT_WRITE_SAME_16 };

static struct disk_setup large_setup(void)
{
	struct disk_setup setup = disk_setup_default;

	setup.blocks = BLOCKS;
	return setup;
}

static void open_filled(struct disk_fixture *fixture, const struct disk_setup *setup)
{
	disk_fixture_open(fixture, setup);
	disk_fixture_fill_medium(fixture);
}

static enum tcmu_ext_status write_same(struct disk_fixture *fixture, uint8_t code, uint8_t flags,
				       uint64_t lba, uint32_t blocks, const uint8_t *block)
{
	return disk_data_out(fixture, cdb_with(cdb_blocks(code, lba, blocks), 1, flags), block,
			     block ? fixture->block_bytes : 0, disk_cuts[2]);
}

/* Writes and compares the whole medium with what it must be then. */
static void expect_written(struct disk_fixture *fixture, uint8_t code, uint8_t flags, uint64_t lba,
			   uint32_t blocks, const uint8_t *block)
{
	const size_t block_bytes = fixture->block_bytes;
	const size_t medium_bytes = fixture->memory.window_bytes;
	uint8_t *model = malloc(medium_bytes);

	disk_fixture_fill_medium(fixture);
	memcpy(model, fixture->memory.medium, medium_bytes);
	for (uint32_t i = 0; i < blocks; i++) {
		if (block)
			memcpy(model + (lba + i) * block_bytes, block, block_bytes);
		else
			memset(model + (lba + i) * block_bytes, 0, block_bytes);
	}
	memory_backend_forget_calls(&fixture->memory);
	expect_good(fixture, write_same(fixture, code, flags, lba, blocks, block));
	assert_memory_equal(fixture->memory.medium, model, medium_bytes);
	free(model);
}

static void write_pattern(const struct disk_setup *setup)
{
	static const struct {
		uint64_t lba;
		uint32_t blocks;
	} ranges[] = { { 0, 1 },   { 5, 2 },   { 1, 255 },  { 3, 256 },
		       { 7, 300 }, { 0, 512 }, { 100, 513 } };
	struct disk_fixture fixture;
	uint8_t *block = disk_fixture_new_data(setup->block_bytes);

	disk_fixture_open(&fixture, setup);
	for (size_t i = 0; i < ARRAY_COUNT(codes); i++)
		for (size_t j = 0; j < ARRAY_COUNT(ranges); j++)
			expect_written(&fixture, codes[i], 0, ranges[j].lba, ranges[j].blocks,
				       block);
	/* Up to the end of the medium, across all pieces it may be written in. */
	expect_written(&fixture, TCMU_EXT_WRITE_SAME_10, 0, 1, (uint32_t)setup->blocks - 1, block);
	free(block);
	disk_fixture_close(&fixture);
}

static void test_block_is_written_to_the_whole_range(void **state)
{
	struct disk_setup setup = large_setup();

	(void)state;
	write_pattern(&setup);
	setup.block_bytes = 4096;
	setup.blocks = 700;
	write_pattern(&setup);
}

/* Zeroes are left to the backend: allocated without UNMAP, freed with it. */
static void test_zeroes_are_made_by_the_backend(void **state)
{
	const struct disk_setup setup = large_setup();
	struct disk_fixture fixture;
	const uint8_t zeroes[512] = { 0 };

	(void)state;
	open_filled(&fixture, &setup);
	for (size_t i = 0; i < ARRAY_COUNT(codes); i++)
		for (int unmap = 0; unmap < 2; unmap++) {
			expect_written(&fixture, codes[i], unmap ? UNMAP : 0, 100, 3000, zeroes);
			assert_int_equal(memory_backend_calls(&fixture.memory), 1);
			assert_int_equal(fixture.memory.calls[0].operation, MEMORY_WRITE_ZEROES);
			assert_int_equal(fixture.memory.calls[0].flags,
					 unmap ? TCMU_EXT_IO_UNMAP : 0);
			assert_int_equal(fixture.memory.mapped[100], !unmap);
		}
	disk_fixture_close(&fixture);
}

/* A byte that is not zero, wherever it is, must be written. */
static void test_almost_zero_is_not_zero(void **state)
{
	struct disk_fixture fixture;
	uint8_t block[512] = { 0 };

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < sizeof(block); i += 73) {
		block[i] = 1;
		expect_written(&fixture, TCMU_EXT_WRITE_SAME_16, UNMAP, 3, 9, block);
		block[i] = 0;
	}
	block[511] = 0x80;
	expect_written(&fixture, TCMU_EXT_WRITE_SAME_16, UNMAP, 3, 9, block);
	disk_fixture_close(&fixture);
}

static void test_zeroes_are_written_where_the_backend_makes_none(void **state)
{
	struct disk_setup setup = large_setup();
	struct disk_fixture fixture;
	const uint8_t zeroes[512] = { 0 };

	(void)state;
	setup.without = 1u << MEMORY_WRITE_ZEROES;
	open_filled(&fixture, &setup);
	expect_written(&fixture, TCMU_EXT_WRITE_SAME_10, 0, 100, 3000, zeroes);
	expect_written(&fixture, TCMU_EXT_WRITE_SAME_16, UNMAP, 100, 3000, zeroes);
	expect_written(&fixture, TCMU_EXT_WRITE_SAME_16, NDOB, 100, 3000, NULL);
	disk_fixture_close(&fixture);
}

/*
 * Where a discard does not promise zeroes UNMAP must still leave the block's data (SBC-3 5.40), and
 * never what a discarded range happens to return.
 */
static void test_unmap_without_zeroes_promised(void **state)
{
	struct disk_setup setup = large_setup();
	struct disk_fixture fixture;
	const uint8_t zeroes[512] = { 0 };

	(void)state;
	setup.memory.properties.discard_reads_zero = false;
	open_filled(&fixture, &setup);
	expect_written(&fixture, TCMU_EXT_WRITE_SAME_16, UNMAP, 100, 3000, zeroes);
	disk_fixture_close(&fixture);
}

/* NDOB: zeroes without a buffer, whatever a buffer holds. */
static void test_no_data_out_buffer(void **state)
{
	struct disk_fixture fixture;
	uint8_t *block = disk_fixture_new_data(512);

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_written(&fixture, TCMU_EXT_WRITE_SAME_16, NDOB, 3, 100, NULL);
	expect_written(&fixture, TCMU_EXT_WRITE_SAME_16, NDOB | UNMAP, 3, 100, NULL);
	assert_int_equal(fixture.memory.calls[0].flags, TCMU_EXT_IO_UNMAP);
	expect_good(&fixture, write_same(&fixture, TCMU_EXT_WRITE_SAME_16, NDOB, 1, 1, block));
	for (size_t i = 512; i < 1024; i++)
		assert_int_equal(fixture.memory.medium[i], 0);
	/* WRITE SAME (10) has no such bit. */
	expect_invalid_field(&fixture,
			     write_same(&fixture, TCMU_EXT_WRITE_SAME_10, NDOB, 1, 1, block), 1, 0);
	free(block);
	disk_fixture_close(&fixture);
}

static void test_buffer_must_hold_just_a_block(void **state)
{
	struct disk_fixture fixture;
	uint8_t *block = disk_fixture_new_data(1024);

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(codes); i++) {
		expect_sense(&fixture,
			     disk_data_out(&fixture, cdb_blocks(codes[i], 0, 4), block, 511,
					   disk_cuts[0]),
			     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_CDB);
		expect_sense(&fixture, disk_command(&fixture, cdb_blocks(codes[i], 0, 4)),
			     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_CDB);
		expect_sense(&fixture,
			     disk_data_out(&fixture, cdb_blocks(codes[i], 0, 4), block, 1024,
					   disk_cuts[4]),
			     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_CDB);
	}
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	free(block);
	disk_fixture_close(&fixture);
}

static uint64_t maximum_write_same_length(struct disk_fixture *fixture)
{
	struct cdb cdb = cdb_with(cdb_make(TCMU_EXT_INQUIRY), 1, 0x01);

	cdb.bytes[2] = 0xb0;
	cdb.bytes[4] = 64;
	expect_good(fixture, disk_data_in(fixture, cdb, 64, disk_cuts[0]));
	assert_int_equal(fixture->data[4] & 0x01, 0x01); /* WSNZ */
	return field_get(fixture->data + 36, 8);
}

/* The limits of VPD page B0h hold: no more than the maximum, and with WSNZ not zero blocks. */
static void test_limits_are_those_of_the_block_limits_page(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	uint64_t maximum;

	(void)state;
	setup.blocks = UINT64_C(1) << 32;
	setup.memory.window_bytes = 512;
	disk_fixture_open(&fixture, &setup);
	maximum = maximum_write_same_length(&fixture);
	assert_true(maximum > 0 && maximum < UINT32_MAX);
	memory_backend_forget_calls(&fixture.memory);
	expect_sense(
		&fixture,
		write_same(&fixture, TCMU_EXT_WRITE_SAME_16, NDOB, 0, (uint32_t)maximum + 1, NULL),
		TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_CDB);
	expect_sense(&fixture,
		     write_same(&fixture, TCMU_EXT_WRITE_SAME_16, NDOB, 0, UINT32_MAX, NULL),
		     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_CDB);
	for (size_t i = 0; i < ARRAY_COUNT(codes); i++)
		expect_sense(&fixture, disk_command(&fixture, cdb_blocks(codes[i], 0, 0)),
			     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_CDB);
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	expect_good(&fixture,
		    write_same(&fixture, TCMU_EXT_WRITE_SAME_16, NDOB, 0, (uint32_t)maximum, NULL));
	assert_true(fixture.memory.calls[0].bytes == maximum * 512);
	disk_fixture_close(&fixture);
}

static void test_range_is_checked(void **state)
{
	struct disk_fixture fixture;
	uint8_t *block = disk_fixture_new_data(512);

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(codes); i++) {
		expect_out_of_range(&fixture, write_same(&fixture, codes[i], 0, 128, 1, block));
		expect_out_of_range(&fixture, write_same(&fixture, codes[i], 0, 127, 2, block));
		expect_out_of_range(&fixture, write_same(&fixture, codes[i], UNMAP, 127, 2, block));
	}
	expect_out_of_range(&fixture, write_same(&fixture, codes[1], NDOB, UINT64_MAX, 2, NULL));
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	free(block);
	disk_fixture_close(&fixture);
}

static void test_what_is_not_offered_is_refused(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	const uint8_t zeroes[512] = { 0 };

	(void)state;
	disk_fixture_open(&fixture, &setup);
	for (size_t i = 0; i < ARRAY_COUNT(codes); i++) {
		expect_invalid_field(&fixture, write_same(&fixture, codes[i], ANCHOR, 0, 1, zeroes),
				     1, 4);
		expect_invalid_field(&fixture,
				     write_same(&fixture, codes[i], ANCHOR | UNMAP, 0, 1, zeroes),
				     1, 4);
	}
	disk_fixture_close(&fixture);
	/* LBPWS and LBPWS10 are 0 without discard, so UNMAP is. */
	setup.memory.properties.discard_granularity_bytes = 0;
	disk_fixture_open(&fixture, &setup);
	for (size_t i = 0; i < ARRAY_COUNT(codes); i++) {
		expect_invalid_field(&fixture, write_same(&fixture, codes[i], UNMAP, 0, 1, zeroes),
				     1, 3);
		expect_good(&fixture, write_same(&fixture, codes[i], 0, 0, 1, zeroes));
	}
	disk_fixture_close(&fixture);
}

static void test_without_write_cache_it_is_durable(void **state)
{
	struct disk_setup setup = large_setup();
	struct disk_fixture fixture;
	uint8_t *block = disk_fixture_new_data(512);
	const uint8_t zeroes[512] = { 0 };

	(void)state;
	setup.disk.write_cache = false;
	open_filled(&fixture, &setup);
	expect_good(&fixture, write_same(&fixture, codes[0], 0, 3, 4200, block));
	assert_memory_equal(fixture.memory.medium, fixture.memory.durable,
			    fixture.memory.window_bytes);
	expect_good(&fixture, write_same(&fixture, codes[1], UNMAP, 3, 4200, zeroes));
	assert_memory_equal(fixture.memory.medium, fixture.memory.durable,
			    fixture.memory.window_bytes);
	free(block);
	disk_fixture_close(&fixture);
}

static void test_errors(void **state)
{
	struct disk_setup setup = large_setup();
	struct disk_fixture fixture;
	uint8_t *block = disk_fixture_new_data(512);
	const uint8_t zeroes[512] = { 0 };

	(void)state;
	open_filled(&fixture, &setup);
	memory_backend_fail(&fixture.memory, MEMORY_WRITE, EIO, 7 * 512);
	expect_sense(&fixture, write_same(&fixture, codes[0], 0, 50, 100, block),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR);
	assert_true(fixture.seen.information == 57);
	/* In a later piece the address is that piece's. */
	fixture.memory.failures[MEMORY_WRITE] =
		(struct memory_failure){ .countdown = 2, .error = -ENOSPC, .after_bytes = 512 };
	memory_backend_forget_calls(&fixture.memory);
	expect_sense(&fixture, write_same(&fixture, codes[0], 0, 50, 4200, block),
		     TCMU_EXT_DATA_PROTECT, TCMU_EXT_SPACE_ALLOCATION_FAILED_WRITE_PROTECT);
	assert_int_equal(fixture.memory.call_count, 2);
	assert_true(fixture.seen.information == fixture.memory.calls[1].offset / 512 + 1);
	memory_backend_fail(&fixture.memory, MEMORY_WRITE_ZEROES, ENOSPC, 0);
	expect_sense(&fixture, write_same(&fixture, codes[1], UNMAP, 50, 100, zeroes),
		     TCMU_EXT_DATA_PROTECT, TCMU_EXT_SPACE_ALLOCATION_FAILED_WRITE_PROTECT);
	memory_backend_fail(&fixture.memory, MEMORY_WRITE_ZEROES, EIO, 0);
	expect_sense(&fixture, write_same(&fixture, codes[1], 0, 50, 100, zeroes),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR);
	free(block);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_is_written_to_the_whole_range),
		cmocka_unit_test(test_zeroes_are_made_by_the_backend),
		cmocka_unit_test(test_almost_zero_is_not_zero),
		cmocka_unit_test(test_zeroes_are_written_where_the_backend_makes_none),
		cmocka_unit_test(test_unmap_without_zeroes_promised),
		cmocka_unit_test(test_no_data_out_buffer),
		cmocka_unit_test(test_buffer_must_hold_just_a_block),
		cmocka_unit_test(test_limits_are_those_of_the_block_limits_page),
		cmocka_unit_test(test_range_is_checked),
		cmocka_unit_test(test_what_is_not_offered_is_refused),
		cmocka_unit_test(test_without_write_cache_it_is_durable),
		cmocka_unit_test(test_errors),
	};

	return run_unit_tests(tests);
}
