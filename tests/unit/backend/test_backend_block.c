/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Block devices: opening, limits, ends, zeroes and discards. The device is a file under the shim.
 */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/major.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DEVICE_BYTES = 4 * 1024 * 1024,
	LUN_BYTES = DEVICE_BYTES - 64 * 1024,
	RANGE_OFFSET = 64 * 1024,
	RANGE_BYTES = 128 * 1024,
};

static char sysfs[PATH_MAX + 64];

static void set_attribute(const char *name, const char *value)
{
	char path[sizeof(sysfs) + 64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", sysfs, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%s\n", value);
	assert_int_equal(fclose(file), 0);
}

/* The attributes of a device that discards and writes zeroes. */
static void make_sysfs(const struct fixture *fixture)
{
	char path[sizeof(sysfs) + 16];

	snprintf(path, sizeof(path), "%s/sda", fixture->directory);
	assert_int_equal(mkdir(path, 0700), 0);
	strcpy(sysfs, path);
	strcat(path, "/queue");
	assert_int_equal(mkdir(path, 0700), 0);
	set_attribute("alignment_offset", "0");
	set_attribute("discard_alignment", "0");
	set_attribute("queue/zoned", "none");
	set_attribute("queue/discard_granularity", "4096");
	set_attribute("queue/discard_max_bytes", "4294966784");
	set_attribute("queue/write_zeroes_max_bytes", "33553920");
}

static int setup(void **state)
{
	struct fixture *fixture;
	struct stat status;

	if (fixture_setup(state))
		return -1;
	fixture = *state;
	fixture_make_file(fixture->path, DEVICE_BYTES);
	if (stat(fixture->path, &status))
		return -1;
	make_sysfs(fixture);
	shim_device = (struct shim_device){
		.inode = status.st_ino,
		.bytes = DEVICE_BYTES,
		.logical_block_bytes = 512,
		.physical_block_bytes = 4096,
		.optimal_transfer_bytes = 65536,
		.sysfs = sysfs,
	};
	fixture->config.size_bytes = LUN_BYTES;
	return 0;
}

static const struct tcmu_ext_backend_properties *open_device(struct fixture *fixture)
{
	fixture_open(fixture, &tcmu_ext_backend_block, LUN_BYTES);
	return tcmu_ext_backend_properties(fixture->backend);
}

static void check_zeroed(const struct fixture *fixture, uint64_t offset, size_t bytes)
{
	fixture_check_file(fixture->path, 0, offset);
	fixture_check_file_zero(fixture->path, offset, bytes);
	fixture_check_file(fixture->path, offset + bytes, DEVICE_BYTES - offset - bytes);
}

/* -- opening ----------------------------------------------------------------------------------- */

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
	long actions[] = { SHIM_PASS, SHIM_PASS, SHIM_PASS, SHIM_PASS };
	char *reason = (char *)fixture;

	for (size_t i = 0; i < ARRAY_COUNT(actions); i++) {
		actions[i] = -ENOMEM;
		shim_set_script(SHIM_ALLOCATE_MEMORY, actions, i + 1);
		assert_int_equal(tcmu_ext_backend_open(&tcmu_ext_backend_block, &fixture->config,
						       &fixture->backend),
				 -ENOMEM);
		actions[i] = SHIM_PASS;
	}
	shim_script(SHIM_ALLOCATE_MEMORY, -ENOMEM);
	assert_int_equal((tcmu_ext_backend_block.check)(&fixture->config, &reason), -ENOMEM);
	assert_null(reason);
	assert_int_equal(shim_count(SHIM_OPEN_PATH), 0);
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
	/* The device takes back what it said of itself: zeroes have been promised since. */
	shim_always(SHIM_PUNCH_HOLE, -EOPNOTSUPP);
	assert_int_equal(backend_discard(fixture, RANGE_OFFSET, RANGE_BYTES + 4096), 0);
	assert_int_equal(shim_count(SHIM_BLKDISCARD), 0);
	check_zeroed(fixture, RANGE_OFFSET, RANGE_BYTES + 4096);
	assert_int_equal(backend_counters(fixture).zero_range, 1);
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
	assert_int_equal(truncate(fixture->path, 2 * DEVICE_BYTES), 0);
	shim_device.bytes = 2 * DEVICE_BYTES;
	assert_int_equal(backend_resize(fixture->backend, DEVICE_BYTES + 512), 0);
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->size_bytes,
			 2 * DEVICE_BYTES);
	assert_int_equal(shim_count(SHIM_FTRUNCATE) + shim_count(SHIM_ALLOCATE), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

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
		TEST(test_a_device_that_ends_early_is_an_error),
		TEST(test_a_device_that_is_gone),
		TEST(test_other_errors_are_the_device_s_own),
		TEST(test_a_transfer_is_one_call),
		TEST(test_how_transfers_are_queued),
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
