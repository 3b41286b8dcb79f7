/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* READ and WRITE (6), (10), (12) and (16): the data, whatever the buffers look like. */
#include "cmocka_test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "disk_fixture.h"

static const uint8_t reads[] = { TCMU_EXT_READ_6, TCMU_EXT_READ_10, TCMU_EXT_READ_12,
				 TCMU_EXT_READ_16 };
static const uint8_t writes[] = { TCMU_EXT_WRITE_6, TCMU_EXT_WRITE_10, TCMU_EXT_WRITE_12,
				  TCMU_EXT_WRITE_16 };

static const struct {
	uint64_t lba;
	uint32_t blocks;
} transfers[] = { { 0, 1 }, { 127, 1 }, { 5, 3 }, { 1, 16 }, { 120, 8 } };

static struct disk_setup large_blocks(void)
{
	struct disk_setup setup = disk_setup_default;

	setup.block_bytes = 4096;
	return setup;
}

static void read_with_every_cut(struct disk_fixture *fixture, struct cdb cdb, uint64_t lba,
				uint32_t blocks, size_t spare_bytes)
{
	size_t bytes = (size_t)blocks * fixture->block_bytes;

	for (size_t cut = 0; cut < disk_cut_count; cut++) {
		/* One byte a segment is too many segments for the largest of them. */
		if (cut == disk_cut_count - 1 && bytes > 4096)
			continue;
		expect_good(fixture,
			    disk_data_in(fixture, cdb, bytes + spare_bytes, disk_cuts[cut]));
		check(!memcmp(fixture->data, fixture->memory.medium + lba * fixture->block_bytes,
			      bytes),
		      "operation %02x, LBA %" PRIu64 ", %" PRIu32 " blocks, cut %zu", cdb.bytes[0],
		      lba, blocks, cut);
		for (size_t i = bytes; i < fixture->data_bytes; i++)
			check(!fixture->data[i], "byte %zu beyond the answer is not cleared", i);
	}
}

static void read_all_ways(const struct disk_setup *setup)
{
	struct disk_fixture fixture;

	disk_fixture_open(&fixture, setup);
	disk_fixture_fill_medium(&fixture);
	for (size_t i = 0; i < ARRAY_COUNT(reads); i++)
		for (size_t j = 0; j < ARRAY_COUNT(transfers); j++) {
			struct cdb cdb =
				cdb_blocks(reads[i], transfers[j].lba, transfers[j].blocks);

			read_with_every_cut(&fixture, cdb, transfers[j].lba, transfers[j].blocks,
					    0);
			read_with_every_cut(&fixture, cdb, transfers[j].lba, transfers[j].blocks,
					    700);
		}
	assert_int_equal(fixture.memory.counts[MEMORY_WRITE], 0);
	disk_fixture_close(&fixture);
}

static void test_read_returns_the_medium(void **state)
{
	const struct disk_setup setup = large_blocks();

	(void)state;
	read_all_ways(&disk_setup_default);
	read_all_ways(&setup);
}

/* Writes once and compares the whole medium: what was not addressed must not change. */
static void write_once(struct disk_fixture *fixture, struct cdb cdb, uint64_t lba, uint32_t blocks,
		       size_t spare_bytes, const size_t *cut)
{
	size_t bytes = (size_t)blocks * fixture->block_bytes;
	size_t medium_bytes = (size_t)fixture->blocks * fixture->block_bytes;
	uint8_t *data = disk_fixture_new_data(bytes + spare_bytes);
	uint8_t *model = malloc(medium_bytes);

	disk_fixture_fill_medium(fixture);
	memcpy(model, fixture->memory.medium, medium_bytes);
	memcpy(model + lba * fixture->block_bytes, data, bytes);
	memory_backend_forget_calls(&fixture->memory);
	expect_good(fixture, disk_data_out(fixture, cdb, data, bytes + spare_bytes, cut));
	check(!memcmp(fixture->memory.medium, model, medium_bytes),
	      "operation %02x, LBA %" PRIu64 ", %" PRIu32 " blocks", cdb.bytes[0], lba, blocks);
	/* One system call for one command. */
	assert_int_equal(memory_backend_calls(&fixture->memory), 1);
	free(data);
	free(model);
}

static void write_all_ways(const struct disk_setup *setup)
{
	struct disk_fixture fixture;

	disk_fixture_open(&fixture, setup);
	for (size_t i = 0; i < ARRAY_COUNT(writes); i++)
		for (size_t j = 0; j < ARRAY_COUNT(transfers); j++)
			for (size_t cut = 0; cut < disk_cut_count; cut++) {
				uint64_t lba = transfers[j].lba;
				uint32_t blocks = transfers[j].blocks;
				struct cdb cdb = cdb_blocks(writes[i], lba, blocks);

				if (cut == disk_cut_count - 1 &&
				    blocks * fixture.block_bytes > 4096)
					continue;
				write_once(&fixture, cdb, lba, blocks, 0, disk_cuts[cut]);
				write_once(&fixture, cdb, lba, blocks, 700, disk_cuts[cut]);
			}
	disk_fixture_close(&fixture);
}

static void test_write_changes_what_it_addresses_and_no_more(void **state)
{
	const struct disk_setup setup = large_blocks();

	(void)state;
	write_all_ways(&disk_setup_default);
	write_all_ways(&setup);
}

static void test_length_zero_of_the_6_byte_commands_is_256(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.blocks = 300;
	disk_fixture_open(&fixture, &setup);
	disk_fixture_fill_medium(&fixture);
	read_with_every_cut(&fixture, cdb_blocks(TCMU_EXT_READ_6, 44, 0), 44, 256, 0);
	write_once(&fixture, cdb_blocks(TCMU_EXT_WRITE_6, 44, 0), 44, 256, 0, disk_cuts[0]);
	expect_out_of_range(&fixture, disk_data_in(&fixture, cdb_blocks(TCMU_EXT_READ_6, 45, 0),
						   256 * 512, disk_cuts[0]));
	disk_fixture_close(&fixture);
}

static void test_length_zero_of_the_others_is_nothing(void **state)
{
	struct disk_fixture fixture;
	uint8_t data[512];

	(void)state;
	memset(data, 0xff, sizeof(data));
	disk_fixture_open(&fixture, &disk_setup_default);
	disk_fixture_fill_medium(&fixture);
	for (size_t i = 1; i < ARRAY_COUNT(reads); i++) {
		expect_good(&fixture, disk_command(&fixture, cdb_blocks(reads[i], 3, 0)));
		expect_good(&fixture,
			    disk_data_in(&fixture, cdb_blocks(reads[i], 3, 0), 512, disk_cuts[0]));
		for (size_t byte = 0; byte < 512; byte++)
			assert_int_equal(fixture.data[byte], 0);
		expect_good(&fixture, disk_command(&fixture, cdb_blocks(writes[i], 127, 0)));
		expect_good(&fixture, disk_data_out(&fixture, cdb_blocks(writes[i], 0, 0), data,
						    sizeof(data), disk_cuts[0]));
	}
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	disk_fixture_close(&fixture);
}

/* Where a CDB has its TRANSFER LENGTH: what field pointers to it name. */
static int length_byte(uint8_t operation_code)
{
	static const int bytes[] = { [6] = 4, [10] = 7, [12] = 6, [16] = 10 };

	return bytes[cdb_make(operation_code).count];
}

/* A transfer longer than the buffers: an initiator and a transport at odds, nothing is moved. */
static void test_buffer_too_small_is_refused(void **state)
{
	static const size_t offered[] = { 0, 1, 511, 512, 1023 };
	struct disk_fixture fixture;
	uint8_t *data = disk_fixture_new_data(1024);

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	disk_fixture_fill_medium(&fixture);
	for (size_t i = 0; i < ARRAY_COUNT(reads); i++)
		for (size_t j = 0; j < ARRAY_COUNT(offered); j++) {
			expect_invalid_field(&fixture,
					     disk_data_in(&fixture, cdb_blocks(reads[i], 0, 2),
							  offered[j], disk_cuts[2]),
					     length_byte(reads[i]), -1);
			expect_invalid_field(&fixture,
					     disk_data_out(&fixture, cdb_blocks(writes[i], 0, 2),
							   data, offered[j], disk_cuts[2]),
					     length_byte(writes[i]), -1);
		}
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	free(data);
	disk_fixture_close(&fixture);
}

static void expect_transfer_refused(struct disk_fixture *fixture, uint32_t blocks)
{
	size_t bytes = (size_t)blocks * fixture->block_bytes;
	uint8_t *data = disk_fixture_new_data(bytes);

	for (size_t i = 1; i < ARRAY_COUNT(reads); i++) {
		expect_sense(
			fixture,
			disk_data_in(fixture, cdb_blocks(reads[i], 1, blocks), bytes, disk_cuts[0]),
			TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_CDB);
		expect_sense(fixture,
			     disk_data_out(fixture, cdb_blocks(writes[i], 1, blocks), data, bytes,
					   disk_cuts[0]),
			     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_CDB);
	}
	assert_int_equal(memory_backend_calls(&fixture->memory), 0);
	free(data);
}

static void test_more_than_the_maximum_transfer_length_is_refused(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.blocks = 5000;
	setup.disk.maximum_transfer_blocks = 1000;
	disk_fixture_open(&fixture, &setup);
	expect_transfer_refused(&fixture, 1001);
	write_once(&fixture, cdb_blocks(TCMU_EXT_WRITE_10, 1, 1000), 1, 1000, 0, disk_cuts[1]);
	read_with_every_cut(&fixture, cdb_blocks(TCMU_EXT_READ_16, 1, 1000), 1, 1000, 0);
	disk_fixture_close(&fixture);

	/* Without one given it is 1 MiB. */
	setup.disk.maximum_transfer_blocks = 0;
	disk_fixture_open(&fixture, &setup);
	expect_transfer_refused(&fixture, 2049);
	write_once(&fixture, cdb_blocks(TCMU_EXT_WRITE_12, 7, 2048), 7, 2048, 0, disk_cuts[1]);
	disk_fixture_close(&fixture);

	setup.block_bytes = 4096;
	disk_fixture_open(&fixture, &setup);
	expect_transfer_refused(&fixture, 257);
	write_once(&fixture, cdb_blocks(TCMU_EXT_WRITE_12, 7, 256), 7, 256, 0, disk_cuts[1]);
	disk_fixture_close(&fixture);
}

static void test_commands_and_bytes_are_counted(void **state)
{
	struct tcmu_ext_disk_counters counters;
	struct disk_fixture fixture;
	uint8_t *data = disk_fixture_new_data(2048);

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	tcmu_ext_disk_get_counters(fixture.disk, &counters, sizeof(counters));
	assert_memory_equal(&counters, &(struct tcmu_ext_disk_counters){ 0 }, sizeof(counters));
	for (uint32_t i = 1; i <= 3; i++)
		disk_data_in(&fixture, cdb_blocks(TCMU_EXT_READ_10, 0, i), i * 512, disk_cuts[0]);
	disk_data_out(&fixture, cdb_blocks(TCMU_EXT_WRITE_16, 0, 4), data, 2048, disk_cuts[0]);
	disk_command(&fixture, cdb_make(TCMU_EXT_SYNCHRONIZE_CACHE_10));
	disk_command(&fixture, cdb_make(TCMU_EXT_TEST_UNIT_READY));
	disk_command(&fixture, cdb_make(0xff)); /* somebody else's */
	/* Those that fail move no bytes. */
	memory_backend_fail(&fixture.memory, MEMORY_READ, EIO, 512);
	disk_data_in(&fixture, cdb_blocks(TCMU_EXT_READ_6, 0, 4), 2048, disk_cuts[0]);
	memory_backend_fail(&fixture.memory, MEMORY_WRITE, EIO, 512);
	disk_data_out(&fixture, cdb_blocks(TCMU_EXT_WRITE_6, 0, 4), data, 2048, disk_cuts[0]);
	tcmu_ext_disk_get_counters(fixture.disk, &counters, sizeof(counters));
	assert_int_equal(counters.check_conditions, 2);
	assert_int_equal(counters.read_commands, 4);
	assert_int_equal(counters.read_bytes, 6 * 512);
	assert_int_equal(counters.write_commands, 2);
	assert_int_equal(counters.write_bytes, 2048);
	assert_true(counters.commands == 8 || counters.commands == 9);
	assert_int_equal(counters.flush_commands, 1);
	free(data);
	disk_fixture_close(&fixture);
}

/* A caller compiled against another header gets the counters both know, and no byte more. */
static void test_counters_are_copied_as_far_as_both_know_them(void **state)
{
	struct disk_fixture fixture;
	uint64_t counters[2] = { UINT64_MAX, UINT64_MAX };
	struct {
		struct tcmu_ext_disk_counters known;
		uint64_t unknown;
	} newer;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	tcmu_ext_disk_get_counters(fixture.disk, (struct tcmu_ext_disk_counters *)counters,
				   sizeof(counters[0]));
	assert_true(counters[0] == 0);
	assert_true(counters[1] == UINT64_MAX);
	memset(&newer, 0xff, sizeof(newer));
	tcmu_ext_disk_get_counters(fixture.disk, &newer.known, sizeof(newer));
	assert_true(newer.known.flush_commands == 0);
	assert_true(newer.unknown == 0);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_returns_the_medium),
		cmocka_unit_test(test_write_changes_what_it_addresses_and_no_more),
		cmocka_unit_test(test_length_zero_of_the_6_byte_commands_is_256),
		cmocka_unit_test(test_length_zero_of_the_others_is_nothing),
		cmocka_unit_test(test_buffer_too_small_is_refused),
		cmocka_unit_test(test_more_than_the_maximum_transfer_length_is_refused),
		cmocka_unit_test(test_commands_and_bytes_are_counted),
		cmocka_unit_test(test_counters_are_copied_as_far_as_both_know_them),
	};

	return run_unit_tests(tests);
}
