/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What may be called beside commands (tcmu-ext/disk.h): resize, the write cache, the counters. The
 * preset `thread` shows races; here it is seen that each side meets only whole states of the other.
 */
#include "cmocka_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tcmu-ext/disk.h>

#include "cdb.h"

enum { FIRST_BLOCKS = 1000, LAST_BLOCKS = 3000, MINIMUM_COMMANDS = 3000 };

struct shared {
	struct tcmu_ext_disk *disk;
	atomic_bool others_done;
	unsigned long commands;
};

static enum tcmu_ext_status execute(struct shared *shared, struct cdb cdb, void *data, size_t bytes)
{
	uint8_t sense[TCMU_EXT_SENSE_BYTES];
	struct iovec iov = { data, bytes };
	struct tcmu_ext_command command = { .cdb = cdb.bytes,
					    .cdb_bytes = cdb.count,
					    .iov = &iov,
					    .iov_count = 1,
					    .sense = sense,
					    .sense_bytes = sizeof(sense) };

	shared->commands++;
	return tcmu_ext_disk_execute(shared->disk, &command);
}

/* cmocka's assertions work on the test's own thread only. */
static void require(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "not so: %s\n", what);
	abort();
}

/* Capacity never shrinks, and each block that was there once can be read and written. */
static void use_disk(struct shared *shared, uint64_t *blocks)
{
	uint8_t data[512];
	uint64_t now;

	require(!execute(shared, cdb_make(TCMU_EXT_READ_CAPACITY_10), data, 8), "capacity is read");
	now = field_get(data, 4) + 1;
	require(now >= *blocks && now <= LAST_BLOCKS, "the capacity grows");
	*blocks = now;
	memset(data, 1, sizeof(data));
	require(!execute(shared, cdb_blocks(TCMU_EXT_WRITE_10, now - 1, 1), data, sizeof(data)),
		"the last block is written");
	require(!execute(shared, cdb_blocks(TCMU_EXT_READ_16, now - 1, 1), data, sizeof(data)),
		"the last block is read");
	require(!execute(shared, cdb_make(TCMU_EXT_SYNCHRONIZE_CACHE_10), NULL, 0),
		"it is flushed");
}

static void *command_thread(void *argument)
{
	struct shared *shared = argument;
	uint64_t blocks = FIRST_BLOCKS;

	while (!atomic_load(&shared->others_done) || shared->commands < MINIMUM_COMMANDS)
		use_disk(shared, &blocks);
	use_disk(shared, &blocks);
	require(blocks == LAST_BLOCKS, "the last size is seen");
	return NULL;
}

static void read_counters(struct tcmu_ext_disk *disk, struct tcmu_ext_disk_counters *last)
{
	struct tcmu_ext_disk_counters now;

	tcmu_ext_disk_get_counters(disk, &now, sizeof(now));
	assert_true(now.commands >= last->commands);
	assert_true(now.read_bytes >= last->read_bytes);
	assert_int_equal(now.read_bytes % 512, 0);
	*last = now;
}

static void test_control_beside_commands(void **state)
{
	const struct tcmu_ext_backend_config backend_config = {
		.struct_bytes = sizeof(backend_config),
		.size_bytes = FIRST_BLOCKS * 512,
		.logical_block_bytes = 512,
	};
	const struct tcmu_ext_disk_config config = { .struct_bytes = sizeof(config),
						     .size_bytes = FIRST_BLOCKS * 512,
						     .logical_block_bytes = 512,
						     .write_cache = true };
	struct tcmu_ext_disk_counters counters = { 0 };
	struct shared shared = { .commands = 0 };
	struct tcmu_ext_backend *backend;
	pthread_t thread;

	(void)state;
	assert_int_equal(tcmu_ext_backend_open(&tcmu_ext_backend_null, &backend_config, &backend),
			 0);
	assert_int_equal(tcmu_ext_disk_create(backend, &config, &shared.disk), 0);
	assert_int_equal(pthread_create(&thread, NULL, command_thread, &shared), 0);
	for (uint64_t blocks = FIRST_BLOCKS; blocks <= LAST_BLOCKS; blocks++) {
		assert_int_equal(tcmu_ext_disk_resize(shared.disk, blocks * 512), 0);
		assert_int_equal(tcmu_ext_disk_set_write_cache(shared.disk, blocks % 3), 0);
		assert_int_equal(tcmu_ext_disk_get_write_cache(shared.disk), blocks % 3 != 0);
		read_counters(shared.disk, &counters);
	}
	atomic_store(&shared.others_done, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	read_counters(shared.disk, &counters);
	assert_true(counters.commands == shared.commands);
	tcmu_ext_disk_destroy(shared.disk);
	tcmu_ext_backend_close(backend);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control_beside_commands),
	};

	return run_unit_tests(tests);
}
