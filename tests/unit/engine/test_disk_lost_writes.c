/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A page cache tells of a write it lost to one caller only, the first who asks. Here it is played
 * by a backend: what it is told to lose fails once. Whichever thread hears of it, no command that
 * says "durable" may end well afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tcmu-ext/disk.h>

#include "cdb.h"
#include "cmocka_test.h"
#include "disk/disk.h"
#include "engine/engine.h"
#include "gate.h"

enum { BLOCK_BYTES = 512, BLOCKS = 64, COMMANDS = 4, FUA = 0x08 };

/* The page cache. */
static struct {
	atomic_int lost;     /* -errno to be reported once */
	atomic_uint flushes; /* of either kind */
	struct gate write;   /* that writes pass once they are in the cache */
	struct gate report;  /* that a flush passes once it has been told */
	int descriptor;      /* past the cache, that transfers are queued on; -1: none */
} cache = { .write = GATE_INITIALIZER, .report = GATE_INITIALIZER, .descriptor = -1 };

static struct {
	struct gate ended;
	enum tcmu_ext_status status[COMMANDS];
} commands = { .ended = GATE_INITIALIZER };

static int played_flush(void *instance)
{
	int error;

	(void)instance;
	atomic_fetch_add(&cache.flushes, 1);
	error = atomic_exchange(&cache.lost, 0);
	gate_pass(&cache.report);
	return error;
}

static int played_write(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
			size_t bytes, unsigned int flags, size_t *done_bytes)
{
	int error =
		tcmu_ext_backend_null.write(instance, iov, iov_count, offset, bytes, 0, done_bytes);

	gate_pass(&cache.write);
	if (error || !(flags & TCMU_EXT_IO_DURABLE))
		return error;
	return played_flush(instance);
}

static int played_resize(void *instance, uint64_t size_bytes)
{
	(void)instance;
	(void)size_bytes;
	return 0;
}

static void describe_queue(void *instance, struct tcmu_ext_backend_queue *queue)
{
	(void)instance;
	queue->direct = cache.descriptor >= 0;
	queue->exclusive = true;
	queue->descriptor = cache.descriptor;
}

static struct tcmu_ext_backend *backend;

static struct tcmu_ext_disk *make_disk(enum tcmu_ext_io_mode io, bool write_cache)
{
	struct tcmu_ext_backend_operations played = tcmu_ext_backend_null;
	struct tcmu_ext_backend_config backend_config = {
		.struct_bytes = sizeof(backend_config),
		.size_bytes = BLOCKS * BLOCK_BYTES,
		.logical_block_bytes = BLOCK_BYTES,
	};
	struct tcmu_ext_disk_config config = {
		.struct_bytes = sizeof(config),
		.size_bytes = BLOCKS * BLOCK_BYTES,
		.logical_block_bytes = BLOCK_BYTES,
		.write_cache = write_cache,
		.io = io,
	};
	struct tcmu_ext_disk *disk;

	played.write = played_write;
	played.flush = played_flush;
	played.resize = played_resize;
	played.describe_queue = describe_queue;
	atomic_store(&cache.lost, 0);
	atomic_store(&cache.flushes, 0);
	assert_int_equal(tcmu_ext_backend_open(&played, &backend_config, &backend), 0);
	assert_int_equal(tcmu_ext_disk_create(backend, &config, &disk), 0);
	return disk;
}

static void destroy_disk(struct tcmu_ext_disk *disk)
{
	tcmu_ext_disk_destroy(disk);
	tcmu_ext_backend_close(backend);
}

static void note_end(void *context, void *caller_command, enum tcmu_ext_status status)
{
	(void)context;
	*(enum tcmu_ext_status *)caller_command = status;
	gate_pass(&commands.ended);
}

/* Sends a command to the engine; its status will be in commands.status[number]. */
static void submit(struct tcmu_ext_disk *disk, unsigned int number, const struct cdb *cdb,
		   struct iovec *iov)
{
	static uint8_t sense[COMMANDS][TCMU_EXT_SENSE_BYTES];
	struct tcmu_ext_command command = {
		.cdb = cdb->bytes,
		.cdb_bytes = cdb->count,
		.iov = iov,
		.iov_count = iov ? 1 : 0,
		.sense = sense[number],
		.sense_bytes = sizeof(sense[number]),
		.complete = note_end,
		.caller_command = &commands.status[number],
	};

	tcmu_ext_disk_submit(disk, &command);
}

static enum tcmu_ext_status synchronize_cache(struct tcmu_ext_disk *disk)
{
	const struct cdb cdb = cdb_blocks(0x35, 0, 0);
	unsigned int before = gate_count(&commands.ended);

	submit(disk, 0, &cdb, NULL);
	gate_wait_for(&commands.ended, before + 1);
	return commands.status[0];
}

/*
 * All of them have written, then the medium fails: one hears of it. Whether the others flush
 * before, beside or after that one, none may say that its block is safe.
 */
static void expect_none_to_succeed(bool write_cache, uint8_t flags)
{
	struct tcmu_ext_disk *disk = make_disk(TCMU_EXT_IO_MODE_ASYNC, write_cache);
	unsigned int ended = gate_count(&commands.ended);
	unsigned int written = gate_count(&cache.write);
	static uint8_t data[COMMANDS][BLOCK_BYTES];
	struct iovec iov[COMMANDS];
	struct cdb cdb[COMMANDS];

	gate_close(&cache.write);
	for (unsigned int i = 0; i < COMMANDS; i++) {
		iov[i] = (struct iovec){ data[i], BLOCK_BYTES };
		cdb[i] = cdb_with(cdb_blocks(0x2a, i, 1), 1, flags);
		submit(disk, i, &cdb[i], &iov[i]);
	}
	gate_wait_for(&cache.write, written + COMMANDS);
	atomic_store(&cache.lost, -EIO);
	gate_open(&cache.write);
	gate_wait_for(&commands.ended, ended + COMMANDS);
	for (unsigned int i = 0; i < COMMANDS; i++)
		assert_int_equal(commands.status[i], TCMU_EXT_STATUS_CHECK_CONDITION);
	assert_int_equal(synchronize_cache(disk), TCMU_EXT_STATUS_CHECK_CONDITION);
	destroy_disk(disk);
}

static void test_writes_with_the_cache_off(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		expect_none_to_succeed(false, 0);
}

static void test_writes_with_force_unit_access(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		expect_none_to_succeed(true, FUA);
}

/* Many that wait for a flush share one. */
static void test_durable_writes_share_flushes(void **state)
{
	struct tcmu_ext_disk *disk = make_disk(TCMU_EXT_IO_MODE_ASYNC, false);
	unsigned int ended = gate_count(&commands.ended);
	unsigned int written = gate_count(&cache.write);
	unsigned int reported = gate_count(&cache.report);
	static uint8_t data[COMMANDS][BLOCK_BYTES];
	struct iovec iov[COMMANDS];
	struct cdb cdb[COMMANDS];

	(void)state;
	gate_close(&cache.report);
	for (unsigned int i = 0; i < COMMANDS; i++) {
		iov[i] = (struct iovec){ data[i], BLOCK_BYTES };
		cdb[i] = cdb_blocks(0x2a, i, 1);
		submit(disk, i, &cdb[i], &iov[i]);
		/* The first holds the lock in its own flush by now. */
		gate_wait_for(&cache.report, reported + 1);
	}
	gate_wait_for(&cache.write, written + COMMANDS);
	gate_open(&cache.report);
	gate_wait_for(&commands.ended, ended + COMMANDS);
	for (unsigned int i = 0; i < COMMANDS; i++)
		assert_int_equal(commands.status[i], TCMU_EXT_STATUS_GOOD);
	assert_in_range(atomic_load(&cache.flushes), 2, COMMANDS);
	destroy_disk(disk);
}

/*
 * The queue says of a durable write only that it failed (here because its descriptor is not for
 * writing). That the same write goes well without a flush says what was at fault.
 */
static void test_a_queued_write_whose_flush_fails(void **state)
{
	const struct cdb cdb = cdb_with(cdb_blocks(0x2a, 0, 1), 1, FUA);
	uint8_t data[BLOCK_BYTES] = { 0 };
	struct iovec iov = { data, sizeof(data) };
	unsigned int ended = gate_count(&commands.ended);
	struct tcmu_ext_disk *disk;

	(void)state;
	cache.descriptor = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	disk = make_disk(TCMU_EXT_IO_MODE_ASYNC, true);
	if (!disk->engine->ring) {
		print_message("io_uring cannot be used here\n");
		skip();
	}
	submit(disk, 1, &cdb, &iov);
	gate_wait_for(&commands.ended, ended + 1);
	assert_int_equal(commands.status[1], TCMU_EXT_STATUS_CHECK_CONDITION);
	assert_int_equal(synchronize_cache(disk), TCMU_EXT_STATUS_CHECK_CONDITION);
	destroy_disk(disk);
	close(cache.descriptor);
	cache.descriptor = -1;
}

static void *grow(void *argument)
{
	struct tcmu_ext_disk *disk = argument;

	assert_int_equal(tcmu_ext_disk_resize(disk, 2 * BLOCKS * BLOCK_BYTES), -EIO);
	return NULL;
}

static void *turn_cache_off(void *argument)
{
	struct tcmu_ext_disk *disk = argument;

	assert_int_equal(tcmu_ext_disk_set_write_cache(disk, false), -EIO);
	return NULL;
}

static void *write_with_force_unit_access(void *argument)
{
	struct tcmu_ext_disk *disk = argument;
	const struct cdb cdb = cdb_with(cdb_blocks(0x2a, 0, 1), 1, FUA);
	uint8_t data[BLOCK_BYTES] = { 0 }, sense[TCMU_EXT_SENSE_BYTES];
	struct iovec iov = { data, sizeof(data) };
	struct tcmu_ext_command command = {
		.cdb = cdb.bytes,
		.cdb_bytes = cdb.count,
		.iov = &iov,
		.iov_count = 1,
		.sense = sense,
		.sense_bytes = sizeof(sense),
	};

	assert_int_equal(tcmu_ext_disk_execute(disk, &command), TCMU_EXT_STATUS_CHECK_CONDITION);
	return NULL;
}

/* Not before the flush has had the time to go wrong. */
static void *open_later(void *argument)
{
	usleep(20000);
	gate_open(&cache.report);
	return argument;
}

/*
 * A thread of the caller's has been told of the loss, and has not yet said so to anybody, when
 * SYNCHRONIZE CACHE comes.
 */
static void expect_flush_to_fail_beside(void *(*function)(void *), enum tcmu_ext_io_mode io)
{
	struct tcmu_ext_disk *disk = make_disk(io, true);
	unsigned int reported = gate_count(&cache.report);
	struct tcmu_ext_command command = { 0 };
	uint8_t sense[TCMU_EXT_SENSE_BYTES];
	pthread_t thread, opener;

	command.sense = sense;
	command.sense_bytes = sizeof(sense);
	gate_close(&cache.report);
	atomic_store(&cache.lost, -EIO);
	assert_int_equal(pthread_create(&thread, NULL, function, disk), 0);
	gate_wait_for(&cache.report, reported + 1);
	assert_int_equal(pthread_create(&opener, NULL, open_later, NULL), 0);
	assert_int_equal(tcmu_ext_disk_flush(disk, &command), TCMU_EXT_STATUS_CHECK_CONDITION);
	pthread_join(opener, NULL);
	pthread_join(thread, NULL);
	destroy_disk(disk);
}

static void test_a_flush_beside_a_resize(void **state)
{
	(void)state;
	expect_flush_to_fail_beside(grow, TCMU_EXT_IO_MODE_INLINE);
	expect_flush_to_fail_beside(grow, TCMU_EXT_IO_MODE_ASYNC);
}

static void test_a_flush_beside_the_cache_turned_off(void **state)
{
	(void)state;
	expect_flush_to_fail_beside(turn_cache_off, TCMU_EXT_IO_MODE_INLINE);
	expect_flush_to_fail_beside(turn_cache_off, TCMU_EXT_IO_MODE_ASYNC);
}

/* Inline there is one thread for commands; the flush is that of the runner's main thread. */
static void test_a_flush_beside_an_inline_write(void **state)
{
	(void)state;
	expect_flush_to_fail_beside(write_with_force_unit_access, TCMU_EXT_IO_MODE_INLINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writes_with_the_cache_off),
		cmocka_unit_test(test_writes_with_force_unit_access),
		cmocka_unit_test(test_durable_writes_share_flushes),
		cmocka_unit_test(test_a_queued_write_whose_flush_fails),
		cmocka_unit_test(test_a_flush_beside_a_resize),
		cmocka_unit_test(test_a_flush_beside_the_cache_turned_off),
		cmocka_unit_test(test_a_flush_beside_an_inline_write),
	};

	return run_unit_tests(tests);
}
