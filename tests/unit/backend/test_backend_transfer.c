/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Reading, writing and flushing a file through the page cache, with a kernel that falls short. */
#include "fixture.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../iovec_split.h"
#include "backend/storage.h"

enum {
	FILE_BYTES = 64 * 1024,
	PART_OFFSET = 4096 + 512,
	PART_BYTES = 4 * 4608,
};

static const size_t uneven[] = { 1, 4095, 511, 1, SPLIT_END };

static const int errors[] = { EIO, ENOSPC, EDQUOT, EAGAIN, ENOMEM, EFBIG, EOPNOTSUPP };

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

/* Those bytes that a file made by the fixture has from `offset` on. */
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

static void test_a_read_is_one_call(void **state)
{
	struct fixture *fixture = *state;
	uint8_t memory[PART_BYTES];
	size_t done;

	assert_int_equal(backend_read(fixture, memory, PART_OFFSET, PART_BYTES, &done), 0);
	assert_int_equal(done, PART_BYTES);
	assert_int_equal(shim_count_all(), 1);
	assert_int_equal(shim_count(SHIM_PREADV), 1);
	fixture_check_bytes(memory, PART_OFFSET, PART_BYTES);
}

static void test_a_write_is_one_call(void **state)
{
	struct fixture *fixture = *state;
	uint8_t memory[PART_BYTES];
	size_t done;

	memset(memory, 0, sizeof(memory));
	for (unsigned int flags = 0; flags <= TCMU_EXT_IO_DURABLE; flags++) {
		shim_forget_records();
		assert_int_equal(
			backend_write(fixture, memory, PART_OFFSET, PART_BYTES, flags, &done), 0);
		assert_int_equal(done, PART_BYTES);
		assert_int_equal(shim_count_all(), 1);
		assert_int_equal(shim_record(SHIM_PWRITEV2, 0)->flags, flags ? RWF_DSYNC : 0);
	}
	fixture_check_file(fixture->path, 0, PART_OFFSET);
	fixture_check_file_zero(fixture->path, PART_OFFSET, PART_BYTES);
	fixture_check_file(fixture->path, PART_OFFSET + PART_BYTES,
			   FILE_BYTES - PART_OFFSET - PART_BYTES);
}

static void test_nothing_to_do_calls_nothing(void **state)
{
	struct fixture *fixture = *state;
	size_t done = 1;

	assert_int_equal(backend_read(fixture, NULL, 0, 0, &done), 0);
	assert_int_equal(done, 0);
	done = 1;
	assert_int_equal(backend_write(fixture, NULL, 0, 0, 0, &done), 0);
	assert_int_equal(done, 0);
	assert_int_equal(shim_count_all(), 0);
}

/* As many as one call takes, and more: that call moves nothing, though the file goes on. */
static void test_entries_without_length(void **state)
{
	enum { MOST = 3 * IOV_MAX };
	static const size_t counts[] = { 1, IOV_MAX - 1, IOV_MAX, IOV_MAX + 1, MOST - 1 };
	struct fixture *fixture = *state;
	const struct tcmu_ext_backend_operations *operations = &fixture->backend->operations;
	void *instance = fixture->backend->instance;
	struct iovec iov[MOST];
	uint8_t memory[PART_BYTES];
	size_t done;

	for (size_t i = 0; i < ARRAY_COUNT(counts); i++) {
		size_t empty = counts[i];

		memset(iov, 0, sizeof(iov));
		memset(memory, 0, sizeof(memory));
		iov[empty] = (struct iovec){ memory, sizeof(memory) };
		assert_int_equal(operations->read(instance, iov, empty + 1, PART_OFFSET,
						  sizeof(memory), 0, &done),
				 0);
		assert_int_equal(done, sizeof(memory));
		fixture_check_bytes(memory, PART_OFFSET, sizeof(memory));

		clear_file(fixture);
		memset(iov, 0, sizeof(iov));
		iov[empty] = (struct iovec){ memory, sizeof(memory) };
		assert_int_equal(operations->write(instance, iov, empty + 1, PART_OFFSET,
						   sizeof(memory), 0, &done),
				 0);
		assert_int_equal(done, sizeof(memory));
		fixture_check_file(fixture->path, PART_OFFSET, sizeof(memory));
	}
}

static void test_short_reads_go_on(void **state)
{
	struct fixture *fixture = *state;
	struct iovec_split split;
	size_t done;

	iovec_split_make(&split, PART_BYTES, uneven);
	for (long limit = 1; limit < PART_BYTES; limit += limit < 100 ? 2 : 58) {
		shim_always(SHIM_PREADV, limit);
		shim_forget_records();
		iovec_split_fill(&split, 0);
		assert_int_equal(read_split(fixture, &split, PART_OFFSET, &done), 0);
		assert_int_equal(done, PART_BYTES);
		check_split(&split, PART_OFFSET, PART_BYTES);
		check(shim_count(SHIM_PREADV) == (size_t)((PART_BYTES + limit - 1) / limit),
		      "%zu calls at %ld bytes each", shim_count(SHIM_PREADV), limit);
	}
	iovec_split_free(&split);
}

static void test_short_writes_go_on(void **state)
{
	struct fixture *fixture = *state;
	struct iovec_split split;
	size_t done;

	iovec_split_make(&split, PART_BYTES, uneven);
	fill_split(&split, PART_OFFSET);
	for (long limit = 1; limit < PART_BYTES; limit += limit < 100 ? 2 : 58) {
		clear_file(fixture);
		shim_always(SHIM_PWRITEV2, limit);
		shim_forget_records();
		assert_int_equal(write_split(fixture, &split, PART_OFFSET, 0, &done), 0);
		assert_int_equal(done, PART_BYTES);
		fixture_check_file_zero(fixture->path, 0, PART_OFFSET);
		fixture_check_file(fixture->path, PART_OFFSET, PART_BYTES);
	}
	iovec_split_free(&split);
}

static void test_all_of_a_durable_write_is_durable(void **state)
{
	struct fixture *fixture = *state;
	struct iovec_split split;
	size_t done;

	iovec_split_make(&split, PART_BYTES, uneven);
	fill_split(&split, PART_OFFSET);
	clear_file(fixture);
	shim_script(SHIM_PWRITEV2, 4097, -EINTR, 1, 511);
	assert_int_equal(write_split(fixture, &split, PART_OFFSET, TCMU_EXT_IO_DURABLE, &done), 0);
	assert_int_equal(done, PART_BYTES);
	fixture_check_file(fixture->path, PART_OFFSET, PART_BYTES);
	assert_int_equal(shim_count(SHIM_PWRITEV2), 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(shim_record(SHIM_PWRITEV2, i)->flags, RWF_DSYNC);
	iovec_split_free(&split);
}

static void test_signals_interrupt_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct iovec_split split;
	size_t done;

	iovec_split_make(&split, PART_BYTES, uneven);
	shim_script(SHIM_PREADV, -EINTR, 700, -EINTR, -EINTR, -EINTR, 4001, -EINTR);
	assert_int_equal(read_split(fixture, &split, PART_OFFSET, &done), 0);
	assert_int_equal(done, PART_BYTES);
	assert_int_equal(shim_count(SHIM_PREADV), 8);
	check_split(&split, PART_OFFSET, PART_BYTES);

	clear_file(fixture);
	shim_script(SHIM_PWRITEV2, -EINTR, 700, -EINTR, -EINTR, -EINTR, 4001, -EINTR);
	assert_int_equal(write_split(fixture, &split, PART_OFFSET, 0, &done), 0);
	assert_int_equal(done, PART_BYTES);
	assert_int_equal(shim_count(SHIM_PWRITEV2), 8);
	fixture_check_file(fixture->path, PART_OFFSET, PART_BYTES);

	shim_script(SHIM_FDATASYNC, -EINTR, -EINTR);
	assert_int_equal(backend_flush(fixture), 0);
	assert_int_equal(shim_count(SHIM_FDATASYNC), 3);
	iovec_split_free(&split);
}

static void test_errors_say_how_far_it_went(void **state)
{
	struct fixture *fixture = *state;
	struct iovec_split split;
	size_t done;

	iovec_split_make(&split, PART_BYTES, uneven);
	for (size_t i = 0; i < ARRAY_COUNT(errors); i++) {
		shim_script(SHIM_PREADV, -errors[i]);
		done = 1;
		assert_int_equal(read_split(fixture, &split, 0, &done), -errors[i]);
		assert_int_equal(done, 0);
		shim_script(SHIM_PREADV, 700, 4096, -errors[i]);
		assert_int_equal(read_split(fixture, &split, PART_OFFSET, &done), -errors[i]);
		assert_int_equal(done, 4796);

		shim_script(SHIM_PWRITEV2, -errors[i]);
		done = 1;
		assert_int_equal(write_split(fixture, &split, 0, 0, &done), -errors[i]);
		assert_int_equal(done, 0);
		shim_script(SHIM_PWRITEV2, 700, 4096, -errors[i]);
		assert_int_equal(write_split(fixture, &split, 0, TCMU_EXT_IO_DURABLE, &done),
				 -errors[i]);
		assert_int_equal(done, 4796);
	}
	assert_int_equal(shim_count(SHIM_FDATASYNC), 0);
	iovec_split_free(&split);
}

static void test_a_write_that_makes_no_progress_fails(void **state)
{
	struct fixture *fixture = *state;
	size_t done;

	shim_script(SHIM_PWRITEV2, 100, SHIM_NOTHING);
	assert_int_equal(backend_write(fixture, fixture->message, 0, 512, 0, &done), -EIO);
	assert_int_equal(done, 100);
}

static void test_a_file_that_ends_early_reads_as_zeroes(void **state)
{
	static const uint64_t ends[] = { 0,
					 1,
					 PART_OFFSET - 1,
					 PART_OFFSET,
					 PART_OFFSET + 1,
					 PART_OFFSET + 5000,
					 PART_OFFSET + PART_BYTES - 1 };
	struct fixture *fixture = *state;
	struct iovec_split split;
	size_t done;

	iovec_split_make(&split, PART_BYTES, uneven);
	for (size_t i = ARRAY_COUNT(ends); i-- > 0;) {
		size_t left = ends[i] > PART_OFFSET ? (size_t)(ends[i] - PART_OFFSET) : 0;

		assert_int_equal(truncate(fixture->path, (off_t)ends[i]), 0);
		iovec_split_fill(&split, 0xee);
		assert_int_equal(read_split(fixture, &split, PART_OFFSET, &done), 0);
		assert_int_equal(done, PART_BYTES);
		check_split(&split, PART_OFFSET, left);
		/* And stays as it is. */
		assert_int_equal(fixture_file_bytes(fixture->path), ends[i]);
	}
	iovec_split_free(&split);
}

static void test_more_entries_than_a_call_takes(void **state)
{
	static const size_t tiny[] = { 1, 2, 3, 0, SPLIT_END };
	struct fixture *fixture = *state;
	struct iovec_split split;
	size_t done;

	iovec_split_make(&split, 6000, tiny); /* 4000 entries */
	assert_true(split.iov_count / IOV_MAX == 3);
	assert_int_equal(read_split(fixture, &split, PART_OFFSET, &done), 0);
	assert_int_equal(done, 6000);
	check_split(&split, PART_OFFSET, 6000);
	assert_int_equal(shim_count(SHIM_PREADV), 4);
	assert_int_equal(shim_record(SHIM_PREADV, 0)->iov_count, IOV_MAX);
	assert_int_equal(shim_record(SHIM_PREADV, 2)->iov_count, IOV_MAX);

	clear_file(fixture);
	assert_int_equal(write_split(fixture, &split, PART_OFFSET, 0, &done), 0);
	assert_int_equal(done, 6000);
	assert_int_equal(shim_count(SHIM_PWRITEV2), 4);
	fixture_check_file(fixture->path, PART_OFFSET, 6000);
	fixture_check_file_zero(fixture->path, PART_OFFSET + 6000, 512);
	iovec_split_free(&split);
}

static void test_durability_without_a_flag_for_it(void **state)
{
	struct fixture *fixture = *state;
	size_t done;

	shim_script(SHIM_PWRITEV2, -EOPNOTSUPP, 100);
	assert_int_equal(
		backend_write(fixture, fixture->message, 0, 512, TCMU_EXT_IO_DURABLE, &done), 0);
	assert_int_equal(done, 512);
	assert_int_equal(shim_count(SHIM_PWRITEV2), 3);
	assert_int_equal(shim_record(SHIM_PWRITEV2, 0)->flags, RWF_DSYNC);
	assert_int_equal(shim_record(SHIM_PWRITEV2, 1)->flags, 0);
	assert_int_equal(shim_record(SHIM_PWRITEV2, 2)->flags, 0);
	assert_int_equal(shim_count(SHIM_FDATASYNC), 1);

	/* It is not tried again, and the data is still made durable. */
	shim_forget_records();
	assert_int_equal(
		backend_write(fixture, fixture->message, 0, 512, TCMU_EXT_IO_DURABLE, &done), 0);
	assert_int_equal(shim_count(SHIM_PWRITEV2), 1);
	assert_int_equal(shim_record(SHIM_PWRITEV2, 0)->flags, 0);
	assert_int_equal(shim_count(SHIM_FDATASYNC), 1);
	shim_script(SHIM_FDATASYNC, -ENOSPC);
	assert_int_equal(
		backend_write(fixture, fixture->message, 0, 512, TCMU_EXT_IO_DURABLE, &done),
		-ENOSPC);
	/* Other writes are not slowed down by it. */
	shim_forget_records();
	assert_int_equal(backend_write(fixture, fixture->message, 0, 512, 0, &done), 0);
	assert_int_equal(shim_count_all(), 1);
}

static void test_a_failed_flush_is_not_forgotten(void **state)
{
	struct fixture *fixture = *state;

	shim_script(SHIM_FDATASYNC, -EIO);
	assert_int_equal(backend_flush(fixture), -EIO);
	assert_int_equal(backend_flush(fixture), -EIO);
	assert_int_equal(shim_count(SHIM_FDATASYNC), 2);
	shim_script(SHIM_FDATASYNC, -ENOSPC);
	assert_int_equal(backend_flush(fixture), -ENOSPC);
	assert_int_equal(backend_flush(fixture), -EIO);
	fixture_open(fixture, &tcmu_ext_backend_file, FILE_BYTES);
	assert_int_equal(backend_flush(fixture), 0);
}

static void test_an_error_met_by_a_durable_write_fails_later_flushes(void **state)
{
	struct fixture *fixture = *state;
	size_t done;

	/* An error of this write alone. */
	shim_script(SHIM_PWRITEV2, -EIO, -ENOMEM, -ENOMEM, -ENOSPC, -ENOSPC);
	assert_int_equal(backend_write(fixture, fixture->message, 0, 512, 0, &done), -EIO);
	assert_int_equal(
		backend_write(fixture, fixture->message, 0, 512, TCMU_EXT_IO_DURABLE, &done),
		-ENOMEM);
	assert_int_equal(
		backend_write(fixture, fixture->message, 0, 512, TCMU_EXT_IO_DURABLE, &done),
		-ENOSPC);
	assert_int_equal(shim_record(SHIM_PWRITEV2, 2)->flags, 0);
	assert_int_equal(shim_record(SHIM_PWRITEV2, 4)->flags, 0);
	assert_int_equal(backend_flush(fixture), 0);
	/* Perhaps of an earlier one. */
	shim_script(SHIM_PWRITEV2, -EIO);
	assert_int_equal(
		backend_write(fixture, fixture->message, 0, 512, TCMU_EXT_IO_DURABLE, &done), -EIO);
	assert_int_equal(backend_flush(fixture), -EIO);
}

/* As a thin volume without space left, or a drive with a bad sector, fails what was written back.
 */
static void test_a_flush_that_fails_otherwise_than_by_eio_is_told_from_a_write(void **state)
{
	static const int flush_errors[] = { ENOSPC, EDQUOT, ENODATA, ETIMEDOUT, ENOMEM, EAGAIN };
	struct fixture *fixture = *state;
	size_t done;

	for (size_t i = 0; i < ARRAY_COUNT(flush_errors); i++) {
		fixture_open(fixture, &tcmu_ext_backend_file, FILE_BYTES);
		/* The write that tells may be interrupted as any other. */
		shim_script(SHIM_PWRITEV2, 100, -flush_errors[i], -EINTR);
		assert_int_equal(backend_write(fixture, fixture->message, 0, 512,
					       TCMU_EXT_IO_DURABLE, &done),
				 -flush_errors[i]);
		assert_int_equal(done, 100);
		/* Nothing that was lost comes back by trying again. */
		assert_int_equal(backend_flush(fixture),
				 flush_errors[i] == ENOMEM || flush_errors[i] == EAGAIN
					 ? -EIO
					 : -flush_errors[i]);
	}
}

static void test_a_read_only_file_refuses_writes(void **state)
{
	struct fixture *fixture = *state;
	size_t done;

	fixture->config.read_only = 1;
	fixture_open(fixture, &tcmu_ext_backend_file, FILE_BYTES);
	assert_true(tcmu_ext_backend_properties(fixture->backend)->read_only);
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->discard_granularity_bytes,
			 0);
	assert_int_equal(backend_write(fixture, fixture->message, 0, 512, 0, &done), -EROFS);
	assert_int_equal(done, 0);
	assert_int_equal(backend_write_zeroes(fixture, 0, 4096, 0), -EROFS);
	assert_int_equal(backend_write_zeroes(fixture, 0, 4096, TCMU_EXT_IO_UNMAP), -EROFS);
	assert_int_equal(backend_discard(fixture, 0, 4096), -EROFS);
	assert_int_equal(backend_flush(fixture), 0);
	fixture_check_file(fixture->path, 0, FILE_BYTES);
}

static int transfer_at_once(struct fixture *fixture, bool write, struct iovec_split *split,
			    uint64_t offset, size_t *done)
{
	const struct tcmu_ext_backend_operations *operations = &fixture->backend->operations;

	iovec_split_rewind(split);
	*done = 1;
	return (write ? operations->write
		      : operations->read)(fixture->backend->instance, split->iov, split->iov_count,
					  offset, split->bytes, TCMU_EXT_IO_NOWAIT, done);
}

static void test_a_transfer_that_must_not_wait(void **state)
{
	struct fixture *fixture = *state;
	struct iovec_split split;
	size_t done;

	iovec_split_make(&split, PART_BYTES, uneven);
	for (int write = 0; write < 2; write++) {
		enum shim_call call = write ? SHIM_PWRITEV2 : SHIM_PREADV;
		int result;

		/* Whether the page cache has it is its own affair; what it has is right. */
		fill_split(&split, PART_OFFSET);
		shim_forget_records();
		result = transfer_at_once(fixture, write, &split, PART_OFFSET, &done);
		assert_true(result == 0 || result == -EAGAIN || result == -EOPNOTSUPP);
		assert_int_equal(done, result ? 0 : PART_BYTES);
		assert_int_equal(shim_count_all(), 1);
		assert_int_equal(shim_record(call, 0)->flags, RWF_NOWAIT);
		if (!result && !write)
			check_split(&split, PART_OFFSET, PART_BYTES);

		/* Anything but all of it is left to the transfer that may wait. */
		shim_script(call, -EAGAIN, -EINTR, -EIO, -EINVAL, SHIM_NOTHING);
		for (int i = 0; i < 5; i++) {
			assert_int_equal(
				transfer_at_once(fixture, write, &split, PART_OFFSET, &done),
				-EAGAIN);
			assert_int_equal(done, 0);
		}
		shim_script(call, -EOPNOTSUPP);
		assert_int_equal(transfer_at_once(fixture, write, &split, PART_OFFSET, &done),
				 -EOPNOTSUPP);
		assert_int_equal(done, 0);
		/* The last part of a call that is cut short is not asked for; the entries stay. */
		shim_script(call, 700);
		result = transfer_at_once(fixture, write, &split, PART_OFFSET, &done);
		assert_true(result == -EAGAIN || result == -EOPNOTSUPP);
		assert_int_equal(split.iov[0].iov_len, 1);
		assert_int_equal(split.iov[1].iov_len, 4095);
	}
	assert_int_equal(backend_flush(fixture), 0);
	fixture_check_file(fixture->path, 0, FILE_BYTES);
	iovec_split_free(&split);
}

static void test_how_transfers_are_queued(void **state)
{
	struct fixture *fixture = *state;
	struct tcmu_ext_backend_queue queue;
	struct statfs file_system;
	int failed = statfs(fixture->path, &file_system);

	assert_int_equal(failed, 0);
	for (int lock = 0; lock < 2; lock++) {
		fixture->config.lock = lock;
		fixture_open(fixture, &tcmu_ext_backend_file, FILE_BYTES);
		queue = (struct tcmu_ext_backend_queue){ .struct_bytes = sizeof(queue) };
		fixture->backend->operations.describe_queue(fixture->backend->instance, &queue);
		assert_int_equal(queue.struct_bytes, sizeof(queue));
		assert_int_equal(queue.descriptor,
				 ((struct storage *)fixture->backend->instance)->fd);
		assert_int_equal(queue.never_waits, file_system.f_type == TMPFS_MAGIC);
		assert_false(queue.direct);
		assert_int_equal(queue.exclusive, lock);
	}
}

static void test_prefetch(void **state)
{
	struct fixture *fixture = *state;
	const struct tcmu_ext_backend_operations *operations = &fixture->backend->operations;
	void *instance = fixture->backend->instance;

	assert_int_equal(operations->prefetch(instance, 4096, 8192), 0);
	assert_int_equal(shim_record(SHIM_FADVISE, 0)->offset, 4096);
	assert_int_equal(shim_record(SHIM_FADVISE, 0)->bytes, 8192);
	/* A length of zero would be everything to the end of the file. */
	assert_int_equal(operations->prefetch(instance, 4096, 0), 0);
	assert_int_equal(shim_count(SHIM_FADVISE), 1);
	/* More than the kernel takes without waiting is not asked for. */
	assert_int_equal(operations->prefetch(instance, 0, UINT64_C(1) << 40), 0);
	assert_true(shim_record(SHIM_FADVISE, 1)->bytes <= 16u << 20);
	assert_int_equal(shim_count(SHIM_PREADV), 0);
	shim_script(SHIM_FADVISE, -EIO);
	assert_int_equal(operations->prefetch(instance, 0, 4096), -EIO);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_read_is_one_call),
		TEST(test_a_write_is_one_call),
		TEST(test_nothing_to_do_calls_nothing),
		TEST(test_entries_without_length),
		TEST(test_short_reads_go_on),
		TEST(test_short_writes_go_on),
		TEST(test_all_of_a_durable_write_is_durable),
		TEST(test_signals_interrupt_nothing),
		TEST(test_errors_say_how_far_it_went),
		TEST(test_a_write_that_makes_no_progress_fails),
		TEST(test_a_file_that_ends_early_reads_as_zeroes),
		TEST(test_more_entries_than_a_call_takes),
		TEST(test_durability_without_a_flag_for_it),
		TEST(test_a_failed_flush_is_not_forgotten),
		TEST(test_an_error_met_by_a_durable_write_fails_later_flushes),
		TEST(test_a_flush_that_fails_otherwise_than_by_eio_is_told_from_a_write),
		TEST(test_a_read_only_file_refuses_writes),
		TEST(test_a_transfer_that_must_not_wait),
		TEST(test_how_transfers_are_queued),
		TEST(test_prefetch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
