/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* READ CAPACITY (10) and (16) (SBC-3 5.15, 5.16), before and after a resize. */
#include "cmocka_test.h"

#include <string.h>

#include "disk_fixture.h"

static const uint8_t *capacity_10(struct disk_fixture *fixture)
{
	expect_good(fixture,
		    disk_data_in(fixture, cdb_make(TCMU_EXT_READ_CAPACITY_10), 40, disk_cuts[3]));
	for (size_t i = 8; i < 40; i++)
		assert_int_equal(fixture->data[i], 0);
	return fixture->data;
}

static struct cdb read_capacity_16(uint32_t allocation_length)
{
	return cdb_service_action(TCMU_EXT_SERVICE_ACTION_IN_16, TCMU_EXT_READ_CAPACITY_16,
				  allocation_length);
}

static const uint8_t *capacity_16(struct disk_fixture *fixture)
{
	expect_good(fixture, disk_data_in(fixture, read_capacity_16(64), 64, disk_cuts[1]));
	for (size_t i = 16; i < 64; i++)
		assert_int_equal(fixture->data[i], 0);
	return fixture->data;
}

static void test_capacity_in_each_block_size(void **state)
{
	static const uint32_t block_sizes[] = { 512, 1024, 2048, 4096 };

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(block_sizes); i++) {
		struct disk_setup setup = disk_setup_default;
		struct disk_fixture fixture;

		setup.block_bytes = block_sizes[i];
		setup.blocks = 1001;
		disk_fixture_open(&fixture, &setup);
		assert_int_equal(field_get(capacity_10(&fixture), 4), 1000);
		assert_int_equal(field_get(fixture.data + 4, 4), block_sizes[i]);
		assert_int_equal(field_get(capacity_16(&fixture), 8), 1000);
		assert_int_equal(field_get(fixture.data + 8, 4), block_sizes[i]);
		disk_fixture_close(&fixture);
	}
}

static void expect_capacities(uint64_t blocks, uint32_t capacity_10_says)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	setup.blocks = blocks;
	setup.memory.window_bytes = 512;
	disk_fixture_open(&fixture, &setup);
	assert_true(field_get(capacity_10(&fixture), 4) == capacity_10_says);
	assert_true(field_get(capacity_16(&fixture), 8) == blocks - 1);
	disk_fixture_close(&fixture);
}

/* SBC-3 5.15: FFFFFFFFh when the last address does not fit, or is that itself. */
static void test_capacity_beyond_32_bits(void **state)
{
	(void)state;
	expect_capacities(1, 0);
	expect_capacities(UINT64_C(0xffffffff), 0xfffffffe);
	expect_capacities(UINT64_C(0x100000000), 0xffffffff);
	expect_capacities(UINT64_C(0x100000001), 0xffffffff);
	expect_capacities(UINT64_C(1) << 50, 0xffffffff);
}

static void test_size_is_rounded_down_to_blocks(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.block_bytes = 4096;
	setup.blocks = 10;
	disk_fixture_open(&fixture, &setup);
	tcmu_ext_disk_destroy(fixture.disk);
	const struct tcmu_ext_disk_config config = { .struct_bytes = sizeof(config),
						     .size_bytes = 9 * 4096 + 4095,
						     .logical_block_bytes = 4096 };

	assert_int_equal(tcmu_ext_disk_create(fixture.backend, &config, &fixture.disk), 0);
	assert_int_equal(field_get(capacity_16(&fixture), 8), 8);
	disk_fixture_close(&fixture);
}

static void test_allocation_length_truncates(void **state)
{
	struct disk_fixture fixture;
	uint8_t whole[32];

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	memcpy(whole, capacity_16(&fixture), sizeof(whole));
	for (uint32_t length = 0; length <= 40; length++) {
		size_t answer = length < 32 ? length : 32;

		expect_good(&fixture,
			    disk_data_in(&fixture, read_capacity_16(length), 48, disk_cuts[4]));
		assert_memory_equal(fixture.data, whole, answer);
		for (size_t i = answer; i < 48; i++)
			assert_int_equal(fixture.data[i], 0);
		/* A buffer smaller than the answer. */
		expect_good(&fixture, disk_data_in(&fixture, read_capacity_16(UINT32_MAX), length,
						   disk_cuts[0]));
		if (answer)
			assert_memory_equal(fixture.data, whole, answer);
	}
	expect_good(&fixture,
		    disk_data_in(&fixture, cdb_make(TCMU_EXT_READ_CAPACITY_10), 5, disk_cuts[0]));
	disk_fixture_close(&fixture);
}

static void test_provisioning_bits(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(capacity_16(&fixture)[14] & 0xc0, 0xc0); /* LBPME, LBPRZ */
	disk_fixture_close(&fixture);
	setup.memory.properties.discard_reads_zero = false;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(capacity_16(&fixture)[14] & 0xc0, 0x80);
	disk_fixture_close(&fixture);
	setup.memory.properties.discard_granularity_bytes = 0;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(capacity_16(&fixture)[14] & 0xc0, 0);
	disk_fixture_close(&fixture);
}

/* LOGICAL BLOCKS PER PHYSICAL BLOCK EXPONENT; no protection, all aligned. */
static void test_physical_block_exponent(void **state)
{
	static const struct {
		uint32_t logical, physical;
		uint8_t exponent;
	} cases[] = { { 512, 512, 0 },  { 512, 4096, 3 },  { 4096, 4096, 0 },    { 4096, 16384, 2 },
		      { 4096, 512, 0 }, { 512, 65536, 7 }, { 512, 1u << 31, 15 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct disk_setup setup = disk_setup_default;
		struct disk_fixture fixture;

		setup.block_bytes = cases[i].logical;
		setup.memory.properties.physical_block_bytes = cases[i].physical;
		disk_fixture_open(&fixture, &setup);
		assert_int_equal(capacity_16(&fixture)[13], cases[i].exponent);
		assert_int_equal(fixture.data[12], 0);
		assert_int_equal(field_get(fixture.data + 14, 2) & 0x3fff, 0);
		disk_fixture_close(&fixture);
	}
}

/* LOWEST ALIGNED LOGICAL BLOCK ADDRESS: where the first physical block begins. */
static void test_alignment(void **state)
{
	static const struct {
		uint32_t logical, alignment, lowest;
	} cases[] = { { 512, 3584, 7 }, { 512, 512, 1 }, { 512, 0, 0 }, { 4096, 0, 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct disk_setup setup = disk_setup_default;
		struct disk_fixture fixture;

		setup.block_bytes = cases[i].logical;
		setup.memory.properties.physical_block_bytes = 4096;
		setup.memory.properties.physical_alignment_bytes = cases[i].alignment;
		disk_fixture_open(&fixture, &setup);
		assert_int_equal(field_get(capacity_16(&fixture) + 14, 2) & 0x3fff,
				 cases[i].lowest);
		disk_fixture_close(&fixture);
	}
}

static void test_resize_is_seen_at_once(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	fixture.memory.resize_limit_bytes = 200 * 512;
	expect_out_of_range(&fixture, disk_data_in(&fixture, cdb_blocks(TCMU_EXT_READ_10, 128, 1),
						   512, disk_cuts[0]));
	assert_int_equal(tcmu_ext_disk_resize(fixture.disk, 200 * 512), 0);
	assert_int_equal(field_get(capacity_10(&fixture), 4), 199);
	assert_int_equal(field_get(capacity_16(&fixture), 8), 199);
	expect_good(&fixture, disk_data_in(&fixture, cdb_blocks(TCMU_EXT_READ_10, 199, 1), 512,
					   disk_cuts[0]));
	expect_out_of_range(&fixture, disk_data_in(&fixture, cdb_blocks(TCMU_EXT_READ_10, 200, 1),
						   512, disk_cuts[0]));
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capacity_in_each_block_size),
		cmocka_unit_test(test_capacity_beyond_32_bits),
		cmocka_unit_test(test_size_is_rounded_down_to_blocks),
		cmocka_unit_test(test_allocation_length_truncates),
		cmocka_unit_test(test_provisioning_bits),
		cmocka_unit_test(test_physical_block_exponent),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_resize_is_seen_at_once),
	};

	return run_unit_tests(tests);
}
