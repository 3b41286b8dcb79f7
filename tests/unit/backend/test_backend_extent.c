/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Which ranges of a file hold data, and growing one. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LUN_BYTES = 1024 * 1024,
	GROWN_BYTES = 2 * LUN_BYTES,
	ROOMY_BYTES = 4 * LUN_BYTES,
	DATA_OFFSET = 256 * 1024,
	DATA_BYTES = 128 * 1024,
};

/* A file of a hole, data, and a hole. */
static int setup(void **state)
{
	struct fixture *fixture;
	FILE *file;

	if (fixture_setup(state))
		return -1;
	fixture = *state;
	file = fopen(fixture->path, "w");
	if (!file || fseek(file, DATA_OFFSET, SEEK_SET))
		return -1;
	for (size_t i = 0; i < DATA_BYTES; i++)
		putc(1, file);
	if (fclose(file) || truncate(fixture->path, LUN_BYTES))
		return -1;
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	return 0;
}

static void check_run(struct fixture *fixture, uint64_t offset, uint64_t bytes,
		      enum tcmu_ext_allocation expected, uint64_t expected_bytes)
{
	enum tcmu_ext_allocation allocation;
	uint64_t run_bytes = 0;

	shim_forget_records();
	assert_int_equal(fixture->backend->operations.allocation(fixture->backend->instance, offset,
								 bytes, &run_bytes, &allocation),
			 0);
	check(allocation == expected && run_bytes == expected_bytes,
	      "%ju bytes from %ju on are %s, not %ju", (uintmax_t)run_bytes, (uintmax_t)offset,
	      allocation == TCMU_EXT_MAPPED ? "mapped" : "deallocated", (uintmax_t)expected_bytes);
	assert_in_range(shim_count_all(), 1, 2);
}

static void test_runs_of_a_sparse_file(void **state)
{
	struct fixture *fixture = *state;
	uint64_t end = DATA_OFFSET + DATA_BYTES;

	check_run(fixture, 0, LUN_BYTES, TCMU_EXT_DEALLOCATED, DATA_OFFSET);
	check_run(fixture, 0, 4096, TCMU_EXT_DEALLOCATED, 4096);
	check_run(fixture, DATA_OFFSET - 512, LUN_BYTES, TCMU_EXT_DEALLOCATED, 512);
	check_run(fixture, DATA_OFFSET, LUN_BYTES, TCMU_EXT_MAPPED, DATA_BYTES);
	check_run(fixture, DATA_OFFSET + 512, LUN_BYTES, TCMU_EXT_MAPPED, DATA_BYTES - 512);
	check_run(fixture, DATA_OFFSET, 8192, TCMU_EXT_MAPPED, 8192);
	check_run(fixture, end, LUN_BYTES - end, TCMU_EXT_DEALLOCATED, LUN_BYTES - end);
	/* Beyond the end of a file that was cut short. */
	check_run(fixture, LUN_BYTES, 8192, TCMU_EXT_DEALLOCATED, 8192);
}

static void test_a_full_file_is_mapped(void **state)
{
	struct fixture *fixture = *state;

	fixture_close(fixture);
	fixture_make_file(fixture->path, LUN_BYTES);
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	check_run(fixture, 0, LUN_BYTES, TCMU_EXT_MAPPED, LUN_BYTES);
	check_run(fixture, 0, LUN_BYTES / 2, TCMU_EXT_MAPPED, LUN_BYTES / 2);
}

static void test_runs_are_of_whole_blocks(void **state)
{
	struct fixture *fixture = *state;

	/* Data begins and ends within blocks. */
	shim_script(SHIM_LSEEK, 2000);
	check_run(fixture, 512, LUN_BYTES, TCMU_EXT_DEALLOCATED, 1024);
	shim_script(SHIM_LSEEK, 2000);
	check_run(fixture, 1536, LUN_BYTES, TCMU_EXT_MAPPED, 512);
	shim_script(SHIM_LSEEK, 4096, 5000);
	check_run(fixture, 4096, LUN_BYTES, TCMU_EXT_MAPPED, 1024);
	shim_script(SHIM_LSEEK, 4096, 4097);
	check_run(fixture, 4096, 512, TCMU_EXT_MAPPED, 512);
}

static void test_a_file_system_that_cannot_tell(void **state)
{
	struct fixture *fixture = *state;

	shim_script(SHIM_LSEEK, -EINVAL);
	check_run(fixture, 4096, LUN_BYTES, TCMU_EXT_MAPPED, LUN_BYTES);
	shim_script(SHIM_LSEEK, -EIO);
	check_run(fixture, 4096, 8192, TCMU_EXT_MAPPED, 8192);
	shim_script(SHIM_LSEEK, 4096, -EINVAL);
	check_run(fixture, 4096, 8192, TCMU_EXT_MAPPED, 8192);
	/* Nothing moves, not even on nonsense. */
	shim_script(SHIM_LSEEK, 4096, 4096);
	check_run(fixture, 4096, 8192, TCMU_EXT_MAPPED, 8192);
	shim_script(SHIM_LSEEK, 0);
	check_run(fixture, 4096, 8192, TCMU_EXT_MAPPED, 8192);
}

/* -- growing ----------------------------------------------------------------------------------- */

static void test_a_file_grows(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	assert_int_equal(backend_resize(fixture->backend, LUN_BYTES), 0);
	assert_int_equal(shim_count(SHIM_FTRUNCATE), 0);
	assert_int_equal(backend_resize(fixture->backend, GROWN_BYTES), 0);
	assert_int_equal(fixture_file_bytes(fixture->path), GROWN_BYTES);
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->size_bytes, GROWN_BYTES);
	assert_int_equal(stat(fixture->path, &status), 0);
	assert_true(status.st_blocks * 512 < LUN_BYTES);
	fixture_check_file_zero(fixture->path, LUN_BYTES, LUN_BYTES);
	assert_int_equal(fixture->messages, 0);
}

static void test_a_file_with_room_is_left_as_it_is(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(truncate(fixture->path, ROOMY_BYTES), 0);
	assert_int_equal(backend_resize(fixture->backend, GROWN_BYTES), 0);
	assert_int_equal(fixture_file_bytes(fixture->path), ROOMY_BYTES);
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->size_bytes, ROOMY_BYTES);
	assert_int_equal(shim_count(SHIM_FTRUNCATE) + shim_count(SHIM_ALLOCATE), 0);
	/* Never less than there is in use. */
	assert_int_equal(backend_resize(fixture->backend, GROWN_BYTES - 512), -EINVAL);
	assert_int_equal(fixture_file_bytes(fixture->path), ROOMY_BYTES);
}

static void test_full_files_stay_full(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	fixture->config.create = TCMU_EXT_CREATE_FULL;
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	shim_script(SHIM_ALLOCATE, -EINTR);
	assert_int_equal(backend_resize(fixture->backend, GROWN_BYTES), 0);
	assert_int_equal(fixture_file_bytes(fixture->path), GROWN_BYTES);
	assert_int_equal(stat(fixture->path, &status), 0);
	assert_true(status.st_blocks * 512 >= LUN_BYTES);
	/* Beyond the end: a file that cannot be filled is not half as long again either. */
	assert_int_equal(shim_record(SHIM_ALLOCATE, 0)->flags, FALLOC_FL_KEEP_SIZE);
	assert_int_equal(shim_record(SHIM_ALLOCATE, 0)->offset, LUN_BYTES);
	assert_int_equal(shim_record(SHIM_ALLOCATE, 0)->bytes, LUN_BYTES);
}

struct failure {
	enum shim_call call;
	int error;
	int create;
};

static const struct failure failures[] = {
	{ SHIM_FSTAT, EIO, TCMU_EXT_CREATE_SPARSE },
	{ SHIM_FTRUNCATE, EFBIG, TCMU_EXT_CREATE_SPARSE },
	{ SHIM_ALLOCATE, ENOSPC, TCMU_EXT_CREATE_FULL },
};

static void test_growing_that_fails_changes_nothing(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_COUNT(failures); i++) {
		fixture->config.create = failures[i].create;
		fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
		shim_script(failures[i].call, -failures[i].error);
		assert_int_equal(backend_resize(fixture->backend, GROWN_BYTES), -failures[i].error);
		assert_int_equal(fixture->errors, 1);
		assert_non_null(strstr(fixture->message, "2097152"));
		assert_non_null(strstr(fixture->message, "keeps its size of 1048576"));
		assert_int_equal(fixture_file_bytes(fixture->path), LUN_BYTES);
		assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->size_bytes,
				 LUN_BYTES);
		/* And it is still of that size: less is refused, the same is not. */
		assert_int_equal(backend_resize(fixture->backend, LUN_BYTES - 512), -EINVAL);
		assert_int_equal(backend_resize(fixture->backend, LUN_BYTES), 0);
	}
}

static void test_what_was_reserved_is_let_go(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.create = TCMU_EXT_CREATE_FULL;
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	shim_script(SHIM_ALLOCATE, -ENOSPC);
	assert_int_equal(backend_resize(fixture->backend, GROWN_BYTES), -ENOSPC);
	assert_int_equal(shim_count(SHIM_FTRUNCATE), 1);
	assert_int_equal(shim_record(SHIM_FTRUNCATE, 0)->bytes, LUN_BYTES);
	/* That it cannot be is not why growing failed. */
	shim_script(SHIM_ALLOCATE, -ENOSPC);
	shim_script(SHIM_FTRUNCATE, -EIO);
	assert_int_equal(backend_resize(fixture->backend, GROWN_BYTES), -ENOSPC);
}

/* What the LUN writes beyond the end of a file that was cut off must not be cut off with it. */
static void test_a_file_that_was_cut_off_is_not_cut_again(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.create = TCMU_EXT_CREATE_FULL;
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	assert_int_equal(truncate(fixture->path, LUN_BYTES / 2), 0);
	shim_script(SHIM_ALLOCATE, -ENOSPC);
	assert_int_equal(backend_resize(fixture->backend, GROWN_BYTES), -ENOSPC);
	assert_int_equal(shim_count(SHIM_FTRUNCATE), 0);
}

static void test_a_read_only_file_grows_when_others_extend_it(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.read_only = 1;
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	assert_int_equal(backend_resize(fixture->backend, GROWN_BYTES), -EROFS);
	assert_int_equal(truncate(fixture->path, GROWN_BYTES), 0);
	assert_int_equal(backend_resize(fixture->backend, GROWN_BYTES), 0);
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->size_bytes, GROWN_BYTES);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_runs_of_a_sparse_file),
		TEST(test_a_full_file_is_mapped),
		TEST(test_runs_are_of_whole_blocks),
		TEST(test_a_file_system_that_cannot_tell),
		TEST(test_a_file_grows),
		TEST(test_a_file_with_room_is_left_as_it_is),
		TEST(test_full_files_stay_full),
		TEST(test_growing_that_fails_changes_nothing),
		TEST(test_what_was_reserved_is_let_go),
		TEST(test_a_file_that_was_cut_off_is_not_cut_again),
		TEST(test_a_read_only_file_grows_when_others_extend_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
