/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* A backend of somebody else's that answers what it should not. */
#include "cmocka_test.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include <tcmu-ext/disk.h>

#include "cdb.h"
#include "sense_decode.h"

enum {
	BLOCK_BYTES = 512,
	DISK_BLOCKS = 2048,
	LAST_BLOCKS = 2, /* that the commands below are about */
};

/* What every operation of the backend answers. */
static struct {
	struct tcmu_ext_backend_properties properties;
	int error;
	size_t done_bytes;
	uint64_t run_bytes;
} careless;

static int careless_open(const struct tcmu_ext_backend_config *config, void **instance)
{
	(void)config;
	*instance = &careless;
	return 0;
}

static void careless_close(void *instance)
{
	(void)instance;
}

static void careless_describe(void *instance, struct tcmu_ext_backend_properties *properties)
{
	(void)instance;
	*properties = careless.properties;
}

static int careless_transfer(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
			     size_t bytes, unsigned int flags, size_t *done_bytes)
{
	(void)instance;
	(void)iov;
	(void)iov_count;
	(void)offset;
	(void)bytes;
	(void)flags;
	*done_bytes = careless.done_bytes;
	return careless.error;
}

static int careless_flush(void *instance)
{
	(void)instance;
	return careless.error;
}

static int careless_write_zeroes(void *instance, uint64_t offset, uint64_t bytes,
				 unsigned int flags)
{
	(void)instance;
	(void)offset;
	(void)bytes;
	(void)flags;
	return careless.error;
}

static int careless_discard(void *instance, uint64_t offset, uint64_t bytes)
{
	return careless_write_zeroes(instance, offset, bytes, 0);
}

static int careless_allocation(void *instance, uint64_t offset, uint64_t bytes, uint64_t *run_bytes,
			       enum tcmu_ext_allocation *allocation)
{
	(void)instance;
	(void)offset;
	(void)bytes;
	*run_bytes = careless.run_bytes;
	*allocation = TCMU_EXT_DEALLOCATED;
	return careless.error;
}

static const struct tcmu_ext_backend_operations operations = {
	.struct_bytes = sizeof(operations),
	.name = "careless",
	.open = careless_open,
	.close = careless_close,
	.describe = careless_describe,
	.read = careless_transfer,
	.write = careless_transfer,
	.flush = careless_flush,
	.write_zeroes = careless_write_zeroes,
	.discard = careless_discard,
	.allocation = careless_allocation,
};

static void ignore_message(void *context, enum tcmu_ext_log_level level, const char *message)
{
	(void)context;
	(void)level;
	(void)message;
}

static struct tcmu_ext_disk *make_disk(struct tcmu_ext_backend **backend)
{
	const struct tcmu_ext_backend_config config = {
		.struct_bytes = sizeof(config),
		.size_bytes = (uint64_t)DISK_BLOCKS * BLOCK_BYTES,
		.logical_block_bytes = BLOCK_BYTES,
	};
	const struct tcmu_ext_disk_config disk_config = {
		.struct_bytes = sizeof(disk_config),
		.size_bytes = config.size_bytes,
		.logical_block_bytes = BLOCK_BYTES,
		.write_cache = true,
		.log = { .write = ignore_message },
	};
	struct tcmu_ext_disk *disk;

	assert_int_equal(tcmu_ext_backend_open(&operations, &config, backend), 0);
	assert_int_equal(tcmu_ext_disk_create(*backend, &disk_config, &disk), 0);
	return disk;
}

static void free_disk(struct tcmu_ext_disk *disk, struct tcmu_ext_backend *backend)
{
	tcmu_ext_disk_destroy(disk);
	tcmu_ext_backend_close(backend);
}

static int setup(void **state)
{
	(void)state;
	memset(&careless, 0, sizeof(careless));
	careless.properties = (struct tcmu_ext_backend_properties){
		.struct_bytes = sizeof(careless.properties),
		.size_bytes = (uint64_t)DISK_BLOCKS * BLOCK_BYTES,
		.logical_block_bytes = 1,
		.discard_granularity_bytes = BLOCK_BYTES,
	};
	return 0;
}

static enum tcmu_ext_status execute(struct tcmu_ext_disk *disk, const struct cdb *cdb, void *data,
				    size_t bytes, struct sense_seen *seen)
{
	uint8_t sense[TCMU_EXT_SENSE_BYTES] = { 0 };
	struct iovec iov = { data, bytes };
	struct tcmu_ext_command command = { .cdb = cdb->bytes,
					    .cdb_bytes = cdb->count,
					    .iov = &iov,
					    .iov_count = 1,
					    .sense = sense,
					    .sense_bytes = sizeof(sense) };
	enum tcmu_ext_status status = tcmu_ext_disk_execute(disk, &command);

	if (status == TCMU_EXT_STATUS_CHECK_CONDITION)
		*seen = sense_decode(sense);
	return status;
}

static const struct {
	uint8_t operation_code;
	size_t bytes;
} commands[] = {
	{ TCMU_EXT_READ_16, (size_t)LAST_BLOCKS *BLOCK_BYTES },
	{ TCMU_EXT_WRITE_16, (size_t)LAST_BLOCKS *BLOCK_BYTES },
	{ TCMU_EXT_WRITE_AND_VERIFY_16, (size_t)LAST_BLOCKS *BLOCK_BYTES },
	{ TCMU_EXT_ORWRITE_16, (size_t)LAST_BLOCKS *BLOCK_BYTES },
	{ TCMU_EXT_VERIFY_16, 0 },
	{ TCMU_EXT_WRITE_SAME_16, BLOCK_BYTES },
	{ TCMU_EXT_SYNCHRONIZE_CACHE_16, 0 },
};

static void expect_failures(int error, size_t done_bytes)
{
	struct tcmu_ext_backend *backend;
	struct tcmu_ext_disk *disk = make_disk(&backend);
	uint8_t data[LAST_BLOCKS * BLOCK_BYTES] = { 0 };

	careless.error = error;
	careless.done_bytes = done_bytes;
	for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
		struct cdb cdb = cdb_blocks(commands[i].operation_code, DISK_BLOCKS - LAST_BLOCKS,
					    LAST_BLOCKS);
		struct sense_seen seen = { .information_valid = false };

		check(execute(disk, &cdb, data, commands[i].bytes, &seen) != TCMU_EXT_STATUS_GOOD,
		      "command %02xh is GOOD after error %d", cdb.bytes[0], error);
		if (seen.information_valid)
			assert_in_range(seen.information, DISK_BLOCKS - LAST_BLOCKS,
					DISK_BLOCKS - 1);
	}
	assert_int_not_equal(tcmu_ext_disk_set_write_cache(disk, false), 0);
	free_disk(disk, backend);
}

/* Whatever number, it is a failure, and of a block that the command is about. */
static void test_errors_that_are_none(void **state)
{
	static const int errors[] = { EIO,   1,       ENOMEM,  -EIO,    -EINTR,      -133,
				      -4096, -100000, INT_MAX, INT_MIN, INT_MIN + 1, -ENOSYS };
	static const size_t done_bytes[] = {
		0,        1, BLOCK_BYTES, (size_t)LAST_BLOCKS * BLOCK_BYTES, 1000000, SIZE_MAX / 2,
		SIZE_MAX,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(errors); i++)
		for (size_t j = 0; j < ARRAY_COUNT(done_bytes); j++)
			expect_failures(errors[i], done_bytes[j]);
}

/* GET LBA STATUS names no block that does not exist, and ends. */
static void test_runs_beyond_the_end(void **state)
{
	static const uint64_t runs[] = {
		0, 1, BLOCK_BYTES - 1, BLOCK_BYTES + 1, UINT64_C(1) << 41, UINT64_MAX,
	};
	const uint64_t lba = DISK_BLOCKS - 8;
	uint8_t data[8 + 64 * 16];
	struct cdb cdb = cdb_service_action(TCMU_EXT_SERVICE_ACTION_IN_16, TCMU_EXT_GET_LBA_STATUS,
					    sizeof(data));
	struct tcmu_ext_backend *backend;
	struct tcmu_ext_disk *disk;
	struct sense_seen seen;

	(void)state;
	disk = make_disk(&backend);
	field_put(cdb.bytes + 2, 8, lba);
	for (size_t i = 0; i < ARRAY_COUNT(runs); i++) {
		uint64_t next = lba;

		careless.run_bytes = runs[i];
		assert_int_equal(execute(disk, &cdb, data, sizeof(data), &seen),
				 TCMU_EXT_STATUS_GOOD);
		for (size_t at = 8; at < field_get(data, 4) + 4; at += 16) {
			assert_true(field_get(data + at, 8) == next);
			next += field_get(data + at + 8, 4);
		}
		assert_true(next == DISK_BLOCKS);
	}
	free_disk(disk, backend);
}

/* A backend that says nothing of its blocks takes any. */
static void test_block_size_left_out(void **state)
{
	struct tcmu_ext_backend *backend;
	struct tcmu_ext_disk *disk;

	(void)state;
	careless.properties.logical_block_bytes = 0;
	disk = make_disk(&backend);
	free_disk(disk, backend);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_errors_that_are_none, setup),
		cmocka_unit_test_setup(test_runs_beyond_the_end, setup),
		cmocka_unit_test_setup(test_block_size_left_out, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
