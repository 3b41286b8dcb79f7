/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Block devices: which are opened, how, and what is learned of them. */
#include "block_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/major.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_properties(void **state)
{
	struct fixture *fixture = *state;
	const struct tcmu_ext_backend_properties *properties = open_device(fixture);

	assert_int_equal(properties->size_bytes, DEVICE_BYTES);
	assert_int_equal(properties->logical_block_bytes, 1);
	assert_int_equal(properties->physical_block_bytes, 4096);
	assert_int_equal(properties->physical_alignment_bytes, 0);
	assert_int_equal(properties->optimal_transfer_bytes, 65536);
	assert_int_equal(properties->discard_granularity_bytes, 4096);
	assert_int_equal(properties->discard_alignment_bytes, 0);
	assert_true(properties->discard_reads_zero);
	assert_false(properties->read_only);
	assert_false(properties->rotational);
	assert_int_equal(fixture->messages, 0);
	fixture_check_file(fixture->path, 0, DEVICE_BYTES);

	shim_device.rotational = 1;
	shim_device.physical_block_bytes = 0; /* a driver that does not say */
	shim_device.optimal_transfer_bytes = 0;
	properties = open_device(fixture);
	assert_true(properties->rotational);
	assert_int_equal(properties->physical_block_bytes, 512);
	assert_int_equal(properties->optimal_transfer_bytes, 0);
}

static void test_alignments(void **state)
{
	struct fixture *fixture = *state;
	const struct tcmu_ext_backend_properties *properties;

	set_attribute("alignment_offset", "3584");
	set_attribute("discard_alignment", "1048064");
	set_attribute("queue/discard_granularity", "1048576");
	properties = open_device(fixture);
	assert_int_equal(properties->physical_alignment_bytes, 3584);
	assert_int_equal(properties->discard_granularity_bytes, 1048576);
	assert_int_equal(properties->discard_alignment_bytes, 1048064);
	/* What cannot be: no alignment is better than a wrong one. */
	set_attribute("alignment_offset", "-1");
	set_attribute("discard_alignment", "1048576");
	properties = open_device(fixture);
	assert_int_equal(properties->physical_alignment_bytes, 0);
	assert_int_equal(properties->discard_alignment_bytes, 0);
	set_attribute("queue/discard_granularity", "0");
	properties = open_device(fixture);
	assert_int_equal(properties->discard_granularity_bytes, 512);
}

static void test_a_partition_has_the_limits_of_its_disk(void **state)
{
	struct fixture *fixture = *state;
	const struct tcmu_ext_backend_properties *properties;

	strcat(sysfs, "/sda1");
	assert_int_equal(mkdir(sysfs, 0700), 0);
	set_attribute("alignment_offset", "512");
	set_attribute("discard_alignment", "1024");
	properties = open_device(fixture);
	assert_int_equal(properties->physical_alignment_bytes, 512);
	assert_int_equal(properties->discard_granularity_bytes, 4096);
	assert_int_equal(properties->discard_alignment_bytes, 1024);
	assert_true(properties->discard_reads_zero);
}

static void test_without_sysfs(void **state)
{
	struct fixture *fixture = *state;
	const struct tcmu_ext_backend_properties *properties;

	shim_always(SHIM_OPEN_OTHER, -ENOENT);
	properties = open_device(fixture);
	assert_int_equal(properties->discard_granularity_bytes, 0);
	assert_false(properties->discard_reads_zero);
	assert_int_equal(properties->physical_block_bytes, 4096);
	assert_int_equal(backend_discard(fixture, 0, 4096), -EOPNOTSUPP);
}

static void test_the_flags_it_is_opened_with(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 4; i++) {
		int flags;

		fixture->config.lock = i & 1;
		fixture->config.read_only = i >> 1;
		fixture_close(fixture);
		shim_forget_records();
		assert_int_equal(tcmu_ext_backend_open(&tcmu_ext_backend_block, &fixture->config,
						       &fixture->backend),
				 0);
		flags = shim_record(SHIM_REOPEN, 0)->flags;
		assert_int_equal(flags & O_ACCMODE, i >> 1 ? O_RDONLY : O_RDWR);
		assert_int_equal(!!(flags & O_EXCL), i & 1);
		assert_true(flags & O_NOCTTY);
		assert_false(flags & (O_CREAT | O_TRUNC));
		assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->read_only, i >> 1);
		assert_int_equal(
			tcmu_ext_backend_properties(fixture->backend)->discard_granularity_bytes,
			i >> 1 ? 0 : 4096);
	}
	assert_int_equal(shim_count(SHIM_FCNTL), 0);
}

static void check_refused(struct fixture *fixture, int error, const char *text)
{
	char *reason = NULL;

	assert_int_equal((tcmu_ext_backend_block.check)(&fixture->config, &reason), error);
	assert_non_null(reason);
	check(strstr(reason, text), "\"%s\" is not in: %s", text, reason);
	free(reason);
	shim_forget_records();
	fixture_open_fails(fixture, &tcmu_ext_backend_block, error, text);
	assert_int_equal(shim_count(SHIM_REOPEN), 0);
}

static void test_only_block_devices(void **state)
{
	struct fixture *fixture = *state;
	char *reason = (char *)fixture;

	assert_int_equal((tcmu_ext_backend_block.check)(&fixture->config, &reason), 0);
	assert_null(reason);
	shim_device.inode = 0;
	check_refused(fixture, -EINVAL, "is a regular file: use user:file for it");
	unlink(fixture->path);
	check_refused(fixture, -ENOENT, "there is no device");
	strcat(fixture->path, "/");
	check_refused(fixture, -EINVAL, "leave the slash out");
	fixture->path[strlen(fixture->path) - 1] = '\0';
	assert_int_equal(mkfifo(fixture->path, 0600), 0);
	check_refused(fixture, -EINVAL, "is a FIFO: give the path of a block device");
	fixture->config.path = fixture->directory;
	check_refused(fixture, -EINVAL, "is a directory: give the path of a block device");
	fixture->config.path = (char[]){ "/dev/null" };
	check_refused(fixture, -EINVAL, "is a character device: give the path of a block device");
}

struct opening_error {
	int error;
	const char *text;
};

static const struct opening_error opening_errors[] = {
	{ EBUSY, "mounted" },    { EROFS, "add ;ro" },        { EACCES, "add ;ro" },
	{ EPERM, "add ;ro" },    { ENXIO, "attached" },       { ENODEV, "attached" },
	{ ENOMEDIUM, "medium" }, { EIO, "cannot be opened" },
};

static void test_opening_errors(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_COUNT(opening_errors); i++) {
		shim_script(SHIM_REOPEN, -opening_errors[i].error);
		fixture_open_fails(fixture, &tcmu_ext_backend_block, -opening_errors[i].error,
				   opening_errors[i].text);
	}
	shim_script(SHIM_FSTAT, SHIM_PASS, -EIO);
	fixture_open_fails(fixture, &tcmu_ext_backend_block, -EIO, "cannot be opened");
	shim_device.read_only = 1;
	fixture_open_fails(fixture, &tcmu_ext_backend_block, -EROFS, "add ;ro");
	fixture->config.read_only = 1;
	open_device(fixture);
}

static void test_zones_are_refused(void **state)
{
	struct fixture *fixture = *state;

	set_attribute("queue/zoned", "host-managed");
	fixture_open_fails(fixture, &tcmu_ext_backend_block, -EINVAL, "zoned");
	set_attribute("queue/zoned", "host-aware");
	open_device(fixture);
}

static void test_the_size_there_must_be(void **state)
{
	struct fixture *fixture = *state;

	shim_device.bytes = LUN_BYTES - 512;
	fixture_open_fails(fixture, &tcmu_ext_backend_block, -EINVAL, "size=4128256");
	shim_device.gone = true;
	fixture_open_fails(fixture, &tcmu_ext_backend_block, -EINVAL, "has 0 bytes");
	shim_device.gone = false;
	shim_device.bytes = LUN_BYTES;
	open_device(fixture);
}

static void test_direct_io_needs_the_blocks_of_the_device(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.cache = TCMU_EXT_CACHE_NONE;
	shim_direct = (struct shim_direct){ 4096, 4096, .untold = true };
	shim_device.logical_block_bytes = 4096;
	fixture_open_fails(fixture, &tcmu_ext_backend_block, -EINVAL, "hw_block_size=4096");
	fixture->config.logical_block_bytes = 4096;
	assert_int_equal(open_device(fixture)->logical_block_bytes, 4096);
	/* Through the page cache, any will do. */
	fixture->config.cache = TCMU_EXT_CACHE_WRITEBACK;
	fixture->config.logical_block_bytes = 512;
	assert_int_equal(open_device(fixture)->logical_block_bytes, 1);
}

static void test_memory_that_runs_out(void **state)
{
	struct fixture *fixture = *state;
	long actions[] = { SHIM_PASS, SHIM_PASS, SHIM_PASS, SHIM_PASS, SHIM_PASS };
	char *reason = (char *)fixture;

	for (size_t i = 0; i < ARRAY_COUNT(actions); i++) {
		actions[i] = -ENOMEM;
		shim_set_script(SHIM_ALLOCATE_MEMORY, actions, i + 1);
		assert_int_equal(tcmu_ext_backend_open(&tcmu_ext_backend_block, &fixture->config,
						       &fixture->backend),
				 -ENOMEM);
		actions[i] = SHIM_PASS;
	}
	for (int kind = 0; kind < 2; kind++) { /* a file, which it cannot serve; nothing */
		shim_device.inode = 0;
		shim_script(SHIM_ALLOCATE_MEMORY, -ENOMEM);
		assert_int_equal((tcmu_ext_backend_block.check)(&fixture->config, &reason),
				 -ENOMEM);
		assert_null(reason);
		unlink(fixture->path);
	}
	assert_int_equal(shim_count(SHIM_OPEN_PATH), 0);
}

static void test_how_transfers_are_queued(void **state)
{
	struct fixture *fixture = *state;
	struct tcmu_ext_backend_queue queue = { .struct_bytes = sizeof(queue) };

	fixture->config.cache = TCMU_EXT_CACHE_NONE;
	shim_direct = (struct shim_direct){ 512, 512, .untold = true };
	open_device(fixture);
	fixture->backend->operations.describe_queue(fixture->backend->instance, &queue);
	assert_true(queue.direct);
	assert_true(queue.exclusive);
	assert_false(queue.never_waits);
	fixture->config.cache = TCMU_EXT_CACHE_WRITEBACK;
	shim_device.major = RAMDISK_MAJOR;
	open_device(fixture);
	fixture->backend->operations.describe_queue(fixture->backend->instance, &queue);
	assert_false(queue.direct);
	assert_true(queue.never_waits);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, block_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_properties),
		TEST(test_alignments),
		TEST(test_a_partition_has_the_limits_of_its_disk),
		TEST(test_without_sysfs),
		TEST(test_the_flags_it_is_opened_with),
		TEST(test_only_block_devices),
		TEST(test_opening_errors),
		TEST(test_zones_are_refused),
		TEST(test_the_size_there_must_be),
		TEST(test_direct_io_needs_the_blocks_of_the_device),
		TEST(test_memory_that_runs_out),
		TEST(test_how_transfers_are_queued),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
