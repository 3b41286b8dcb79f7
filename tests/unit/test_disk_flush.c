/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Durability: SYNCHRONIZE CACHE (SBC-3 5.23, 5.24), FUA and the write cache. What a command
 * promised to be on the medium is compared with what a loss of power would leave there.
 */
#include "cmocka_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disk_fixture.h"

enum { FUA = 0x08, DPO = 0x10, IMMED = 0x02 };

static const uint8_t flushes[] = { TCMU_EXT_SYNCHRONIZE_CACHE_10, TCMU_EXT_SYNCHRONIZE_CACHE_16 };
static const uint8_t writes[] = { TCMU_EXT_WRITE_6, TCMU_EXT_WRITE_10, TCMU_EXT_WRITE_12,
				  TCMU_EXT_WRITE_16 };
static const uint8_t reads[] = { TCMU_EXT_READ_6, TCMU_EXT_READ_10, TCMU_EXT_READ_12,
				 TCMU_EXT_READ_16 };

static bool everything_is_durable(const struct disk_fixture *fixture)
{
	return !memcmp(fixture->memory.medium, fixture->memory.durable,
		       fixture->memory.window_bytes);
}

static enum tcmu_ext_status write_block(struct disk_fixture *fixture, struct cdb cdb)
{
	uint8_t *data = disk_fixture_new_data(512);
	enum tcmu_ext_status status = disk_data_out(fixture, cdb, data, 512, disk_cuts[2]);

	free(data);
	return status;
}

static enum tcmu_ext_status write_at(struct disk_fixture *fixture, uint64_t lba)
{
	return write_block(fixture, cdb_blocks(TCMU_EXT_WRITE_10, lba, 1));
}

static enum tcmu_ext_status flush(struct disk_fixture *fixture)
{
	return disk_command(fixture, cdb_make(TCMU_EXT_SYNCHRONIZE_CACHE_10));
}

static void test_flush_makes_writes_durable(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(flushes); i++) {
		disk_fixture_fill_medium(&fixture);
		expect_good(&fixture, write_at(&fixture, 3));
		assert_false(everything_is_durable(&fixture));
		expect_good(&fixture, disk_command(&fixture, cdb_make(flushes[i])));
		assert_true(everything_is_durable(&fixture));
		assert_int_equal(fixture.memory.counts[MEMORY_FLUSH], i + 1);
	}
	disk_fixture_close(&fixture);
}

/* A range and IMMED are taken; a file system that relies on them is served by more than it asks. */
static void test_flush_of_a_range(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(flushes); i++) {
		expect_good(&fixture, write_at(&fixture, 5));
		expect_good(&fixture, disk_command(&fixture, cdb_blocks(flushes[i], 5, 1)));
		assert_true(everything_is_durable(&fixture));
		expect_good(&fixture, disk_command(&fixture, cdb_blocks(flushes[i], 0, 128)));
		expect_good(&fixture, disk_command(&fixture, cdb_blocks(flushes[i], 127, 0)));
		expect_good(&fixture,
			    disk_command(&fixture, cdb_with(cdb_make(flushes[i]), 1, IMMED)));
		memory_backend_forget_calls(&fixture.memory);
		expect_out_of_range(&fixture,
				    disk_command(&fixture, cdb_blocks(flushes[i], 127, 2)));
		expect_out_of_range(&fixture,
				    disk_command(&fixture, cdb_blocks(flushes[i], 129, 0)));
		expect_out_of_range(&fixture,
				    disk_command(&fixture, cdb_blocks(flushes[i], UINT32_MAX, 1)));
		assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	}
	expect_out_of_range(&fixture,
			    disk_command(&fixture, cdb_blocks(flushes[1], UINT64_MAX, 2)));
	disk_fixture_close(&fixture);
}

static void test_force_unit_access_makes_a_write_durable(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 1; i < ARRAY_COUNT(writes); i++) {
		disk_fixture_fill_medium(&fixture);
		memory_backend_forget_calls(&fixture.memory);
		expect_good(&fixture,
			    write_block(&fixture, cdb_with(cdb_blocks(writes[i], 9, 1), 1, FUA)));
		assert_int_equal(fixture.memory.call_count, 1);
		assert_int_equal(fixture.memory.calls[0].flags, TCMU_EXT_IO_DURABLE);
		assert_true(everything_is_durable(&fixture));
		/* DPO alone asks for no such thing. */
		memory_backend_forget_calls(&fixture.memory);
		expect_good(&fixture,
			    write_block(&fixture, cdb_with(cdb_blocks(writes[i], 9, 1), 1, DPO)));
		assert_int_equal(fixture.memory.calls[0].flags, 0);
	}
	disk_fixture_close(&fixture);
}

/* The bits of FUA and DPO are address bits in the 6-byte commands. */
static void test_6_byte_address_is_no_force_unit_access(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.blocks = 0x200000;
	setup.memory.window_offset = UINT64_C(0x180000) * 512;
	setup.memory.window_bytes = 512;
	disk_fixture_open(&fixture, &setup);
	expect_good(&fixture, write_block(&fixture, cdb_blocks(TCMU_EXT_WRITE_6, 0x180000, 1)));
	assert_int_equal(fixture.memory.calls[0].flags, 0);
	memory_backend_forget_calls(&fixture.memory);
	expect_good(&fixture, disk_data_in(&fixture, cdb_blocks(TCMU_EXT_READ_6, 0x180000, 1), 512,
					   disk_cuts[0]));
	assert_int_equal(fixture.memory.counts[MEMORY_FLUSH], 0);
	disk_fixture_close(&fixture);
}

/* SBC-3 5.11: a FUA read returns what is on the medium, so what is newer must be there by then. */
static void test_force_unit_access_of_a_read(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	disk_fixture_fill_medium(&fixture);
	for (size_t i = 1; i < ARRAY_COUNT(reads); i++) {
		expect_good(&fixture, write_at(&fixture, 20 + i));
		expect_good(&fixture,
			    disk_data_in(&fixture,
					 cdb_with(cdb_blocks(reads[i], 20 + i, 1), 1, FUA), 512,
					 disk_cuts[0]));
		assert_memory_equal(fixture.data, fixture.memory.durable + (20 + i) * 512, 512);
		assert_true(everything_is_durable(&fixture));
	}
	/* Without it a read flushes nothing. */
	memory_backend_forget_calls(&fixture.memory);
	expect_good(&fixture, disk_data_in(&fixture, cdb_with(cdb_blocks(reads[1], 0, 1), 1, DPO),
					   512, disk_cuts[0]));
	assert_int_equal(memory_backend_calls(&fixture.memory), 1);
	disk_fixture_close(&fixture);
}

static void test_without_write_cache_every_write_is_durable(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.disk.write_cache = false;
	disk_fixture_open(&fixture, &setup);
	assert_false(tcmu_ext_disk_get_write_cache(fixture.disk));
	for (size_t i = 0; i < ARRAY_COUNT(writes); i++) {
		disk_fixture_fill_medium(&fixture);
		memory_backend_forget_calls(&fixture.memory);
		expect_good(&fixture, write_block(&fixture, cdb_blocks(writes[i], 9, 1)));
		assert_int_equal(memory_backend_calls(&fixture.memory), 1);
		assert_int_equal(fixture.memory.calls[0].flags, TCMU_EXT_IO_DURABLE);
		assert_true(everything_is_durable(&fixture));
	}
	disk_fixture_close(&fixture);
}

/* SBC-3 6.5.5: when the cache goes off, what it held is on the medium. */
static void test_turning_the_cache_off_flushes_first(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_good(&fixture, write_at(&fixture, 3));
	assert_false(everything_is_durable(&fixture));
	assert_int_equal(tcmu_ext_disk_set_write_cache(fixture.disk, false), 0);
	assert_true(everything_is_durable(&fixture));
	expect_good(&fixture, write_at(&fixture, 4));
	assert_true(everything_is_durable(&fixture));
	assert_int_equal(tcmu_ext_disk_set_write_cache(fixture.disk, true), 0);
	expect_good(&fixture, write_at(&fixture, 5));
	assert_false(everything_is_durable(&fixture));
	disk_fixture_close(&fixture);
}

static void test_cache_that_cannot_be_flushed_stays_on(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	memory_backend_fail(&fixture.memory, MEMORY_FLUSH, EIO, 0);
	assert_int_equal(tcmu_ext_disk_set_write_cache(fixture.disk, false), -EIO);
	assert_true(tcmu_ext_disk_get_write_cache(fixture.disk));
	disk_fixture_close(&fixture);
}

/*
 * The kernel reports a failed write-back once and then forgets the pages: a second fsync() says
 * that all is well. Whoever acknowledged those writes must not.
 */
static void test_failed_flush_is_never_good_again(void **state)
{
	struct disk_fixture fixture;
	uint8_t sense[TCMU_EXT_SENSE_BYTES];
	struct tcmu_ext_command command = { .sense = sense, .sense_bytes = sizeof(sense) };

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_good(&fixture, write_at(&fixture, 3));
	memory_backend_fail(&fixture.memory, MEMORY_FLUSH, EIO, 0);
	expect_sense(&fixture, flush(&fixture), TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR);
	assert_int_equal(fixture.messages, 1);
	for (size_t i = 0; i < 10; i++) {
		expect_sense(&fixture, disk_command(&fixture, cdb_make(flushes[i % 2])),
			     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR);
		assert_int_equal(tcmu_ext_disk_flush(fixture.disk, &command),
				 TCMU_EXT_STATUS_CHECK_CONDITION);
		assert_int_equal(sense[2], TCMU_EXT_MEDIUM_ERROR);
		assert_true(tcmu_ext_disk_set_write_cache(fixture.disk, false) < 0);
	}
	assert_int_equal(fixture.messages, 1);
	/* Reads and writes go on: the data there is may still be saved. */
	expect_good(&fixture, write_at(&fixture, 4));
	expect_good(&fixture,
		    disk_data_in(&fixture, cdb_blocks(TCMU_EXT_READ_10, 4, 1), 512, disk_cuts[0]));
	disk_fixture_close(&fixture);
}

/* What cannot be brought to the medium cannot be read from there. */
static void test_force_unit_access_of_a_read_after_a_failed_flush(void **state)
{
	struct disk_fixture fixture;
	struct cdb cdb = cdb_with(cdb_blocks(TCMU_EXT_READ_10, 3, 1), 1, FUA);

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_good(&fixture, write_at(&fixture, 3));
	memory_backend_fail(&fixture.memory, MEMORY_FLUSH, EIO, 0);
	expect_sense(&fixture, disk_data_in(&fixture, cdb, 512, disk_cuts[0]),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR);
	assert_int_equal(fixture.memory.counts[MEMORY_READ], 0);
	disk_fixture_close(&fixture);
}

/* Written, but not made durable: the same loss as that of a flush. */
static void test_durable_write_that_fails_at_its_end_is_a_failed_flush(void **state)
{
	struct disk_fixture fixture;
	struct cdb cdb = cdb_with(cdb_blocks(TCMU_EXT_WRITE_10, 9, 1), 1, FUA);

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	memory_backend_fail(&fixture.memory, MEMORY_WRITE, EIO, 512);
	expect_sense(&fixture, write_block(&fixture, cdb), TCMU_EXT_MEDIUM_ERROR,
		     TCMU_EXT_WRITE_ERROR);
	/* The log tells of the write that failed, and that no flush will succeed. */
	assert_int_equal(fixture.messages, 2);
	expect_sense(&fixture, flush(&fixture), TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR);
	assert_int_equal(fixture.messages, 2);
	disk_fixture_close(&fixture);
	/* One that fails on the way is not. */
	disk_fixture_open(&fixture, &disk_setup_default);
	memory_backend_fail(&fixture.memory, MEMORY_WRITE, EIO, 511);
	expect_sense(&fixture, write_block(&fixture, cdb), TCMU_EXT_MEDIUM_ERROR,
		     TCMU_EXT_WRITE_ERROR);
	expect_good(&fixture, flush(&fixture));
	disk_fixture_close(&fixture);
}

static void test_errors_of_a_flush(void **state)
{
	static const struct {
		int error;
		int key, additional_sense;
	} cases[] = {
		{ EIO, TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR },
		{ ENOSPC, TCMU_EXT_DATA_PROTECT, TCMU_EXT_SPACE_ALLOCATION_FAILED_WRITE_PROTECT },
		{ EDQUOT, TCMU_EXT_DATA_PROTECT, TCMU_EXT_SPACE_ALLOCATION_FAILED_WRITE_PROTECT },
		{ ENODEV, TCMU_EXT_NOT_READY, TCMU_EXT_LOGICAL_UNIT_NOT_READY },
		{ EILSEQ, TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct disk_fixture fixture;

		disk_fixture_open(&fixture, &disk_setup_default);
		memory_backend_fail(&fixture.memory, MEMORY_FLUSH, cases[i].error, 0);
		expect_sense(&fixture, flush(&fixture), cases[i].key, cases[i].additional_sense);
		assert_int_equal(flush(&fixture), TCMU_EXT_STATUS_CHECK_CONDITION);
		disk_fixture_close(&fixture);
	}
}

/* A shortage of memory loses nothing: the flush is tried again. */
static void test_flush_without_memory_is_busy(void **state)
{
	static const int errors[] = { ENOMEM, EAGAIN };
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(errors); i++) {
		enum tcmu_ext_status status;

		memory_backend_fail(&fixture.memory, MEMORY_FLUSH, errors[i], 0);
		status = flush(&fixture);
		assert_true(status == TCMU_EXT_STATUS_BUSY ||
			    status == TCMU_EXT_STATUS_TASK_SET_FULL);
		expect_good(&fixture, flush(&fixture));
	}
	disk_fixture_close(&fixture);
}

/* Nothing is flushed behind the caller's back. */
static void test_destroying_flushes_nothing(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_good(&fixture, write_at(&fixture, 3));
	tcmu_ext_disk_destroy(fixture.disk);
	fixture.disk = NULL;
	assert_int_equal(fixture.memory.counts[MEMORY_FLUSH], 0);
	disk_fixture_close(&fixture); /* and NULL is no disk to destroy */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flush_makes_writes_durable),
		cmocka_unit_test(test_flush_of_a_range),
		cmocka_unit_test(test_force_unit_access_makes_a_write_durable),
		cmocka_unit_test(test_6_byte_address_is_no_force_unit_access),
		cmocka_unit_test(test_force_unit_access_of_a_read),
		cmocka_unit_test(test_without_write_cache_every_write_is_durable),
		cmocka_unit_test(test_turning_the_cache_off_flushes_first),
		cmocka_unit_test(test_cache_that_cannot_be_flushed_stays_on),
		cmocka_unit_test(test_failed_flush_is_never_good_again),
		cmocka_unit_test(test_force_unit_access_of_a_read_after_a_failed_flush),
		cmocka_unit_test(test_durable_write_that_fails_at_its_end_is_a_failed_flush),
		cmocka_unit_test(test_errors_of_a_flush),
		cmocka_unit_test(test_flush_without_memory_is_busy),
		cmocka_unit_test(test_destroying_flushes_nothing),
	};

	return run_unit_tests(tests);
}
