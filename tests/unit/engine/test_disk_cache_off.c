/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The write cache is turned off while writes are on the engine: from then on what is acknowledged
 * is durable, also what was submitted before. The backend is the one for files, watched.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tcmu-ext/disk.h>

#include "cdb.h"
#include "cmocka_test.h"
#include "gate.h"

enum { BLOCK_BYTES = 512, BLOCKS = 64 };

static char path[] = "cache-off-XXXXXX";

static struct {
	struct gate read;  /* that reads of the backend pass */
	struct gate ended; /* commands */
	atomic_uint durable_writes;
	atomic_uint flushes;
	atomic_int failures;
} seen = { .read = GATE_INITIALIZER, .ended = GATE_INITIALIZER };

static int watched_read(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
			size_t bytes, unsigned int flags, size_t *done_bytes)
{
	gate_pass(&seen.read);
	return tcmu_ext_backend_file.read(instance, iov, iov_count, offset, bytes, flags,
					  done_bytes);
}

static int watched_write(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
			 size_t bytes, unsigned int flags, size_t *done_bytes)
{
	if (flags & TCMU_EXT_IO_DURABLE)
		atomic_fetch_add(&seen.durable_writes, 1);
	return tcmu_ext_backend_file.write(instance, iov, iov_count, offset, bytes, flags,
					   done_bytes);
}

static int watched_flush(void *instance)
{
	atomic_fetch_add(&seen.flushes, 1);
	return tcmu_ext_backend_file.flush(instance);
}

static void show_message(void *context, enum tcmu_ext_log_level level, const char *message)
{
	(void)context;
	(void)level;
	print_message("%s\n", message);
}

static struct tcmu_ext_backend *open_backend(void)
{
	struct tcmu_ext_backend_operations watched = tcmu_ext_backend_file;
	struct tcmu_ext_backend_config config = {
		.struct_bytes = sizeof(config),
		.path = path,
		.size_bytes = BLOCKS * BLOCK_BYTES,
		.logical_block_bytes = BLOCK_BYTES,
		.log = { .write = show_message },
	};
	struct tcmu_ext_backend *backend;

	watched.read = watched_read;
	watched.write = watched_write;
	watched.flush = watched_flush;
	assert_int_equal(tcmu_ext_backend_open(&watched, &config, &backend), 0);
	return backend;
}

static struct tcmu_ext_disk *make_disk(struct tcmu_ext_backend *backend)
{
	struct tcmu_ext_disk_config config = {
		.struct_bytes = sizeof(config),
		.size_bytes = BLOCKS * BLOCK_BYTES,
		.logical_block_bytes = BLOCK_BYTES,
		.write_cache = true,
		.io = TCMU_EXT_IO_MODE_ASYNC,
		.log = { .write = show_message },
	};
	struct tcmu_ext_disk *disk;

	assert_int_equal(tcmu_ext_disk_create(backend, &config, &disk), 0);
	return disk;
}

static void note_end(void *context, void *caller_command, enum tcmu_ext_status status)
{
	(void)context;
	(void)caller_command;
	if (status != TCMU_EXT_STATUS_GOOD)
		atomic_fetch_add(&seen.failures, 1);
	gate_pass(&seen.ended);
}

static void submit(struct tcmu_ext_disk *disk, const struct cdb *cdb, struct iovec *iov)
{
	static uint8_t sense[TCMU_EXT_SENSE_BYTES];
	struct tcmu_ext_command command = {
		.cdb = cdb->bytes,
		.cdb_bytes = cdb->count,
		.iov = iov,
		.iov_count = iov ? 1 : 0,
		.sense = sense,
		.sense_bytes = sizeof(sense),
		.complete = note_end,
	};
	struct tcmu_ext_command again = command;

	assert_int_equal(tcmu_ext_disk_execute(disk, &command), TCMU_EXT_STATUS_WOULD_BLOCK);
	tcmu_ext_disk_submit(disk, &again);
}

/* A VERIFY is held up in its read; the write behind it waits, having been described as not durable.
 */
static void test_a_write_submitted_before(void **state)
{
	static uint8_t data[4 * BLOCK_BYTES], back[4 * BLOCK_BYTES];
	struct iovec iov = { data, sizeof(data) };
	const struct cdb verify = cdb_blocks(0x2f, 0, BLOCKS);
	const struct cdb write = cdb_blocks(0x2a, 8, 4);
	struct tcmu_ext_backend *backend = open_backend();
	struct tcmu_ext_disk *disk = make_disk(backend);
	int file = open(path, O_RDONLY | O_CLOEXEC);

	(void)state;
	memset(data, 0x5a, sizeof(data));
	gate_close(&seen.read);
	submit(disk, &verify, NULL);
	gate_wait_for(&seen.read, 1);
	submit(disk, &write, &iov);
	assert_int_equal(tcmu_ext_disk_set_write_cache(disk, false), 0);
	assert_int_equal(atomic_load(&seen.flushes), 1);
	gate_open(&seen.read);
	gate_wait_for(&seen.ended, 2);
	assert_int_equal(atomic_load(&seen.failures), 0);
	assert_int_equal(atomic_load(&seen.durable_writes), 1);
	assert_int_equal(pread(file, back, sizeof(back), 8 * BLOCK_BYTES), sizeof(back));
	assert_memory_equal(back, data, sizeof(data));
	tcmu_ext_disk_destroy(disk);
	tcmu_ext_backend_close(backend);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_a_write_submitted_before) };
	int file = mkstemp(path);
	int failures;

	if (file < 0 || ftruncate(file, BLOCKS * BLOCK_BYTES))
		return 1;
	failures = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	close(file);
	return end_unit_tests(failures);
}
