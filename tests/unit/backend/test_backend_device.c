/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Data on block devices: their ends and errors, zeroes, discards, growing. */
#include "block_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
	RANGE_OFFSET = 64 * 1024,
	RANGE_BYTES = 128 * 1024,
	GROWN_BYTES = 2 * DEVICE_BYTES,
};

static void check_zeroed(const struct fixture *fixture, uint64_t offset, size_t bytes)
{
	fixture_check_file(fixture->path, 0, offset);
	fixture_check_file_zero(fixture->path, offset, bytes);
	fixture_check_file(fixture->path, offset + bytes, DEVICE_BYTES - offset - bytes);
}

/* -- ends and errors --------------------------------------------------------------------------- */

static void test_a_device_that_ends_early_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	char memory[8192];
	size_t done;

	open_device(fixture);
	assert_int_equal(truncate(fixture->path, 65536), 0);
	shim_device.bytes = 65536;
	assert_int_equal(backend_read(fixture, memory, 65536 - 4096, 8192, &done), -EIO);
	assert_int_equal(done, 4096);
	assert_int_equal(backend_read(fixture, memory, 65536, 8192, &done), -EIO);
	assert_int_equal(done, 0);
	/* The kernel's word for it, ENOSPC, would read as a file system that is full. */
	assert_int_equal(backend_write(fixture, memory, 65536, 8192, 0, &done), -EIO);
	assert_int_equal(done, 0);
	for (unsigned int flags = 0; flags <= TCMU_EXT_IO_UNMAP; flags += TCMU_EXT_IO_UNMAP) {
		assert_int_equal(backend_write_zeroes(fixture, 65536 - 4096, 8192, flags), -EIO);
		assert_int_equal(backend_write_zeroes(fixture, 65536, 8192, flags), -EIO);
	}
	assert_int_equal(backend_discard(fixture, 65536 - 4096, 8192), -EIO);
	fixture_check_file(fixture->path, 0, 65536);
}

static void test_a_device_that_is_gone(void **state)
{
	struct fixture *fixture = *state;
	char memory[512];
	size_t done;

	open_device(fixture);
	shim_device.gone = true;
	shim_always(SHIM_PREADV, -EIO);
	shim_always(SHIM_PWRITEV2, -EIO);
	assert_int_equal(backend_read(fixture, memory, 0, 512, &done), -ENXIO);
	assert_int_equal(backend_write(fixture, memory, 0, 512, 0, &done), -ENXIO);
	assert_int_equal(backend_write_zeroes(fixture, 0, 4096, 0), -ENXIO);
	assert_int_equal(backend_discard(fixture, 0, 4096), -ENXIO);
	shim_always(SHIM_PREADV, SHIM_NOTHING);
	assert_int_equal(backend_read(fixture, memory, 0, 512, &done), -ENXIO);
	shim_always(SHIM_OTHER_IOCTL, -ENODEV);
	assert_int_equal(backend_read(fixture, memory, 0, 512, &done), -ENXIO);
}

static void test_other_errors_are_the_device_s_own(void **state)
{
	static const int errors[] = { EIO, ENOSPC, ENODATA, EILSEQ, EAGAIN, ENOMEM, ETIMEDOUT };
	struct fixture *fixture = *state;
	char memory[8192];
	size_t done;

	open_device(fixture);
	for (size_t i = 0; i < ARRAY_COUNT(errors); i++) {
		shim_script(SHIM_PREADV, 512, -errors[i]);
		assert_int_equal(backend_read(fixture, memory, 0, 8192, &done), -errors[i]);
		assert_int_equal(done, 512);
		shim_script(SHIM_PWRITEV2, 512, -errors[i]);
		assert_int_equal(backend_write(fixture, memory, 0, 8192, 0, &done), -errors[i]);
		assert_int_equal(done, 512);
	}
}

static void test_a_transfer_is_one_call(void **state)
{
	struct fixture *fixture = *state;
	char memory[8192];
	size_t done;

	open_device(fixture);
	assert_int_equal(backend_read(fixture, memory, RANGE_OFFSET, 8192, &done), 0);
	assert_int_equal(shim_count_all(), 1);
	fixture_check_bytes(memory, RANGE_OFFSET, 8192);
	assert_int_equal(
		backend_write(fixture, memory, RANGE_OFFSET, 8192, TCMU_EXT_IO_DURABLE, &done), 0);
	assert_int_equal(shim_count_all(), 2);
	fixture_check_file(fixture->path, 0, DEVICE_BYTES);
}

/* -- zeroes and discards ----------------------------------------------------------------------- */

static void test_ways_to_zero(void **state)
{
	struct fixture *fixture = *state;
	struct tcmu_ext_backend_counters counters;

	open_device(fixture);
	assert_int_equal(
		backend_write_zeroes(fixture, RANGE_OFFSET, RANGE_BYTES, TCMU_EXT_IO_UNMAP), 0);
	check_zeroed(fixture, RANGE_OFFSET, RANGE_BYTES);
	assert_int_equal(shim_count(SHIM_PUNCH_HOLE), 1);
	assert_int_equal(shim_count(SHIM_ZERO_RANGE), 0);
	assert_int_equal(backend_write_zeroes(fixture, RANGE_OFFSET, RANGE_BYTES + 4096, 0), 0);
	check_zeroed(fixture, RANGE_OFFSET, RANGE_BYTES + 4096);
	assert_int_equal(shim_count(SHIM_PUNCH_HOLE), 1);
	assert_int_equal(shim_count(SHIM_ZERO_RANGE), 1);
	assert_int_equal(shim_record(SHIM_ZERO_RANGE, 0)->flags, FALLOC_FL_ZERO_RANGE);

	shim_always(SHIM_PUNCH_HOLE, -EOPNOTSUPP);
	shim_always(SHIM_ZERO_RANGE, -EOPNOTSUPP);
	assert_int_equal(
		backend_write_zeroes(fixture, RANGE_OFFSET, RANGE_BYTES + 8192, TCMU_EXT_IO_UNMAP),
		0);
	check_zeroed(fixture, RANGE_OFFSET, RANGE_BYTES + 8192);
	assert_int_equal(shim_count(SHIM_BLKZEROOUT), 1);
	assert_int_equal(shim_record(SHIM_BLKZEROOUT, 0)->offset, RANGE_OFFSET);
	assert_int_equal(shim_record(SHIM_BLKZEROOUT, 0)->bytes, RANGE_BYTES + 8192);
	shim_always(SHIM_BLKZEROOUT, -ENOTTY);
	for (int i = 0; i < 2; i++)
		assert_int_equal(backend_write_zeroes(fixture, RANGE_OFFSET, RANGE_BYTES + 12288,
						      TCMU_EXT_IO_UNMAP),
				 0);
	check_zeroed(fixture, RANGE_OFFSET, RANGE_BYTES + 12288);
	assert_int_equal(shim_count(SHIM_PUNCH_HOLE), 2);
	assert_int_equal(shim_count(SHIM_ZERO_RANGE), 2);
	assert_int_equal(shim_count(SHIM_BLKZEROOUT), 2);
	counters = backend_counters(fixture);
	assert_int_equal(counters.punch_hole, 1);
	assert_int_equal(counters.zero_range, 1);
	assert_int_equal(counters.blkzeroout, 1);
	assert_int_equal(counters.written, 2);
}

static void test_pages_that_are_in_use(void **state)
{
	struct fixture *fixture = *state;

	open_device(fixture);
	shim_script(SHIM_PUNCH_HOLE, -EBUSY);
	shim_script(SHIM_ZERO_RANGE, -EBUSY);
	shim_script(SHIM_BLKZEROOUT, -EBUSY);
	assert_int_equal(
		backend_write_zeroes(fixture, RANGE_OFFSET, RANGE_BYTES, TCMU_EXT_IO_UNMAP), 0);
	check_zeroed(fixture, RANGE_OFFSET, RANGE_BYTES);
	assert_int_equal(backend_counters(fixture).written, 1);
	assert_int_equal(backend_write_zeroes(fixture, 0, 4096, TCMU_EXT_IO_UNMAP), 0);
	assert_int_equal(backend_counters(fixture).punch_hole, 1);
}

static void test_blocks_in_part_are_written(void **state)
{
	struct fixture *fixture = *state;

	shim_device.logical_block_bytes = 4096;
	open_device(fixture);
	/* A whole block with parts of two more, two parts, and a part. */
	assert_int_equal(
		backend_write_zeroes(fixture, RANGE_OFFSET - 512, 4096 + 1536, TCMU_EXT_IO_UNMAP),
		0);
	check_zeroed(fixture, RANGE_OFFSET - 512, 4096 + 1536);
	assert_int_equal(shim_count(SHIM_PUNCH_HOLE), 1);
	assert_int_equal(shim_record(SHIM_PUNCH_HOLE, 0)->offset, RANGE_OFFSET);
	assert_int_equal(shim_record(SHIM_PUNCH_HOLE, 0)->bytes, 4096);
	assert_int_equal(shim_count(SHIM_PWRITEV2), 2);
	assert_int_equal(backend_counters(fixture).punch_hole, 1);
	assert_int_equal(backend_counters(fixture).written, 0);

	assert_int_equal(backend_write_zeroes(fixture, RANGE_OFFSET - 1024, 2048, 0), 0);
	assert_int_equal(backend_write_zeroes(fixture, RANGE_OFFSET + 5120, 512, 0), 0);
	check_zeroed(fixture, RANGE_OFFSET - 1024, 1024 + 5120 + 512);
	assert_int_equal(shim_count(SHIM_ZERO_RANGE), 0);
	assert_int_equal(backend_counters(fixture).written, 2);

	shim_script(SHIM_PWRITEV2, -EIO);
	assert_int_equal(backend_write_zeroes(fixture, RANGE_OFFSET - 512, 8192, 0), -EIO);
	shim_script(SHIM_PWRITEV2, SHIM_PASS, -EIO);
	assert_int_equal(backend_write_zeroes(fixture, RANGE_OFFSET - 512, 8192, 0), -EIO);
	assert_int_equal(shim_count(SHIM_ZERO_RANGE), 0);
}

static void test_discarding_with_zeroes(void **state)
{
	struct fixture *fixture = *state;

	open_device(fixture);
	assert_int_equal(backend_discard(fixture, RANGE_OFFSET, RANGE_BYTES), 0);
	assert_int_equal(shim_count(SHIM_PUNCH_HOLE), 1);
	assert_int_equal(shim_count(SHIM_BLKDISCARD), 0);
	check_zeroed(fixture, RANGE_OFFSET, RANGE_BYTES);
	assert_int_equal(backend_counters(fixture).punch_hole, 1);
	assert_int_equal(fixture->messages, 0);
	/* The device takes back what it said of itself: zeroes have been promised since. */
	shim_always(SHIM_PUNCH_HOLE, -EOPNOTSUPP);
	assert_int_equal(backend_discard(fixture, RANGE_OFFSET, 4096), 0);
	assert_int_equal(backend_discard(fixture, RANGE_OFFSET, RANGE_BYTES + 4096), 0);
	assert_int_equal(shim_count(SHIM_BLKDISCARD), 0);
	check_zeroed(fixture, RANGE_OFFSET, RANGE_BYTES + 4096);
	assert_int_equal(backend_counters(fixture).zero_range, 2);
	assert_int_equal(fixture->messages, 1);
	assert_non_null(strstr(fixture->message, "no longer gives space back"));
}

static void test_discarding_without_zeroes(void **state)
{
	struct fixture *fixture = *state;
	const struct tcmu_ext_backend_properties *properties;

	set_attribute("queue/write_zeroes_max_bytes", "0");
	shim_device.logical_block_bytes = 4096;
	properties = open_device(fixture);
	assert_int_equal(properties->discard_granularity_bytes, 4096);
	assert_false(properties->discard_reads_zero);
	assert_int_equal(backend_discard(fixture, RANGE_OFFSET - 512, RANGE_BYTES + 1024), 0);
	assert_int_equal(shim_count(SHIM_BLKDISCARD), 1);
	assert_int_equal(shim_record(SHIM_BLKDISCARD, 0)->offset, RANGE_OFFSET);
	assert_int_equal(shim_record(SHIM_BLKDISCARD, 0)->bytes, RANGE_BYTES);
	assert_int_equal(shim_count(SHIM_PUNCH_HOLE) + shim_count(SHIM_PWRITEV2), 0);
	assert_int_equal(backend_counters(fixture).blkdiscard, 1);
	/* Less than a block gives back nothing. */
	assert_int_equal(backend_discard(fixture, RANGE_OFFSET + 512, 4096), 0);
	assert_int_equal(backend_discard(fixture, RANGE_OFFSET, 0), 0);
	assert_int_equal(shim_count(SHIM_BLKDISCARD), 1);
	fixture_check_file(fixture->path, 0, DEVICE_BYTES);
	shim_script(SHIM_BLKDISCARD, -EINTR, -EIO);
	assert_int_equal(backend_discard(fixture, RANGE_OFFSET, RANGE_BYTES), -EIO);
	assert_int_equal(shim_count(SHIM_BLKDISCARD), 3);
	assert_int_equal(backend_counters(fixture).blkdiscard, 1);
}

static void test_a_device_that_does_not_discard(void **state)
{
	struct fixture *fixture = *state;

	set_attribute("queue/discard_max_bytes", "0");
	assert_int_equal(open_device(fixture)->discard_granularity_bytes, 0);
	assert_false(tcmu_ext_backend_properties(fixture->backend)->discard_reads_zero);
	assert_int_equal(backend_discard(fixture, 0, 4096), -EOPNOTSUPP);
	assert_int_equal(shim_count_all(), 0);
}

static void test_growing(void **state)
{
	struct fixture *fixture = *state;

	open_device(fixture);
	assert_int_equal(backend_resize(fixture->backend, LUN_BYTES), 0);
	assert_int_equal(backend_resize(fixture->backend, DEVICE_BYTES), 0);
	assert_int_equal(backend_resize(fixture->backend, LUN_BYTES), -EINVAL);
	assert_int_equal(fixture->errors, 0);
	assert_int_equal(backend_resize(fixture->backend, DEVICE_BYTES + 512), -ENOSPC);
	assert_int_equal(fixture->errors, 1);
	assert_non_null(strstr(fixture->message, "4194816"));
	assert_non_null(strstr(fixture->message, "enlarge the device"));
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->size_bytes, DEVICE_BYTES);
	assert_int_equal(truncate(fixture->path, GROWN_BYTES), 0);
	shim_device.bytes = GROWN_BYTES;
	assert_int_equal(backend_resize(fixture->backend, DEVICE_BYTES + 512), 0);
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->size_bytes, GROWN_BYTES);
	assert_int_equal(shim_count(SHIM_FTRUNCATE) + shim_count(SHIM_ALLOCATE), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, block_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_device_that_ends_early_is_an_error),
		TEST(test_a_device_that_is_gone),
		TEST(test_other_errors_are_the_device_s_own),
		TEST(test_a_transfer_is_one_call),
		TEST(test_ways_to_zero),
		TEST(test_pages_that_are_in_use),
		TEST(test_blocks_in_part_are_written),
		TEST(test_discarding_with_zeroes),
		TEST(test_discarding_without_zeroes),
		TEST(test_a_device_that_does_not_discard),
		TEST(test_growing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
