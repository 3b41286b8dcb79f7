/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* cache=none: what O_DIRECT asks of buffers, offsets and LUNs, and the bounce buffer. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../iovec_split.h"
#include "backend/storage.h"

enum {
	FILE_BYTES = 2 * 1024 * 1024,
	PART_OFFSET = 8192,
	PART_BYTES = 64 * 1024,
	LARGE_BYTES = 1024 * 1024 + 8192, /* more than one bounce buffer */
};

static const size_t nearly_whole[] = { 511, SPLIT_REST, SPLIT_END };
static const size_t uneven[] = { 1, 4095, 511, 1, SPLIT_END };

/* Memory and transfer alignments as kernels report them. */
static const struct shim_direct rules[] = {
	{ .memory_alignment_bytes = 4, .transfer_alignment_bytes = 512 },
	{ .memory_alignment_bytes = 512, .transfer_alignment_bytes = 512 },
	{ .memory_alignment_bytes = 512, .transfer_alignment_bytes = 4096 },
	{ .memory_alignment_bytes = 4096, .transfer_alignment_bytes = 4096 },
};

static int setup(void **state)
{
	struct fixture *fixture;

	if (fixture_setup(state))
		return -1;
	fixture = *state;
	fixture_make_file(fixture->path, FILE_BYTES);
	fixture->config.cache = TCMU_EXT_CACHE_NONE;
	fixture->config.size_bytes = FILE_BYTES;
	return 0;
}

static void open_under(struct fixture *fixture, const struct shim_direct *rule)
{
	fixture_close(fixture);
	shim_direct = *rule;
	fixture->config.logical_block_bytes = rule->transfer_alignment_bytes;
	fixture_open(fixture, &tcmu_ext_backend_file, FILE_BYTES);
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->logical_block_bytes,
			 rule->transfer_alignment_bytes);
}

static int read_split(struct fixture *fixture, struct iovec_split *split, uint64_t offset,
		      size_t *done_bytes)
{
	iovec_split_rewind(split);
	return fixture->backend->operations.read(fixture->backend->instance, split->iov,
						 split->iov_count, offset, split->bytes, 0,
						 done_bytes);
}

static int write_split(struct fixture *fixture, struct iovec_split *split, uint64_t offset,
		       unsigned int flags, size_t *done_bytes)
{
	iovec_split_rewind(split);
	return fixture->backend->operations.write(fixture->backend->instance, split->iov,
						  split->iov_count, offset, split->bytes, flags,
						  done_bytes);
}

static void check_split(const struct iovec_split *split, uint64_t offset, size_t bytes)
{
	uint8_t *memory = malloc(split->bytes);

	iovec_split_get(split, memory);
	fixture_check_bytes(memory, offset, bytes);
	for (size_t i = bytes; i < split->bytes; i++)
		check(!memory[i], "byte %zu is not zero", i);
	free(memory);
}

static void fill_split(struct iovec_split *split, uint64_t offset)
{
	uint8_t *memory = malloc(split->bytes);

	for (size_t i = 0; i < split->bytes; i++)
		memory[i] = fixture_byte(offset + i);
	iovec_split_set(split, memory);
	free(memory);
}

static void clear_file(const struct fixture *fixture)
{
	assert_int_equal(truncate(fixture->path, 0), 0);
	assert_int_equal(truncate(fixture->path, FILE_BYTES), 0);
}

static void test_aligned_buffers_are_used_as_they_are(void **state)
{
	struct fixture *fixture = *state;
	char *memory = aligned_alloc(4096, PART_BYTES);
	size_t done;

	for (size_t i = 0; i < ARRAY_COUNT(rules); i++) {
		open_under(fixture, &rules[i]);
		assert_int_equal(backend_read(fixture, memory, PART_OFFSET, PART_BYTES, &done), 0);
		assert_int_equal(done, PART_BYTES);
		assert_int_equal(shim_count_all(), 1);
		fixture_check_bytes(memory, PART_OFFSET, PART_BYTES);
		assert_int_equal(backend_write(fixture, memory, PART_OFFSET, PART_BYTES, 0, &done),
				 0);
		assert_int_equal(done, PART_BYTES);
		assert_int_equal(shim_count_all(), 2);
	}
	free(memory);
}

static void test_memory_aligned_just_enough(void **state)
{
	struct fixture *fixture = *state;
	char *memory = aligned_alloc(4096, PART_BYTES + 4096);
	size_t done;

	open_under(fixture, &rules[0]);
	assert_int_equal(backend_read(fixture, memory + 4, PART_OFFSET, PART_BYTES, &done), 0);
	assert_int_equal(shim_count(SHIM_ALLOCATE_MEMORY), 0);
	fixture_check_bytes(memory + 4, PART_OFFSET, PART_BYTES);
	assert_int_equal(backend_read(fixture, memory + 2, PART_OFFSET, PART_BYTES, &done), 0);
	assert_int_equal(shim_count(SHIM_ALLOCATE_MEMORY), 1);
	fixture_check_bytes(memory + 2, PART_OFFSET, PART_BYTES);
	free(memory);
}

static void check_bounced_read(struct fixture *fixture, struct iovec_split *split)
{
	size_t done;

	iovec_split_fill(split, 0);
	shim_forget_records();
	assert_int_equal(read_split(fixture, split, PART_OFFSET, &done), 0);
	assert_int_equal(done, split->bytes);
	assert_int_equal(shim_count(SHIM_ALLOCATE_MEMORY), 1);
	assert_true(shim_record(SHIM_ALLOCATE_MEMORY, 0)->bytes <= 256u << 10);
	check_split(split, PART_OFFSET, split->bytes);
}

static void check_bounced_write(struct fixture *fixture, struct iovec_split *split)
{
	size_t done;

	clear_file(fixture);
	fill_split(split, PART_OFFSET);
	shim_forget_records();
	assert_int_equal(write_split(fixture, split, PART_OFFSET, TCMU_EXT_IO_DURABLE, &done), 0);
	assert_int_equal(done, split->bytes);
	assert_int_equal(shim_count(SHIM_ALLOCATE_MEMORY), 1);
	for (size_t i = 0; i < shim_count(SHIM_PWRITEV2); i++)
		assert_int_equal(shim_record(SHIM_PWRITEV2, i)->flags, RWF_DSYNC);
	fixture_check_file_zero(fixture->path, 0, PART_OFFSET);
	fixture_check_file(fixture->path, PART_OFFSET, split->bytes);
	fixture_check_file_zero(fixture->path, PART_OFFSET + split->bytes, 4096);
}

static void test_other_buffers_go_through_one_that_is_aligned(void **state)
{
	static const size_t *const splits[] = { nearly_whole, uneven };
	static const size_t sizes[] = { 4096, PART_BYTES, LARGE_BYTES };
	struct fixture *fixture = *state;
	struct iovec_split split;

	for (size_t i = 0; i < ARRAY_COUNT(rules) * ARRAY_COUNT(splits) * ARRAY_COUNT(sizes); i++) {
		open_under(fixture, &rules[i % ARRAY_COUNT(rules)]);
		iovec_split_make(&split, sizes[i / ARRAY_COUNT(rules) / ARRAY_COUNT(splits)],
				 splits[i / ARRAY_COUNT(rules) % ARRAY_COUNT(splits)]);
		check_bounced_read(fixture, &split);
		check_bounced_write(fixture, &split);
		fixture_make_file(fixture->path, FILE_BYTES);
		iovec_split_free(&split);
	}
}

static void test_an_unaligned_length_is_enough_to_bounce(void **state)
{
	struct fixture *fixture = *state;
	char *memory = aligned_alloc(4096, 8192);
	struct iovec iov[2] = { { memory, 700 }, { memory + 1024, 324 } };
	size_t done;

	open_under(fixture, &rules[0]);
	assert_int_equal(fixture->backend->operations.read(fixture->backend->instance, iov, 2,
							   PART_OFFSET, 1024, 0, &done),
			 0);
	assert_int_equal(shim_count(SHIM_ALLOCATE_MEMORY), 1);
	fixture_check_bytes(memory, PART_OFFSET, 700);
	fixture_check_bytes(memory + 1024, PART_OFFSET + 700, 324);
	free(memory);
}

static void test_bouncing_goes_on_after_short_transfers(void **state)
{
	struct fixture *fixture = *state;
	struct iovec_split split;
	size_t done;

	open_under(fixture, &rules[1]);
	iovec_split_make(&split, LARGE_BYTES, uneven);
	shim_script(SHIM_PREADV, 512, -EINTR, 1536, 4096);
	assert_int_equal(read_split(fixture, &split, PART_OFFSET, &done), 0);
	assert_int_equal(done, LARGE_BYTES);
	check_split(&split, PART_OFFSET, LARGE_BYTES);

	clear_file(fixture);
	/* What is written of a block in part is written again. */
	shim_script(SHIM_PWRITEV2, 512, -EINTR, 1000, 4096, 513);
	assert_int_equal(write_split(fixture, &split, PART_OFFSET, 0, &done), 0);
	assert_int_equal(done, LARGE_BYTES);
	fixture_check_file(fixture->path, PART_OFFSET, LARGE_BYTES);
	shim_script(SHIM_PWRITEV2, 100);
	assert_int_equal(write_split(fixture, &split, PART_OFFSET, 0, &done), -EIO);
	assert_int_equal(done, 0);
	iovec_split_free(&split);
}

static void test_errors_say_how_far_bouncing_went(void **state)
{
	struct fixture *fixture = *state;
	struct iovec_split split;
	size_t done;

	open_under(fixture, &rules[1]);
	iovec_split_make(&split, LARGE_BYTES, uneven);
	iovec_split_fill(&split, 0);
	shim_script(SHIM_PREADV, SHIM_PASS, 1024, -EIO, -EIO);
	assert_int_equal(read_split(fixture, &split, PART_OFFSET, &done), -EIO);
	assert_int_equal(done, 256 * 1024 + 1024);
	check_split(&split, PART_OFFSET, done);
	shim_script(SHIM_PWRITEV2, SHIM_PASS, 1024, -ENOSPC);
	assert_int_equal(write_split(fixture, &split, PART_OFFSET, 0, &done), -ENOSPC);
	assert_int_equal(done, 256 * 1024 + 1024);
	shim_always(SHIM_ALLOCATE_MEMORY, -ENOMEM);
	assert_int_equal(read_split(fixture, &split, PART_OFFSET, &done), -ENOMEM);
	assert_int_equal(done, 0);
	done = 1;
	assert_int_equal(write_split(fixture, &split, PART_OFFSET, 0, &done), -ENOMEM);
	assert_int_equal(done, 0);
	shim_always(SHIM_ALLOCATE_MEMORY, SHIM_PASS);
	iovec_split_free(&split);
}

static void test_a_range_that_is_not_aligned_can_be_read(void **state)
{
	struct fixture *fixture = *state;
	size_t done;
	char *memory = malloc(LARGE_BYTES);

	open_under(fixture, &rules[1]);
	assert_int_equal(backend_read(fixture, memory, PART_OFFSET + 77, LARGE_BYTES, &done), 0);
	assert_int_equal(done, LARGE_BYTES);
	fixture_check_bytes(memory, PART_OFFSET + 77, LARGE_BYTES);
	shim_script(SHIM_PREADV, 512, -EIO, -EIO);
	assert_int_equal(backend_read(fixture, memory, PART_OFFSET + 77, LARGE_BYTES, &done), -EIO);
	assert_int_equal(done, 512 - 77);
	free(memory);
}

static void test_a_read_ends_at_the_block_that_cannot_be_read(void **state)
{
	struct fixture *fixture = *state;
	size_t done;
	char *memory = aligned_alloc(4096, LARGE_BYTES);

	open_under(fixture, &rules[1]);
	/* The whole fails, then two blocks can be read and one cannot. */
	shim_script(SHIM_PREADV, -EIO, SHIM_PASS, SHIM_PASS, -EIO);
	assert_int_equal(backend_read(fixture, memory, PART_OFFSET, LARGE_BYTES, &done), -EIO);
	assert_int_equal(done, 2 * rules[1].transfer_alignment_bytes);
	fixture_check_bytes(memory, PART_OFFSET, done);
	assert_int_equal(shim_count(SHIM_PREADV), 4);
	/* One that can be read the second time was read. */
	shim_script(SHIM_PREADV, -EIO);
	assert_int_equal(backend_read(fixture, memory, PART_OFFSET, 8192, &done), 0);
	assert_int_equal(done, 8192);
	fixture_check_bytes(memory, PART_OFFSET, 8192);
	free(memory);
}

static void test_a_file_that_ends_within_a_block(void **state)
{
	struct fixture *fixture = *state;
	struct iovec_split split;
	char *memory = aligned_alloc(4096, PART_BYTES);
	uint64_t end = PART_OFFSET + 5000;
	size_t done;

	open_under(fixture, &rules[1]);
	iovec_split_make(&split, PART_BYTES, uneven);
	for (int round = 0; round < 3; round++) {
		size_t left = end > PART_OFFSET ? (size_t)(end - PART_OFFSET) : 0;

		assert_int_equal(truncate(fixture->path, (off_t)end), 0);
		memset(memory, 0xee, PART_BYTES);
		assert_int_equal(backend_read(fixture, memory, PART_OFFSET, PART_BYTES, &done), 0);
		assert_int_equal(done, PART_BYTES);
		fixture_check_bytes(memory, PART_OFFSET, left);
		for (size_t i = left; i < PART_BYTES; i++)
			check(!memory[i], "byte %zu is not zero", i);
		iovec_split_fill(&split, 0xee);
		assert_int_equal(read_split(fixture, &split, PART_OFFSET, &done), 0);
		assert_int_equal(done, PART_BYTES);
		check_split(&split, PART_OFFSET, left);
		end -= 2500;
	}
	iovec_split_free(&split);
	free(memory);
}

static void test_an_invalid_read_elsewhere_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	char *memory = aligned_alloc(4096, PART_BYTES);
	size_t done;

	open_under(fixture, &rules[1]);
	shim_script(SHIM_PREADV, -EINVAL);
	assert_int_equal(backend_read(fixture, memory, 0, PART_BYTES, &done), -EINVAL);
	assert_int_equal(done, 0);
	/* Through the page cache it is never the end. */
	fixture->config.cache = TCMU_EXT_CACHE_WRITEBACK;
	fixture_open(fixture, &tcmu_ext_backend_file, FILE_BYTES);
	assert_int_equal(truncate(fixture->path, 0), 0);
	shim_script(SHIM_PREADV, -EINVAL);
	assert_int_equal(backend_read(fixture, memory, 0, PART_BYTES, &done), -EINVAL);
	free(memory);
}

static void test_durability_without_a_flag_for_it(void **state)
{
	struct fixture *fixture = *state;
	struct iovec_split split;
	size_t done;

	open_under(fixture, &rules[1]);
	iovec_split_make(&split, PART_BYTES, uneven);
	fill_split(&split, PART_OFFSET);
	clear_file(fixture);
	shim_script(SHIM_PWRITEV2, -EOPNOTSUPP);
	assert_int_equal(write_split(fixture, &split, PART_OFFSET, TCMU_EXT_IO_DURABLE, &done), 0);
	assert_int_equal(done, PART_BYTES);
	assert_int_equal(shim_count(SHIM_FDATASYNC), 1);
	fixture_check_file(fixture->path, PART_OFFSET, PART_BYTES);
	iovec_split_free(&split);
}

/* A write past the page cache fails by itself: the same write fails again without its flush. */
static void test_a_direct_write_that_fails(void **state)
{
	struct fixture *fixture = *state;
	char *memory = aligned_alloc(4096, PART_BYTES);
	size_t done;

	memset(memory, 0, PART_BYTES);
	open_under(fixture, &rules[1]);
	shim_script(SHIM_PWRITEV2, -EIO, -EIO);
	assert_int_equal(backend_write(fixture, memory, 0, PART_BYTES, TCMU_EXT_IO_DURABLE, &done),
			 -EIO);
	assert_int_equal(shim_record(SHIM_PWRITEV2, 1)->flags, 0);
	assert_int_equal(backend_flush(fixture), 0);
	/* Nothing was begun. */
	shim_script(SHIM_PWRITEV2, -ENOMEM);
	assert_int_equal(backend_write(fixture, memory, 0, PART_BYTES, TCMU_EXT_IO_DURABLE, &done),
			 -ENOMEM);
	assert_int_equal(backend_flush(fixture), 0);
	free(memory);
}

/* It goes well without: then the flush has failed, and with it what was written before. */
static void test_the_flush_of_a_direct_write_that_fails(void **state)
{
	struct fixture *fixture = *state;
	char *memory = aligned_alloc(4096, PART_BYTES);
	size_t done;

	memset(memory, 0, PART_BYTES);
	open_under(fixture, &rules[1]);
	shim_script(SHIM_PWRITEV2, -EIO);
	assert_int_equal(backend_write(fixture, memory, 0, PART_BYTES, TCMU_EXT_IO_DURABLE, &done),
			 -EIO);
	assert_int_equal(backend_flush(fixture), -EIO);
	assert_int_equal(backend_flush(fixture), -EIO);
	free(memory);
}

/* The disk remembers that one failed. */
static void test_each_direct_flush_speaks_for_itself(void **state)
{
	struct fixture *fixture = *state;

	open_under(fixture, &rules[1]);
	shim_script(SHIM_FDATASYNC, -EIO);
	assert_int_equal(backend_flush(fixture), -EIO);
	assert_int_equal(backend_flush(fixture), 0);
}

static void test_zeroes_are_written_from_aligned_memory(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_COUNT(rules); i++) {
		fixture_make_file(fixture->path, FILE_BYTES);
		open_under(fixture, &rules[i]);
		shim_always(SHIM_PUNCH_HOLE, -EOPNOTSUPP);
		shim_always(SHIM_ZERO_RANGE, -EOPNOTSUPP);
		assert_int_equal(
			backend_write_zeroes(fixture, PART_OFFSET, LARGE_BYTES, TCMU_EXT_IO_UNMAP),
			0);
		assert_int_equal(shim_count(SHIM_ALLOCATE_MEMORY), 0);
		fixture_check_file_zero(fixture->path, PART_OFFSET, LARGE_BYTES);
		fixture_check_file(fixture->path, 0, PART_OFFSET);
		fixture_check_file(fixture->path, PART_OFFSET + LARGE_BYTES, 4096);
	}
}

static void test_nothing_is_read_ahead(void **state)
{
	struct fixture *fixture = *state;

	open_under(fixture, &rules[1]);
	assert_int_equal(fixture->backend->operations.prefetch(fixture->backend->instance, 0, 4096),
			 0);
	assert_int_equal(shim_count_all(), 0);
}

static void test_a_file_system_without_direct_io_is_refused(void **state)
{
	struct fixture *fixture = *state;

	shim_direct = (struct shim_direct){ .refused = true };
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EINVAL, "cache=none");
	assert_non_null(strstr(fixture->message, fixture->path));
	/* Or it does not say so until asked (statx() with zeroes), or asks too much. */
	shim_direct = (struct shim_direct){ .memory_alignment_bytes = 0,
					    .transfer_alignment_bytes = 512 };
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EINVAL, "cache=none");
	shim_direct = (struct shim_direct){ .memory_alignment_bytes = 8192,
					    .transfer_alignment_bytes = 512 };
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EINVAL, "cache=none");
	shim_direct = (struct shim_direct){ .memory_alignment_bytes = 512,
					    .transfer_alignment_bytes = 8192 };
	fixture->config.logical_block_bytes = 8192;
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EINVAL, "cache=none");
}

static void test_blocks_smaller_than_direct_io_moves_are_refused(void **state)
{
	struct fixture *fixture = *state;

	shim_direct = rules[3];
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EINVAL, "hw_block_size=4096");
	assert_non_null(strstr(fixture->message, "cache=writeback"));
	fixture->config.logical_block_bytes = 4096;
	fixture_open(fixture, &tcmu_ext_backend_file, FILE_BYTES);
	/* Larger ones are fine. */
	shim_direct = rules[1];
	fixture_open(fixture, &tcmu_ext_backend_file, FILE_BYTES);
}

static void test_alignment_is_tried_where_it_is_not_told(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned int bytes = 512; bytes <= 4096; bytes += 4096 - 512) {
		shim_direct = (struct shim_direct){ bytes, bytes, .untold = true };
		fixture->config.logical_block_bytes = 4096;
		fixture_open(fixture, &tcmu_ext_backend_file, FILE_BYTES);
		assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->logical_block_bytes,
				 bytes);
		fixture_close(fixture);
		shim_script(SHIM_STATX, -ENOSYS);
		fixture_open(fixture, &tcmu_ext_backend_file, FILE_BYTES);
		assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->logical_block_bytes,
				 bytes);
	}
}

/* No shim's rules: the kernel's. */
static void test_the_real_thing(void **state)
{
	struct fixture *fixture = *state;
	struct iovec_split split;
	const struct storage *storage;
	size_t done;

	fixture->config.logical_block_bytes = 4096;
	if (tcmu_ext_backend_open(&tcmu_ext_backend_file, &fixture->config, &fixture->backend)) {
		print_message("SKIP: %s\n", fixture->message);
		skip();
	}
	storage = fixture->backend->instance;
	assert_true(fcntl(storage->fd, F_GETFL) & O_DIRECT);
	assert_false(fcntl(storage->fd, F_GETFL) & O_NONBLOCK);
	iovec_split_make(&split, PART_BYTES, uneven);
	assert_int_equal(read_split(fixture, &split, PART_OFFSET, &done), 0);
	assert_int_equal(done, PART_BYTES);
	check_split(&split, PART_OFFSET, PART_BYTES);
	clear_file(fixture);
	assert_int_equal(write_split(fixture, &split, PART_OFFSET, TCMU_EXT_IO_DURABLE, &done), 0);
	assert_int_equal(done, PART_BYTES);
	fixture_check_file(fixture->path, PART_OFFSET, PART_BYTES);
	fixture_check_file_zero(fixture->path, 0, PART_OFFSET);
	assert_int_equal(truncate(fixture->path, PART_OFFSET + 5000), 0);
	assert_int_equal(read_split(fixture, &split, PART_OFFSET, &done), 0);
	assert_int_equal(done, PART_BYTES);
	check_split(&split, PART_OFFSET, 5000);
	iovec_split_free(&split);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_aligned_buffers_are_used_as_they_are),
		TEST(test_memory_aligned_just_enough),
		TEST(test_other_buffers_go_through_one_that_is_aligned),
		TEST(test_an_unaligned_length_is_enough_to_bounce),
		TEST(test_bouncing_goes_on_after_short_transfers),
		TEST(test_errors_say_how_far_bouncing_went),
		TEST(test_a_range_that_is_not_aligned_can_be_read),
		TEST(test_a_read_ends_at_the_block_that_cannot_be_read),
		TEST(test_a_file_that_ends_within_a_block),
		TEST(test_an_invalid_read_elsewhere_is_an_error),
		TEST(test_durability_without_a_flag_for_it),
		TEST(test_a_direct_write_that_fails),
		TEST(test_the_flush_of_a_direct_write_that_fails),
		TEST(test_each_direct_flush_speaks_for_itself),
		TEST(test_zeroes_are_written_from_aligned_memory),
		TEST(test_nothing_is_read_ahead),
		TEST(test_a_file_system_without_direct_io_is_refused),
		TEST(test_blocks_smaller_than_direct_io_moves_are_refused),
		TEST(test_alignment_is_tried_where_it_is_not_told),
		TEST(test_the_real_thing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
