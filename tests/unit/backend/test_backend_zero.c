/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Zeroing and discarding ranges of a file: which way is taken, and what is left when ways are shut.
 */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FILE_BYTES = 4 * 1024 * 1024,
	RANGE_OFFSET = 64 * 1024,
	RANGE_BYTES = 128 * 1024,
	ODD_OFFSET = RANGE_OFFSET + 513,
	ODD_BYTES = 2 * 1024 * 1024 + 777, /* more than one call writes */
};

static const int unsupported[] = { EOPNOTSUPP, ENOSYS, ENOTTY };
static const int unfit[] = { EINVAL, EBUSY, EREMOTEIO };
static const int failures[] = { EIO, ENOSPC, EDQUOT, EPERM, ETXTBSY };

static int setup(void **state)
{
	struct fixture *fixture;

	if (fixture_setup(state))
		return -1;
	fixture = *state;
	fixture_make_file(fixture->path, FILE_BYTES);
	fixture_open(fixture, &tcmu_ext_backend_file, FILE_BYTES);
	return 0;
}

static void check_zeroed(const struct fixture *fixture, uint64_t offset, size_t bytes)
{
	fixture_check_file(fixture->path, 0, offset);
	fixture_check_file_zero(fixture->path, offset, bytes);
	fixture_check_file(fixture->path, offset + bytes, FILE_BYTES - offset - bytes);
}

static void check_counters(struct fixture *fixture, uint64_t punch_hole, uint64_t zero_range,
			   uint64_t written)
{
	struct tcmu_ext_backend_counters counters = backend_counters(fixture);

	assert_int_equal(counters.punch_hole, punch_hole);
	assert_int_equal(counters.zero_range, zero_range);
	assert_int_equal(counters.written, written);
	assert_int_equal(counters.blkzeroout, 0);
	assert_int_equal(counters.blkdiscard, 0);
}

static uint64_t allocated_bytes(const struct fixture *fixture)
{
	struct stat status;
	int failed = stat(fixture->path, &status);

	assert_int_equal(failed, 0);
	return (uint64_t)status.st_blocks * 512;
}

static void test_unmapping_punches_a_hole(void **state)
{
	struct fixture *fixture = *state;
	uint64_t before;

	assert_int_equal(backend_flush(fixture), 0); /* so that blocks are allocated */
	before = allocated_bytes(fixture);
	shim_forget_records();
	assert_int_equal(
		backend_write_zeroes(fixture, RANGE_OFFSET, RANGE_BYTES, TCMU_EXT_IO_UNMAP), 0);
	assert_int_equal(shim_count(SHIM_PUNCH_HOLE), 1);
	assert_int_equal(shim_count_all(), 1);
	assert_int_equal(shim_record(SHIM_PUNCH_HOLE, 0)->flags,
			 FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
	check_zeroed(fixture, RANGE_OFFSET, RANGE_BYTES);
	check_counters(fixture, 1, 0, 0);
	assert_true(allocated_bytes(fixture) <= before - RANGE_BYTES);
	assert_int_equal(fixture_file_bytes(fixture->path), FILE_BYTES);
}

static void test_zeroes_that_stay_allocated_are_not_punched(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(backend_write_zeroes(fixture, RANGE_OFFSET, RANGE_BYTES, 0), 0);
	assert_int_equal(shim_count(SHIM_PUNCH_HOLE), 0);
	assert_int_equal(shim_count(SHIM_ZERO_RANGE), 1);
	assert_int_equal(shim_record(SHIM_ZERO_RANGE, 0)->flags, FALLOC_FL_ZERO_RANGE);
	check_zeroed(fixture, RANGE_OFFSET, RANGE_BYTES);
	assert_int_equal(backend_flush(fixture), 0);
	assert_true(allocated_bytes(fixture) >= FILE_BYTES);
}

static void test_a_way_that_works_ends_it(void **state)
{
	struct fixture *fixture = *state;

	shim_always(SHIM_ZERO_RANGE, SHIM_NOTHING);
	assert_int_equal(backend_write_zeroes(fixture, RANGE_OFFSET, RANGE_BYTES, 0), 0);
	assert_int_equal(shim_count_all(), 1);
	check_counters(fixture, 0, 1, 0);
	assert_int_equal(shim_record(SHIM_ZERO_RANGE, 0)->offset, RANGE_OFFSET);
	assert_int_equal(shim_record(SHIM_ZERO_RANGE, 0)->bytes, RANGE_BYTES);
}

static void test_a_way_that_is_unsupported_is_not_tried_again(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_COUNT(unsupported); i++) {
		fixture_open(fixture, &tcmu_ext_backend_file, FILE_BYTES);
		shim_always(SHIM_PUNCH_HOLE, -unsupported[i]);
		shim_always(SHIM_ZERO_RANGE, SHIM_NOTHING);
		for (int j = 0; j < 3; j++)
			assert_int_equal(backend_write_zeroes(fixture, 0, 4096, TCMU_EXT_IO_UNMAP),
					 0);
		assert_int_equal(shim_count(SHIM_PUNCH_HOLE), 1);
		check_counters(fixture, 0, 3, 0);
		shim_always(SHIM_ZERO_RANGE, -unsupported[i]);
		shim_forget_records();
		for (int j = 0; j < 3; j++)
			assert_int_equal(
				backend_write_zeroes(fixture, 0, 4096, j ? 0 : TCMU_EXT_IO_UNMAP),
				0);
		assert_int_equal(shim_count(SHIM_PUNCH_HOLE), 0);
		assert_int_equal(shim_count(SHIM_ZERO_RANGE), 1);
		assert_int_equal(shim_count(SHIM_PWRITEV2), 3);
		check_counters(fixture, 0, 3, 3);
		shim_always(SHIM_PUNCH_HOLE, SHIM_PASS);
	}
	check_zeroed(fixture, 0, 4096);
}

static void test_a_way_that_does_not_fit_a_range_is_tried_for_the_next(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_COUNT(unfit); i++) {
		shim_script(SHIM_PUNCH_HOLE, -unfit[i]);
		shim_script(SHIM_ZERO_RANGE, -unfit[i]);
		shim_forget_records();
		assert_int_equal(backend_write_zeroes(fixture, 0, 4096, TCMU_EXT_IO_UNMAP), 0);
		assert_int_equal(shim_count(SHIM_PWRITEV2), 1);
		assert_int_equal(backend_write_zeroes(fixture, 0, 4096, TCMU_EXT_IO_UNMAP), 0);
		assert_int_equal(shim_count(SHIM_PUNCH_HOLE), 2);
		assert_int_equal(shim_count(SHIM_ZERO_RANGE), 1);
		assert_int_equal(shim_count(SHIM_PWRITEV2), 1);
		check_counters(fixture, i + 1, 0, i + 1);
	}
	check_zeroed(fixture, 0, 4096);
}

static void test_failures_are_returned_at_once(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_COUNT(failures); i++) {
		shim_script(SHIM_PUNCH_HOLE, -failures[i], -failures[i]);
		shim_script(SHIM_ZERO_RANGE, -failures[i]);
		shim_forget_records();
		assert_int_equal(backend_write_zeroes(fixture, 0, 4096, TCMU_EXT_IO_UNMAP),
				 -failures[i]);
		assert_int_equal(backend_discard(fixture, 0, 4096), -failures[i]);
		assert_int_equal(shim_count_all(), 2);
		assert_int_equal(backend_write_zeroes(fixture, 0, 4096, 0), -failures[i]);
		assert_int_equal(shim_count_all(), 3);
	}
	check_counters(fixture, 0, 0, 0);
	fixture_check_file(fixture->path, 0, FILE_BYTES);
}

static void test_signals_interrupt_nothing(void **state)
{
	struct fixture *fixture = *state;

	shim_script(SHIM_PUNCH_HOLE, -EINTR, -EINTR);
	assert_int_equal(
		backend_write_zeroes(fixture, RANGE_OFFSET, RANGE_BYTES, TCMU_EXT_IO_UNMAP), 0);
	assert_int_equal(shim_count(SHIM_PUNCH_HOLE), 3);
	check_zeroed(fixture, RANGE_OFFSET, RANGE_BYTES);
	check_counters(fixture, 1, 0, 0);
}

static void shut_all_ways(void)
{
	shim_always(SHIM_PUNCH_HOLE, -EOPNOTSUPP);
	shim_always(SHIM_ZERO_RANGE, -EOPNOTSUPP);
}

static void test_zeroes_are_written_where_nothing_else_works(void **state)
{
	struct fixture *fixture = *state;

	shut_all_ways();
	shim_script(SHIM_PWRITEV2, 1000, -EINTR, 5000);
	assert_int_equal(backend_write_zeroes(fixture, ODD_OFFSET, ODD_BYTES, 0), 0);
	assert_int_equal(shim_count(SHIM_FDATASYNC), 0);
	assert_int_equal(shim_count(SHIM_ALLOCATE_MEMORY), 0);
	check_zeroed(fixture, ODD_OFFSET, ODD_BYTES);
	check_counters(fixture, 0, 0, 1);

	/* The third call writes what the first two left. */
	shim_script(SHIM_PWRITEV2, SHIM_PASS, SHIM_PASS, -ENOSPC);
	assert_int_equal(backend_write_zeroes(fixture, ODD_OFFSET, ODD_BYTES, TCMU_EXT_IO_UNMAP),
			 -ENOSPC);
	check_counters(fixture, 0, 0, 1);
}

static void test_odd_ranges(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(backend_write_zeroes(fixture, ODD_OFFSET, 300, 0), 0);
	check_zeroed(fixture, ODD_OFFSET, 300);
	assert_int_equal(backend_write_zeroes(fixture, ODD_OFFSET, 5000, TCMU_EXT_IO_UNMAP), 0);
	check_zeroed(fixture, ODD_OFFSET, 5000);
	shim_forget_records();
	assert_int_equal(backend_write_zeroes(fixture, ODD_OFFSET, 0, 0), 0);
	assert_int_equal(backend_discard(fixture, ODD_OFFSET, 0), 0);
	assert_int_equal(shim_count_all(), 0);
}

static void test_a_file_that_was_cut_short(void **state)
{
	struct fixture *fixture = *state;
	char memory[8192];
	size_t done;

	assert_int_equal(truncate(fixture->path, RANGE_OFFSET + 100), 0);
	assert_int_equal(
		backend_write_zeroes(fixture, RANGE_OFFSET, RANGE_BYTES, TCMU_EXT_IO_UNMAP), 0);
	assert_int_equal(fixture_file_bytes(fixture->path), RANGE_OFFSET + 100);
	assert_int_equal(backend_read(fixture, memory, RANGE_OFFSET, sizeof(memory), &done), 0);
	for (size_t i = 0; i < sizeof(memory); i++)
		assert_int_equal(memory[i], 0);
	/* What is to stay allocated is made, as a write would make it. */
	assert_int_equal(backend_write_zeroes(fixture, RANGE_OFFSET, RANGE_BYTES, 0), 0);
	assert_int_equal(fixture_file_bytes(fixture->path), RANGE_OFFSET + RANGE_BYTES);
	fixture_check_file(fixture->path, 0, RANGE_OFFSET);
	fixture_check_file_zero(fixture->path, RANGE_OFFSET, RANGE_BYTES);
}

static void test_discarding(void **state)
{
	struct fixture *fixture = *state;
	const struct tcmu_ext_backend_properties *properties =
		tcmu_ext_backend_properties(fixture->backend);

	assert_true(properties->discard_granularity_bytes >= 512);
	assert_int_equal(properties->discard_alignment_bytes, 0);
	assert_true(properties->discard_reads_zero);
	assert_int_equal(backend_discard(fixture, RANGE_OFFSET, RANGE_BYTES), 0);
	assert_int_equal(shim_count_all(), 1);
	check_zeroed(fixture, RANGE_OFFSET, RANGE_BYTES);
	check_counters(fixture, 1, 0, 0);
	/* As zeroes are promised, blocks discarded in part become zero in that part. */
	assert_int_equal(backend_discard(fixture, ODD_OFFSET, ODD_BYTES), 0);
	check_zeroed(fixture, RANGE_OFFSET, ODD_OFFSET + ODD_BYTES - RANGE_OFFSET);
}

static void test_the_promise_of_zeroes_is_kept(void **state)
{
	struct fixture *fixture = *state;

	shut_all_ways();
	assert_int_equal(backend_discard(fixture, RANGE_OFFSET, RANGE_BYTES), 0);
	check_zeroed(fixture, RANGE_OFFSET, RANGE_BYTES);
	check_counters(fixture, 0, 0, 1);
}

static void test_the_probe_changes_nothing(void **state)
{
	struct fixture *fixture = *state;
	const struct shim_record *record;

	fixture_close(fixture);
	shim_forget_records();
	assert_int_equal(
		tcmu_ext_backend_open(&tcmu_ext_backend_file, &fixture->config, &fixture->backend),
		0);
	assert_int_equal(shim_count(SHIM_PUNCH_HOLE), 1);
	record = shim_record(SHIM_PUNCH_HOLE, 0);
	assert_int_equal(record->flags, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
	assert_true(record->offset >= FILE_BYTES);
	assert_int_equal(fixture_file_bytes(fixture->path), FILE_BYTES);
	fixture_check_file(fixture->path, 0, FILE_BYTES);
	check_counters(fixture, 0, 0, 0);
}

static void test_without_holes_there_is_no_discard(void **state)
{
	struct fixture *fixture = *state;
	const struct tcmu_ext_backend_properties *properties;

	fixture_close(fixture);
	shim_script(SHIM_PUNCH_HOLE, -EOPNOTSUPP);
	fixture_open(fixture, &tcmu_ext_backend_file, FILE_BYTES);
	properties = tcmu_ext_backend_properties(fixture->backend);
	assert_int_equal(properties->discard_granularity_bytes, 0);
	assert_false(properties->discard_reads_zero);
	assert_int_equal(backend_discard(fixture, 0, 4096), -EOPNOTSUPP);
	fixture_check_file(fixture->path, 0, FILE_BYTES);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_unmapping_punches_a_hole),
		TEST(test_zeroes_that_stay_allocated_are_not_punched),
		TEST(test_a_way_that_works_ends_it),
		TEST(test_a_way_that_is_unsupported_is_not_tried_again),
		TEST(test_a_way_that_does_not_fit_a_range_is_tried_for_the_next),
		TEST(test_failures_are_returned_at_once),
		TEST(test_signals_interrupt_nothing),
		TEST(test_zeroes_are_written_where_nothing_else_works),
		TEST(test_odd_ranges),
		TEST(test_a_file_that_was_cut_short),
		TEST(test_discarding),
		TEST(test_the_promise_of_zeroes_is_kept),
		TEST(test_the_probe_changes_nothing),
		TEST(test_without_holes_there_is_no_discard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
