/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* GET LBA STATUS (SBC-3 5.4) and PRE-FETCH (10), (16) (SBC-3 5.6, 5.7). */
#include "cmocka_test.h"

#include <errno.h>
#include <string.h>

#include "disk_fixture.h"

enum { HEADER_BYTES = 8, DESCRIPTOR_BYTES = 16, ANSWER_BYTES = 4096, MAPPED = 0, DEALLOCATED = 1 };

static struct cdb get_lba_status(uint64_t lba, uint32_t allocation_length)
{
	struct cdb cdb = cdb_service_action(TCMU_EXT_SERVICE_ACTION_IN_16, TCMU_EXT_GET_LBA_STATUS,
					    allocation_length);

	field_put(cdb.bytes + 2, 8, lba);
	return cdb;
}

/* Asks, and checks the form of the answer. Returns the number of descriptors. */
static size_t ask(struct disk_fixture *fixture, uint64_t lba, uint32_t allocation_length)
{
	size_t length, count;

	expect_good(fixture, disk_data_in(fixture, get_lba_status(lba, allocation_length),
					  ANSWER_BYTES, disk_cuts[1]));
	length = field_get(fixture->data, 4) + 4;
	assert_true(length >= HEADER_BYTES + DESCRIPTOR_BYTES);
	assert_int_equal((length - HEADER_BYTES) % DESCRIPTOR_BYTES, 0);
	assert_int_equal(field_get(fixture->data + 4, 4), 0);
	count = (length - HEADER_BYTES) / DESCRIPTOR_BYTES;
	assert_true(length <= ANSWER_BYTES);
	return count;
}

static void expect_descriptor(const struct disk_fixture *fixture, size_t number, uint64_t lba,
			      uint32_t blocks, int status)
{
	const uint8_t *descriptor = fixture->data + HEADER_BYTES + number * DESCRIPTOR_BYTES;

	assert_true(field_get(descriptor, 8) == lba);
	assert_true(field_get(descriptor + 8, 4) == blocks);
	assert_int_equal(descriptor[12], status);
	assert_int_equal(field_get(descriptor + 13, 3), 0);
}

static void set_mapped(struct disk_fixture *fixture, size_t first, size_t count, bool mapped)
{
	for (size_t i = first; i < first + count; i++)
		fixture->memory.mapped[i] = mapped;
}

static void test_runs_are_described(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	set_mapped(&fixture, 0, 128, true);
	set_mapped(&fixture, 10, 5, false);
	set_mapped(&fixture, 100, 28, false);
	assert_int_equal(ask(&fixture, 0, ANSWER_BYTES), 4);
	expect_descriptor(&fixture, 0, 0, 10, MAPPED);
	expect_descriptor(&fixture, 1, 10, 5, DEALLOCATED);
	expect_descriptor(&fixture, 2, 15, 85, MAPPED);
	expect_descriptor(&fixture, 3, 100, 28, DEALLOCATED);
	/* From the middle of a run, and at the last block. */
	assert_int_equal(ask(&fixture, 12, ANSWER_BYTES), 3);
	expect_descriptor(&fixture, 0, 12, 3, DEALLOCATED);
	assert_int_equal(ask(&fixture, 127, ANSWER_BYTES), 1);
	expect_descriptor(&fixture, 0, 127, 1, DEALLOCATED);
	disk_fixture_close(&fixture);
}

/* A block that is free only in part holds data. */
static void test_blocks_larger_than_the_backend_s_units(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	uint64_t lba = 0;
	size_t count;

	(void)state;
	setup.block_bytes = 4096;
	disk_fixture_open(&fixture, &setup);
	set_mapped(&fixture, 0, 128 * 8, false);
	set_mapped(&fixture, 20, 1, true);   /* in block 2 */
	set_mapped(&fixture, 80, 8, true);   /* block 10 */
	set_mapped(&fixture, 1023, 1, true); /* in block 127 */
	count = ask(&fixture, 0, ANSWER_BYTES);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *descriptor = fixture.data + HEADER_BYTES + i * DESCRIPTOR_BYTES;
		uint32_t blocks = (uint32_t)field_get(descriptor + 8, 4);

		assert_true(field_get(descriptor, 8) == lba);
		assert_true(blocks > 0);
		for (uint64_t block = lba; block < lba + blocks; block++)
			assert_int_equal(descriptor[12], block == 2 || block == 10 || block == 127
								 ? MAPPED
								 : DEALLOCATED);
		lba += blocks;
	}
	assert_int_equal(lba, 128);
	disk_fixture_close(&fixture);
}

static void test_answer_is_truncated(void **state)
{
	struct disk_fixture fixture;
	uint8_t whole[24];

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < 128; i += 2)
		set_mapped(&fixture, i, 1, true);
	/* Room for one descriptor, for three. */
	assert_int_equal(ask(&fixture, 5, 24), 1);
	memcpy(whole, fixture.data, sizeof(whole));
	assert_int_equal(field_get(fixture.data + 24, 8), 0);
	assert_true(ask(&fixture, 5, 24 + 32) >= 3);
	for (uint32_t length = 0; length < 24; length++) {
		expect_good(&fixture,
			    disk_data_in(&fixture, get_lba_status(5, length), 40, disk_cuts[4]));
		if (length)
			assert_memory_equal(fixture.data, whole, length);
		for (size_t i = length; i < 40; i++)
			assert_int_equal(fixture.data[i], 0);
	}
	disk_fixture_close(&fixture);
}

/* However fragmented the medium: one command ends, and the next goes on where it ended. */
static void test_fragmented_medium_is_walked_through(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	uint64_t lba = 0;
	int commands = 0;

	(void)state;
	setup.blocks = 5000;
	disk_fixture_open(&fixture, &setup);
	for (size_t i = 0; i < 5000; i += 2)
		set_mapped(&fixture, i, 1, true);
	while (lba < 5000) {
		size_t count;

		memory_backend_forget_calls(&fixture.memory);
		count = ask(&fixture, lba, ANSWER_BYTES);
		assert_true(fixture.memory.counts[MEMORY_ALLOCATION] <= 256);
		for (size_t i = 0; i < count; i++, lba++)
			expect_descriptor(&fixture, i, lba, 1, lba % 2 ? DEALLOCATED : MAPPED);
		assert_true(++commands < 5000);
	}
	disk_fixture_close(&fixture);
}

static void test_all_is_mapped_when_nothing_is_known(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.without = 1u << MEMORY_ALLOCATION;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(ask(&fixture, 3, ANSWER_BYTES), 1);
	expect_descriptor(&fixture, 0, 3, 125, MAPPED);
	disk_fixture_close(&fixture);
}

/* SBC-3 4.7.2: in a fully provisioned logical unit every block is mapped. */
static void test_all_is_mapped_when_fully_provisioned(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.memory.properties.discard_granularity_bytes = 0;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(ask(&fixture, 3, ANSWER_BYTES), 1);
	expect_descriptor(&fixture, 0, 3, 125, MAPPED);
	disk_fixture_close(&fixture);
}

/* A run longer than the 32-bit length field is described piecewise. */
static void test_long_run(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.without = 1u << MEMORY_ALLOCATION;
	setup.blocks = (UINT64_C(1) << 33) + 5;
	setup.memory.window_bytes = 512;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(ask(&fixture, 0, ANSWER_BYTES), 3);
	expect_descriptor(&fixture, 0, 0, UINT32_MAX, MAPPED);
	expect_descriptor(&fixture, 1, UINT32_MAX, UINT32_MAX, MAPPED);
	expect_descriptor(&fixture, 2, UINT64_C(2) * UINT32_MAX, 7, MAPPED);
	disk_fixture_close(&fixture);
}

static void test_address_off_the_medium(void **state)
{
	static const uint64_t addresses[] = { 128, 129, UINT64_MAX, UINT64_C(1) << 55 };
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(addresses); i++)
		expect_out_of_range(&fixture,
				    disk_data_in(&fixture, get_lba_status(addresses[i], 255), 255,
						 disk_cuts[0]));
	disk_fixture_close(&fixture);
}

static void test_error_of_the_backend(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	memory_backend_fail(&fixture.memory, MEMORY_ALLOCATION, EIO, 0);
	expect_sense(&fixture, disk_data_in(&fixture, get_lba_status(3, 255), 255, disk_cuts[0]),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_UNRECOVERED_READ_ERROR);
	disk_fixture_close(&fixture);
}

static const uint8_t prefetches[] = { TCMU_EXT_PRE_FETCH_10, TCMU_EXT_PRE_FETCH_16 };

static void test_prefetch(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(prefetches); i++) {
		memory_backend_forget_calls(&fixture.memory);
		expect_good(&fixture, disk_command(&fixture, cdb_blocks(prefetches[i], 5, 10)));
		assert_int_equal(fixture.memory.call_count, 1);
		assert_int_equal(fixture.memory.calls[0].operation, MEMORY_PREFETCH);
		assert_int_equal(fixture.memory.calls[0].offset, 5 * 512);
		assert_int_equal(fixture.memory.calls[0].bytes, 10 * 512);
		/* A length of zero: to the end of the medium. */
		memory_backend_forget_calls(&fixture.memory);
		expect_good(&fixture, disk_command(&fixture, cdb_blocks(prefetches[i], 5, 0)));
		assert_int_equal(fixture.memory.calls[0].bytes, 123 * 512);
		/* IMMED is no news to a command that never waits. */
		expect_good(
			&fixture,
			disk_command(&fixture, cdb_with(cdb_blocks(prefetches[i], 5, 1), 1, 0x02)));
		expect_out_of_range(&fixture,
				    disk_command(&fixture, cdb_blocks(prefetches[i], 127, 2)));
		expect_out_of_range(&fixture,
				    disk_command(&fixture, cdb_blocks(prefetches[i], 129, 0)));
	}
	disk_fixture_close(&fixture);
}

static void test_prefetch_of_more_than_32_bits_of_blocks(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.blocks = UINT64_C(1) << 34;
	setup.memory.window_bytes = 512;
	disk_fixture_open(&fixture, &setup);
	expect_good(&fixture, disk_command(&fixture, cdb_blocks(TCMU_EXT_PRE_FETCH_16, 5, 0)));
	assert_true(fixture.memory.calls[0].bytes >= UINT64_C(512) * UINT32_MAX);
	disk_fixture_close(&fixture);
}

/* The end itself is no range at all: nothing is asked of the backend. */
static void test_prefetch_at_the_end(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	disk_command(&fixture, cdb_blocks(TCMU_EXT_PRE_FETCH_10, 128, 0));
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	disk_fixture_close(&fixture);
}

static void test_prefetch_that_fails_or_is_not_there(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &setup);
	memory_backend_fail(&fixture.memory, MEMORY_PREFETCH, EIO, 0);
	expect_good(&fixture, disk_command(&fixture, cdb_blocks(TCMU_EXT_PRE_FETCH_10, 5, 1)));
	disk_fixture_close(&fixture);
	setup.without = 1u << MEMORY_PREFETCH;
	disk_fixture_open(&fixture, &setup);
	expect_good(&fixture, disk_command(&fixture, cdb_blocks(TCMU_EXT_PRE_FETCH_10, 5, 1)));
	expect_out_of_range(&fixture,
			    disk_command(&fixture, cdb_blocks(TCMU_EXT_PRE_FETCH_10, 127, 2)));
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_are_described),
		cmocka_unit_test(test_blocks_larger_than_the_backend_s_units),
		cmocka_unit_test(test_answer_is_truncated),
		cmocka_unit_test(test_fragmented_medium_is_walked_through),
		cmocka_unit_test(test_all_is_mapped_when_nothing_is_known),
		cmocka_unit_test(test_all_is_mapped_when_fully_provisioned),
		cmocka_unit_test(test_long_run),
		cmocka_unit_test(test_address_off_the_medium),
		cmocka_unit_test(test_error_of_the_backend),
		cmocka_unit_test(test_prefetch),
		cmocka_unit_test(test_prefetch_of_more_than_32_bits_of_blocks),
		cmocka_unit_test(test_prefetch_at_the_end),
		cmocka_unit_test(test_prefetch_that_fails_or_is_not_there),
	};

	return run_unit_tests(tests);
}
