/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Opening what a process that was killed may still have transfers under way on: how long that is
 * waited for, and what is said when it was in vain.
 */
#include "block_fixture.h"

#include <errno.h>
#include <string.h>

enum {
	WAIT_SECONDS = 10,
	NANOSECONDS = 1000000000,
};

/* Others than the one that is open, which holds the lock. */
static struct tcmu_ext_backend *holder;

static void let_go(void *context)
{
	const unsigned int *sleeps = context;

	if (shim_count(SHIM_SLEEP) < *sleeps)
		return;
	tcmu_ext_backend_close(holder);
	holder = NULL;
}

static void hold_file(struct fixture *fixture)
{
	fixture_make_file(fixture->path, LUN_BYTES);
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	holder = fixture->backend;
	fixture->backend = NULL;
	fixture->config.succeeds = 1;
	fixture->messages = 0;
}

static void expect_waited(unsigned int seconds)
{
	size_t sleeps = shim_count(SHIM_SLEEP);

	if (seconds)
		assert_int_equal(sleeps * shim_record(SHIM_SLEEP, 0)->bytes,
				 (size_t)seconds * NANOSECONDS);
	else
		assert_int_equal(sleeps, 0);
}

static void test_a_file_that_is_let_go_of(void **state)
{
	struct fixture *fixture = *state;
	unsigned int sleeps = 3;

	hold_file(fixture);
	shim_before(SHIM_SLEEP, let_go, &sleeps);
	assert_int_equal(
		tcmu_ext_backend_open(&tcmu_ext_backend_file, &fixture->config, &fixture->backend),
		0);
	assert_int_equal(shim_count(SHIM_SLEEP), sleeps);
	assert_int_equal(fixture->messages, 1);
	assert_non_null(strstr(fixture->message, "still in use: waiting"));
}

static void test_a_file_that_is_not(void **state)
{
	struct fixture *fixture = *state;

	hold_file(fixture);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EBUSY, "killed");
	assert_non_null(strstr(fixture->message, "restart the daemon"));
	assert_int_equal(fixture->messages, 2);
	expect_waited(WAIT_SECONDS);
	shim_forget_records();
	fixture->config.succeeds = 0;
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EBUSY, "another LUN or program");
	assert_null(strstr(fixture->message, "killed"));
	expect_waited(0);
	tcmu_ext_backend_close(holder);
}

static void test_a_device_that_is_let_go_of(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.succeeds = 1;
	shim_script(SHIM_REOPEN, -EBUSY, -EBUSY);
	assert_int_equal(
		tcmu_ext_backend_open(&tcmu_ext_backend_block, &fixture->config, &fixture->backend),
		0);
	assert_int_equal(shim_count(SHIM_SLEEP), 2);
	assert_int_equal(fixture->messages, 1);
	assert_non_null(strstr(fixture->message, "still in use: waiting"));
}

static void test_a_device_that_is_not(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.succeeds = 1;
	shim_always(SHIM_REOPEN, -EBUSY);
	fixture_open_fails(fixture, &tcmu_ext_backend_block, -EBUSY, "killed");
	assert_non_null(strstr(fixture->message, "restart the daemon"));
	expect_waited(WAIT_SECONDS);
	shim_forget_records();
	fixture->config.succeeds = 0;
	fixture_open_fails(fixture, &tcmu_ext_backend_block, -EBUSY, "mounted");
	assert_null(strstr(fixture->message, "killed"));
	expect_waited(0);
}

/* Nobody lets go of what is not there. */
static void test_other_errors_are_not_waited_for(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.succeeds = 1;
	shim_script(SHIM_REOPEN, -ENXIO);
	fixture_open_fails(fixture, &tcmu_ext_backend_block, -ENXIO, "attached");
	expect_waited(0);
}

int main(void)
{
#define FILE_TEST(test)   cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
#define DEVICE_TEST(test) cmocka_unit_test_setup_teardown(test, block_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		FILE_TEST(test_a_file_that_is_let_go_of),
		FILE_TEST(test_a_file_that_is_not),
		DEVICE_TEST(test_a_device_that_is_let_go_of),
		DEVICE_TEST(test_a_device_that_is_not),
		DEVICE_TEST(test_other_errors_are_not_waited_for),
	};

	return run_unit_tests(tests);
}
