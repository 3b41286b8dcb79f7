/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Making, resizing and destroying disks. */
#include "cmocka_test.h"

#include <errno.h>
#include <string.h>

#include "disk_fixture.h"

enum { SIZE_BYTES = 65536 };

struct messages {
	unsigned int count;
	char last[1100];
};

static void keep_message(void *context, enum tcmu_ext_log_level level, const char *message)
{
	struct messages *messages = context;

	assert_true(level == TCMU_EXT_LOG_ERROR || level == TCMU_EXT_LOG_WARNING);
	messages->count++;
	strncpy(messages->last, message, sizeof(messages->last) - 1);
}

static struct tcmu_ext_disk_config good_config(struct messages *messages)
{
	return (struct tcmu_ext_disk_config){ .struct_bytes = sizeof(struct tcmu_ext_disk_config),
					      .size_bytes = SIZE_BYTES,
					      .logical_block_bytes = 512,
					      .write_cache = true,
					      .log = { keep_message, messages } };
}

/* Tries a configuration on a backend of SIZE_BYTES with a logical block size of its own. */
static int try_create(const struct tcmu_ext_disk_config *config, uint32_t backend_block_bytes)
{
	struct memory_backend memory = { .properties.logical_block_bytes = backend_block_bytes };
	const struct tcmu_ext_backend_operations operations = memory_backend_operations(0);
	struct tcmu_ext_disk *disk = (struct tcmu_ext_disk *)(uintptr_t)0xdead;
	struct tcmu_ext_backend *backend;
	int result;

	assert_int_equal(memory_backend_open(&memory, &operations, SIZE_BYTES, 512, &backend), 0);
	result = tcmu_ext_disk_create(backend, config, &disk);
	if (result)
		assert_null(disk);
	else
		assert_non_null(disk);
	tcmu_ext_disk_destroy(disk);
	tcmu_ext_backend_close(backend);
	return result;
}

static void expect_refused(const struct tcmu_ext_disk_config *config, struct messages *messages,
			   uint32_t backend_block_bytes)
{
	messages->count = 0;
	messages->last[0] = 0;
	assert_int_equal(try_create(config, backend_block_bytes), -EINVAL);
	assert_int_equal(messages->count, 1);
	assert_true(strlen(messages->last) > 20);
}

static void test_block_sizes(void **state)
{
	static const uint32_t good[] = { 512, 1024, 2048, 4096 };
	static const uint32_t bad[] = { 0,    1,    256,  511,   513,      520,       1000,
					4097, 4104, 8192, 65536, 1u << 31, UINT32_MAX };
	struct messages messages = { 0 };
	struct tcmu_ext_disk_config config = good_config(&messages);

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
		config.logical_block_bytes = good[i];
		assert_int_equal(try_create(&config, 1), 0);
		assert_int_equal(try_create(&config, 512), 0);
	}
	assert_int_equal(messages.count, 0);
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		config.logical_block_bytes = bad[i];
		expect_refused(&config, &messages, 1);
	}
}

/* Blocks smaller than the backing transfers could not be written one by one. */
static void test_blocks_smaller_than_the_backing_s_are_refused(void **state)
{
	struct messages messages = { 0 };
	struct tcmu_ext_disk_config config = good_config(&messages);

	(void)state;
	expect_refused(&config, &messages, 4096);
	config.logical_block_bytes = 4096;
	assert_int_equal(try_create(&config, 4096), 0);
}

static void test_sizes(void **state)
{
	static const uint64_t bad[] = {
		0, 1, 511, SIZE_BYTES + 1, SIZE_BYTES + 512, UINT64_C(1) << 63, UINT64_MAX
	};
	static const uint64_t good[] = { 512, SIZE_BYTES, SIZE_BYTES - 1, SIZE_BYTES - 512 };
	struct messages messages = { 0 };
	struct tcmu_ext_disk_config config = good_config(&messages);

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		config.size_bytes = bad[i];
		expect_refused(&config, &messages, 1);
	}
	for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
		config.size_bytes = good[i];
		assert_int_equal(try_create(&config, 1), 0);
	}
}

static void test_identification_must_fit_and_be_ascii(void **state)
{
	char serial[300];
	struct messages messages = { 0 };
	const struct tcmu_ext_disk_config good = good_config(&messages);
	struct tcmu_ext_disk_config config = good;

	(void)state;
	config.vendor_identification = "123456789";
	expect_refused(&config, &messages, 1);
	config.vendor_identification = "caf\xc3\xa9";
	expect_refused(&config, &messages, 1);
	config = good;
	config.product_identification = "0123456789abcdefg";
	expect_refused(&config, &messages, 1);
	config.product_identification = "tab\there";
	expect_refused(&config, &messages, 1);
	config = good;
	config.product_revision_level = "12345";
	expect_refused(&config, &messages, 1);
	config.product_revision_level = "\x7f";
	expect_refused(&config, &messages, 1);
	config = good;
	/* The longest there is, and one that no page could hold. */
	memset(serial, 's', sizeof(serial));
	config.unit_serial_number = serial;
	serial[252] = 0;
	assert_int_equal(try_create(&config, 1), 0);
	memset(serial, 's', sizeof(serial));
	serial[299] = 0;
	expect_refused(&config, &messages, 1);
	config.unit_serial_number = "new\nline";
	expect_refused(&config, &messages, 1);
}

static void test_other_commands_are_checked(void **state)
{
	struct messages messages = { 0 };
	struct tcmu_ext_disk_config config = good_config(&messages);
	struct tcmu_ext_command_description other = { .operation_code = 0x83, .cdb_bytes = 16 };

	(void)state;
	config.other_commands = &other;
	config.other_command_count = 1;
	assert_int_equal(try_create(&config, 1), 0);
	other.cdb_bytes = 17;
	expect_refused(&config, &messages, 1);
	other.cdb_bytes = 255;
	expect_refused(&config, &messages, 1);
	other.cdb_bytes = 16;
	config.other_command_count = 257;
	expect_refused(&config, &messages, 1);
	config.other_command_count = 1;
	config.target_port_group_support = 4;
	expect_refused(&config, &messages, 1);
}

/* A structure from an older header lacks what the library reads. */
static void test_shorter_structure_is_refused(void **state)
{
	struct messages messages = { 0 };
	struct tcmu_ext_disk_config config = good_config(&messages);

	(void)state;
	config.struct_bytes = sizeof(config) - 8;
	assert_int_equal(try_create(&config, 1), -EINVAL);
	/* Without the log, what lies there is not called. */
	config.struct_bytes = offsetof(struct tcmu_ext_disk_config, log);
	config.log.write = (void (*)(void *, enum tcmu_ext_log_level, const char *))1;
	assert_int_equal(try_create(&config, 1), -EINVAL);
}

static void test_no_log_is_no_obstacle(void **state)
{
	struct tcmu_ext_disk_config config = good_config(NULL);

	(void)state;
	config.log = (struct tcmu_ext_log){ 0 };
	assert_int_equal(try_create(&config, 1), 0);
	config.size_bytes = 0;
	assert_int_equal(try_create(&config, 1), -EINVAL);
}

static void expect_blocks(struct disk_fixture *fixture, uint64_t blocks)
{
	expect_good(fixture,
		    disk_data_in(fixture, cdb_make(TCMU_EXT_READ_CAPACITY_10), 8, disk_cuts[0]));
	assert_true(field_get(fixture->data, 4) == blocks - 1);
}

static void test_growing(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	fixture.memory.resize_limit_bytes = 256 * 512;
	assert_int_equal(tcmu_ext_disk_resize(fixture.disk, 128 * 512), 0);
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	assert_int_equal(tcmu_ext_disk_resize(fixture.disk, 256 * 512), 0);
	expect_blocks(&fixture, 256);
	disk_fixture_close(&fixture);
}

static void test_shrinking_is_refused(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	assert_int_equal(tcmu_ext_disk_resize(fixture.disk, 127 * 512), -EINVAL);
	assert_int_equal(tcmu_ext_disk_resize(fixture.disk, 128 * 512 - 1), -EINVAL);
	assert_int_equal(tcmu_ext_disk_resize(fixture.disk, 0), -EINVAL);
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	expect_blocks(&fixture, 128);
	disk_fixture_close(&fixture);
}

static void test_growing_beyond_the_backing_changes_nothing(void **state)
{
	static const int errors[] = { EIO, ENOSPC, EINVAL };
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	assert_int_equal(tcmu_ext_disk_resize(fixture.disk, 129 * 512), -ENOSPC);
	expect_blocks(&fixture, 128);
	fixture.memory.resize_limit_bytes = 256 * 512;
	for (size_t i = 0; i < ARRAY_COUNT(errors); i++) {
		memory_backend_fail(&fixture.memory, MEMORY_RESIZE, errors[i], 0);
		assert_int_equal(tcmu_ext_disk_resize(fixture.disk, 129 * 512), -errors[i]);
		expect_blocks(&fixture, 128);
	}
	assert_true(tcmu_ext_disk_resize(fixture.disk, UINT64_MAX) < 0);
	assert_true(tcmu_ext_disk_resize(fixture.disk, UINT64_C(1) << 63) < 0);
	expect_blocks(&fixture, 128);
	disk_fixture_close(&fixture);
}

/* Without the operation there is what there was at open: a backing longer than the disk has room.
 */
static void test_growing_within_a_backing_of_fixed_size(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.without = 1u << MEMORY_RESIZE;
	setup.memory.properties.size_bytes = 200 * 512;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(tcmu_ext_disk_resize(fixture.disk, 200 * 512), 0);
	expect_blocks(&fixture, 200);
	assert_true(tcmu_ext_disk_resize(fixture.disk, 201 * 512) < 0);
	expect_blocks(&fixture, 200);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_sizes),
		cmocka_unit_test(test_blocks_smaller_than_the_backing_s_are_refused),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_identification_must_fit_and_be_ascii),
		cmocka_unit_test(test_other_commands_are_checked),
		cmocka_unit_test(test_shorter_structure_is_refused),
		cmocka_unit_test(test_no_log_is_no_obstacle),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_shrinking_is_refused),
		cmocka_unit_test(test_growing_beyond_the_backing_changes_nothing),
		cmocka_unit_test(test_growing_within_a_backing_of_fixed_size),
	};

	return run_unit_tests(tests);
}
