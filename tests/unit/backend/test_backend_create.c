/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* create=: a file is made whole or not at all, and one that exists is left as it is. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LUN_BYTES = 1024 * 1024 };

static int setup(void **state)
{
	struct fixture *fixture;

	if (fixture_setup_lun(state, LUN_BYTES))
		return -1;
	fixture = *state;
	fixture->config.create = TCMU_EXT_CREATE_SPARSE;
	return 0;
}

static struct stat status_of(const char *path)
{
	struct stat status;
	int failed = lstat(path, &status);

	assert_int_equal(failed, 0);
	return status;
}

/* Nothing is in the test's directory. */
static void check_nothing_made(struct fixture *fixture)
{
	assert_int_equal(rmdir(fixture->directory), 0);
	assert_int_equal(mkdir(fixture->directory, 0700), 0);
}

static void test_sparse(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	status = status_of(fixture->path);
	assert_true(S_ISREG(status.st_mode));
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(status.st_size, LUN_BYTES);
	assert_int_equal(status.st_blocks, 0);
	assert_int_equal(fixture->messages, 1);
	assert_int_equal(fixture->warnings, 1);
	assert_non_null(strstr(fixture->message, fixture->path));
	assert_non_null(strstr(fixture->message, "new and empty (1048576 bytes, none allocated)"));
}

static void test_full(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	fixture->config.create = TCMU_EXT_CREATE_FULL;
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	status = status_of(fixture->path);
	assert_int_equal(status.st_size, LUN_BYTES);
	assert_true(status.st_blocks * 512 >= LUN_BYTES);
	assert_non_null(strstr(fixture->message, "new and empty (1048576 bytes, all allocated)"));
	fixture_check_file_zero(fixture->path, 0, LUN_BYTES);
}

static void test_the_file_can_be_used_and_opened_again(void **state)
{
	struct fixture *fixture = *state;
	uint8_t memory[4096];
	size_t done;

	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = fixture_byte(8192 + i);
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	assert_int_equal(backend_write(fixture, memory, 8192, 4096, 0, &done), 0);
	for (int create = 0; create <= TCMU_EXT_CREATE_FULL; create++) {
		fixture->messages = 0;
		fixture->config.create = create;
		fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
		assert_int_equal(fixture->messages, 0);
		assert_int_equal(shim_count(SHIM_FTRUNCATE) + shim_count(SHIM_ALLOCATE), 0);
	}
	fixture_check_file(fixture->path, 8192, 4096);
}

static void test_what_exists_is_left_as_it_is(void **state)
{
	struct fixture *fixture = *state;

	fixture_make_file(fixture->path, LUN_BYTES + 4096);
	for (int create = TCMU_EXT_CREATE_SPARSE; create <= TCMU_EXT_CREATE_FULL; create++) {
		fixture->config.create = create;
		fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
		assert_int_equal(fixture_file_bytes(fixture->path), LUN_BYTES + 4096);
		fixture_close(fixture);
	}
	fixture_check_file(fixture->path, 0, LUN_BYTES + 4096);

	fixture_make_file(fixture->path, 1000);
	for (int create = TCMU_EXT_CREATE_SPARSE; create <= TCMU_EXT_CREATE_FULL; create++) {
		fixture->config.create = create;
		fixture_open_fails(fixture, &tcmu_ext_backend_file, -EINVAL, "1000 bytes");
		assert_int_equal(fixture_file_bytes(fixture->path), 1000);
	}
	fixture_check_file(fixture->path, 0, 1000);
	fixture_make_file(fixture->path, 0);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EINVAL, "0 bytes");
	assert_int_equal(fixture_file_bytes(fixture->path), 0);
}

struct failure {
	enum shim_call call;
	unsigned int passes; /* calls before the one that fails */
	int error;
	int create;
	int cache;
};

/* Every step from making the file to the end of opening it. */
static const struct failure failures[] = {
	{ SHIM_OPEN_PATH, 0, EACCES, TCMU_EXT_CREATE_SPARSE, 0 },
	{ SHIM_OPEN_OTHER, 0, EACCES, TCMU_EXT_CREATE_SPARSE, 0 },
	{ SHIM_OPENAT, 0, EROFS, TCMU_EXT_CREATE_SPARSE, 0 },
	{ SHIM_OPENAT, 0, EEXIST, TCMU_EXT_CREATE_SPARSE, 0 },
	{ SHIM_OPENAT, 0, ENOSPC, TCMU_EXT_CREATE_SPARSE, 0 },
	{ SHIM_FCNTL, 0, ENOLCK, TCMU_EXT_CREATE_SPARSE, 0 },
	{ SHIM_FTRUNCATE, 0, EFBIG, TCMU_EXT_CREATE_SPARSE, 0 },
	{ SHIM_ALLOCATE, 0, ENOSPC, TCMU_EXT_CREATE_FULL, 0 },
	{ SHIM_ALLOCATE, 0, EOPNOTSUPP, TCMU_EXT_CREATE_FULL, 0 },
	{ SHIM_FSYNC, 0, EIO, TCMU_EXT_CREATE_SPARSE, 0 },
	{ SHIM_FSYNC, 1, EIO, TCMU_EXT_CREATE_SPARSE, 0 },
	{ SHIM_FSTAT, 0, EIO, TCMU_EXT_CREATE_SPARSE, 0 },
	{ SHIM_FSTAT, 1, EIO, TCMU_EXT_CREATE_SPARSE, 0 },
	{ SHIM_FCNTL, 1, EIO, TCMU_EXT_CREATE_SPARSE, TCMU_EXT_CACHE_NONE },    /* F_GETFL */
	{ SHIM_FCNTL, 2, EINVAL, TCMU_EXT_CREATE_SPARSE, TCMU_EXT_CACHE_NONE }, /* O_DIRECT */
};

static void test_a_step_that_fails_leaves_nothing(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_COUNT(failures); i++) {
		const struct failure *failure = &failures[i];
		long actions[4] = { SHIM_PASS, SHIM_PASS, SHIM_PASS, SHIM_PASS };

		shim_reset();
		actions[failure->passes] = -failure->error;
		shim_set_script(failure->call, actions, failure->passes + 1);
		fixture->config.create = failure->create;
		fixture->config.cache = failure->cache;
		fixture_open_fails(fixture, &tcmu_ext_backend_file, -failure->error, fixture->path);
		assert_true(shim_count(failure->call) > failure->passes);
		check_nothing_made(fixture);
	}
}

static void test_memory_that_runs_out_leaves_nothing(void **state)
{
	struct fixture *fixture = *state;
	long actions[32];
	size_t failing;
	int error;

	for (failing = 0; failing < ARRAY_COUNT(actions) - 1; failing++) {
		for (size_t i = 0; i < failing; i++)
			actions[i] = SHIM_PASS;
		actions[failing] = -ENOMEM;
		shim_set_script(SHIM_ALLOCATE_MEMORY, actions, failing + 1);
		error = tcmu_ext_backend_open(&tcmu_ext_backend_file, &fixture->config,
					      &fixture->backend);
		if (!error)
			break;
		assert_int_equal(error, -ENOMEM);
		assert_null(fixture->backend);
		check_nothing_made(fixture);
	}
	assert_int_equal(failing, 9); /* the backend, the file, its strings, the directory twice */
}

static void test_messages_say_what_to_do(void **state)
{
	struct fixture *fixture = *state;

	shim_script(SHIM_ALLOCATE, -EOPNOTSUPP);
	fixture->config.create = TCMU_EXT_CREATE_FULL;
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EOPNOTSUPP, "create=sparse");

	strcat(fixture->path, "/disk");
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -ENOENT, "directory first");
	*strrchr(fixture->path, '/') = '\0';
	strcat(fixture->path, "/");
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EINVAL, "add the name of a file");
	strcpy(fixture->path, "disk");
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EINVAL, "absolute path");
	fixture->config.read_only = 1;
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -ENOENT, "leave ;ro out");
	check_nothing_made(fixture);
}

static void test_a_link_that_leads_nowhere(void **state)
{
	struct fixture *fixture = *state;
	char target[PATH_MAX + 64];

	snprintf(target, sizeof(target), "%s/target", fixture->directory);
	assert_int_equal(symlink(target, fixture->path), 0);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -ENOENT, "is a link to");
	assert_false(fixture_exists(target));
	assert_true(fixture_exists(fixture->path));
}

static void replace_file(void *context)
{
	struct fixture *fixture = context;

	unlink(fixture->path);
	fixture_make_file(fixture->path, 100);
}

static void test_what_took_the_place_of_the_file_is_not_removed(void **state)
{
	struct fixture *fixture = *state;

	shim_before(SHIM_FTRUNCATE, replace_file, fixture);
	shim_script(SHIM_FTRUNCATE, -EIO);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EIO, fixture->path);
	fixture_check_file(fixture->path, 0, 100);
}

static void open_it_too(void *context)
{
	struct fixture *fixture = context;
	struct tcmu_ext_backend_config config = fixture->config;
	struct tcmu_ext_backend *backend;

	shim_before(SHIM_FTRUNCATE, NULL, NULL);
	config.log = (struct tcmu_ext_log){ 0 };
	assert_int_equal(tcmu_ext_backend_open(&tcmu_ext_backend_file, &config, &backend), -EBUSY);
}

static void open_it_first(void *context)
{
	struct fixture *fixture = context;
	struct tcmu_ext_backend_config config = fixture->config;
	struct tcmu_ext_backend *backend;

	shim_before(SHIM_FCNTL, NULL, NULL);
	config.log = (struct tcmu_ext_log){ 0 };
	assert_int_equal(tcmu_ext_backend_open(&tcmu_ext_backend_file, &config, &backend), -EINVAL);
}

static void test_nobody_gets_a_file_half_made(void **state)
{
	struct fixture *fixture = *state;

	shim_before(SHIM_FTRUNCATE, open_it_too, fixture);
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	fixture_close(fixture);
	unlink(fixture->path);
	/* Before it is locked, it is too short for others. */
	shim_before(SHIM_FCNTL, open_it_first, fixture);
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
}

static void test_the_directory_is_flushed_if_it_can_be(void **state)
{
	struct fixture *fixture = *state;

	shim_script(SHIM_FSYNC, SHIM_PASS, -EINVAL);
	assert_int_equal(
		tcmu_ext_backend_open(&tcmu_ext_backend_file, &fixture->config, &fixture->backend),
		0);
	assert_int_equal(shim_count(SHIM_FSYNC), 2);
	assert_true(shim_record(SHIM_OPENAT, 0)->flags & O_EXCL);
	assert_true(shim_record(SHIM_OPENAT, 0)->flags & O_NOCTTY);
}

static void test_signals_interrupt_nothing(void **state)
{
	struct fixture *fixture = *state;

	shim_script(SHIM_ALLOCATE, -EINTR, -EINTR);
	fixture->config.create = TCMU_EXT_CREATE_FULL;
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	assert_int_equal(fixture_file_bytes(fixture->path), LUN_BYTES);
}

static void test_in_the_root_directory(void **state)
{
	static char path[] = "/backend-test-disk";
	struct fixture *fixture = *state;

	/* The directory is found; nothing is made in it. */
	fixture->config.path = path;
	shim_script(SHIM_OPENAT, -EROFS);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EROFS, path);
	assert_int_equal(shim_count(SHIM_OPENAT), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sparse),
		TEST(test_full),
		TEST(test_the_file_can_be_used_and_opened_again),
		TEST(test_what_exists_is_left_as_it_is),
		TEST(test_a_step_that_fails_leaves_nothing),
		TEST(test_memory_that_runs_out_leaves_nothing),
		TEST(test_messages_say_what_to_do),
		TEST(test_a_link_that_leads_nowhere),
		TEST(test_what_took_the_place_of_the_file_is_not_removed),
		TEST(test_nobody_gets_a_file_half_made),
		TEST(test_the_directory_is_flushed_if_it_can_be),
		TEST(test_signals_interrupt_nothing),
		TEST(test_in_the_root_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
