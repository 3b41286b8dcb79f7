/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Logical block addresses and lengths at and beyond the end of the medium (SBC-3 4.5). */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "disk_fixture.h"

struct block_command {
	uint8_t operation_code;
	bool writes;
	uint64_t largest_lba;
	uint32_t largest_length;
};

static const struct block_command commands[] = {
	{ TCMU_EXT_READ_6, false, 0x1fffff, 255 },
	{ TCMU_EXT_READ_10, false, UINT32_MAX, UINT16_MAX },
	{ TCMU_EXT_READ_12, false, UINT32_MAX, UINT32_MAX },
	{ TCMU_EXT_READ_16, false, UINT64_MAX, UINT32_MAX },
	{ TCMU_EXT_WRITE_6, true, 0x1fffff, 255 },
	{ TCMU_EXT_WRITE_10, true, UINT32_MAX, UINT16_MAX },
	{ TCMU_EXT_WRITE_12, true, UINT32_MAX, UINT32_MAX },
	{ TCMU_EXT_WRITE_16, true, UINT64_MAX, UINT32_MAX },
};

static enum tcmu_ext_status run(struct disk_fixture *fixture, const struct block_command *command,
				uint64_t lba, uint32_t blocks, size_t buffer_bytes)
{
	struct cdb cdb = cdb_blocks(command->operation_code, lba, blocks);
	uint8_t *data = disk_fixture_new_data(buffer_bytes);
	enum tcmu_ext_status status;

	if (command->writes)
		status = disk_data_out(fixture, cdb, data, buffer_bytes, disk_cuts[0]);
	else
		status = disk_data_in(fixture, cdb, buffer_bytes, disk_cuts[0]);
	free(data);
	return status;
}

/* A disk of `blocks` blocks of which only the last 16 have memory. */
static void open_large(struct disk_fixture *fixture, uint64_t blocks, uint32_t block_bytes)
{
	struct disk_setup setup = disk_setup_default;

	setup.blocks = blocks;
	setup.block_bytes = block_bytes;
	setup.memory.window_bytes = UINT64_C(16) * block_bytes;
	setup.memory.window_offset = blocks * block_bytes - setup.memory.window_bytes;
	disk_fixture_open(fixture, &setup);
}

static void test_last_block_is_in_range_and_the_next_is_not(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
		expect_good(&fixture, run(&fixture, &commands[i], 127, 1, 512));
		expect_good(&fixture, run(&fixture, &commands[i], 0, 128, 128 * 512));
		memory_backend_forget_calls(&fixture.memory);
		expect_out_of_range(&fixture, run(&fixture, &commands[i], 128, 1, 512));
		expect_out_of_range(&fixture, run(&fixture, &commands[i], 127, 2, 1024));
		expect_out_of_range(&fixture, run(&fixture, &commands[i], 0, 129, 129 * 512));
		expect_out_of_range(&fixture, run(&fixture, &commands[i], 129, 1, 512));
		expect_out_of_range(&fixture,
				    run(&fixture, &commands[i], commands[i].largest_lba, 1, 512));
		assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	}
	disk_fixture_close(&fixture);
}

/* SBC-3 5.8: the address is checked also when there is nothing to transfer. */
static void test_length_zero_beyond_the_end_is_out_of_range(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
		if (commands[i].largest_length == 255)
			continue; /* zero means 256 there */
		expect_out_of_range(&fixture, run(&fixture, &commands[i], 129, 0, 0));
		expect_out_of_range(&fixture,
				    run(&fixture, &commands[i], commands[i].largest_lba, 0, 0));
	}
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	disk_fixture_close(&fixture);
}

/* Addresses and lengths whose sum, or whose product with the block length, wraps around. */
static void test_sums_and_products_that_wrap_are_out_of_range(void **state)
{
	static const uint64_t addresses[] = {
		UINT64_MAX,
		UINT64_MAX - 1,
		UINT64_MAX - 127,
		UINT64_C(1) << 63,
		UINT64_C(1) << 55,
		UINT64_C(1) << 54,
		UINT64_C(1) << 52,
		UINT64_C(1) << 51,
		UINT64_C(1) << 32,
		(UINT64_C(1) << 32) + 5,
		(UINT64_C(1) << 55) + 5,
	};
	static const uint32_t lengths[] = { 0, 1, 2, 127, 128, 256 };
	static const uint32_t block_sizes[] = { 512, 4096 };

	(void)state;
	for (size_t size = 0; size < ARRAY_COUNT(block_sizes); size++) {
		struct disk_setup setup = disk_setup_default;
		struct disk_fixture fixture;

		setup.block_bytes = block_sizes[size];
		disk_fixture_open(&fixture, &setup);
		for (size_t i = 0; i < ARRAY_COUNT(addresses); i++)
			for (size_t j = 0; j < ARRAY_COUNT(lengths); j++) {
				const size_t bytes = (size_t)lengths[j] * block_sizes[size];

				expect_out_of_range(&fixture, run(&fixture, &commands[3],
								  addresses[i], lengths[j], bytes));
				expect_out_of_range(&fixture, run(&fixture, &commands[7],
								  addresses[i], lengths[j], bytes));
			}
		assert_int_equal(memory_backend_calls(&fixture.memory), 0);
		disk_fixture_close(&fixture);
	}
}

/* A length whose product with the block length wraps a 32-bit number must not pass as small. */
static void test_huge_lengths_are_refused(void **state)
{
	static const uint32_t lengths[] = { UINT32_MAX, UINT32_C(1) << 31, UINT32_C(1) << 23,
					    (UINT32_C(1) << 23) + 1 };
	struct disk_fixture fixture;

	(void)state;
	open_large(&fixture, UINT64_C(1) << 33, 512);
	for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
		for (size_t j = 0; j < ARRAY_COUNT(lengths); j++) {
			if (commands[i].largest_length < UINT32_MAX)
				continue;
			expect_sense(&fixture, run(&fixture, &commands[i], 0, lengths[j], 512),
				     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_CDB);
		}
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	disk_fixture_close(&fixture);
}

static void expect_lands_at(struct disk_fixture *fixture, const struct block_command *command,
			    uint64_t lba)
{
	memory_backend_forget_calls(&fixture->memory);
	expect_good(fixture, run(fixture, command, lba, 1, fixture->block_bytes));
	assert_int_equal(fixture->memory.call_count, 1);
	assert_true(fixture->memory.calls[0].offset == lba * fixture->block_bytes);
	assert_int_equal(fixture->memory.calls[0].bytes, fixture->block_bytes);
}

/* Beyond what 32 bits of blocks or of bytes can say. */
static void test_large_addresses_reach_the_backend_whole(void **state)
{
	const uint64_t blocks = (UINT64_C(1) << 32) + 9;
	struct disk_fixture fixture;

	(void)state;
	open_large(&fixture, blocks, 512);
	for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
		if (!commands[i].writes) {
			expect_lands_at(&fixture, &commands[i],
					commands[i].largest_lba == UINT64_MAX
						? blocks - 1
						: commands[i].largest_lba);
			expect_lands_at(&fixture, &commands[i], 0);
		} else if (commands[i].largest_lba >= UINT32_MAX) {
			expect_lands_at(&fixture, &commands[i], UINT32_MAX);
		}
	}
	expect_lands_at(&fixture, &commands[7], blocks - 1);
	expect_lands_at(&fixture, &commands[7], UINT64_C(1) << 32);
	expect_out_of_range(&fixture, run(&fixture, &commands[7], blocks, 1, 512));
	disk_fixture_close(&fixture);
}

/* The upper three bits of byte 1 of a 6-byte CDB are no part of the address. */
static void test_6_byte_address_has_21_bits(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.blocks = 0x200000;
	setup.memory.window_bytes = 512;
	setup.memory.window_offset = UINT64_C(0x1fffff) * 512;
	disk_fixture_open(&fixture, &setup);
	expect_lands_at(&fixture, &commands[0], 0x1fffff);
	expect_lands_at(&fixture, &commands[4], 0x1fffff);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_block_is_in_range_and_the_next_is_not),
		cmocka_unit_test(test_length_zero_beyond_the_end_is_out_of_range),
		cmocka_unit_test(test_sums_and_products_that_wrap_are_out_of_range),
		cmocka_unit_test(test_huge_lengths_are_refused),
		cmocka_unit_test(test_large_addresses_reach_the_backend_whole),
		cmocka_unit_test(test_6_byte_address_has_21_bits),
	};

	return run_unit_tests(tests);
}
