/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * READ and WRITE by the disk's caller while the engine executes a command on other blocks: nothing
 * is allocated and no clock is read, but where that command may be in the way the engine's list is
 * looked through, with its mutex locked. Beside a copy nothing is read or written. The backend is
 * the one for nothing, which never waits but where a gate is closed.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <tcmu-ext/disk.h>

#include "cdb.h"
#include "cmocka_test.h"
#include "disk/disk.h"
#include "engine/engine.h"
#include "forbidden_calls.h"
#include "gate.h"

enum { BLOCK_BYTES = 512, BLOCKS = 64, HELD_BLOCK = 8, OTHER_BLOCK = 32 };

static uint64_t held_block;
static struct gate held = GATE_INITIALIZER;  /* that reads of held_block pass */
static struct gate ended = GATE_INITIALIZER; /* commands on the engine */
static struct gate steps = GATE_INITIALIZER; /* of a copy, as EXTENDED COPY takes them */

static int gated_read(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
		      size_t bytes, unsigned int flags, size_t *done_bytes)
{
	if (offset == held_block * BLOCK_BYTES)
		gate_pass(&held);
	return tcmu_ext_backend_null.read(instance, iov, iov_count, offset, bytes, flags,
					  done_bytes);
}

static void describe_queue(void *instance, struct tcmu_ext_backend_queue *queue)
{
	(void)instance;
	queue->never_waits = true;
}

static struct tcmu_ext_backend *backend;
static struct tcmu_ext_disk *disk;

static int make_disk(void **state)
{
	struct tcmu_ext_backend_operations operations = tcmu_ext_backend_null;
	const struct tcmu_ext_backend_config backend_config = {
		.struct_bytes = sizeof(backend_config),
		.size_bytes = BLOCKS * BLOCK_BYTES,
		.logical_block_bytes = BLOCK_BYTES,
	};
	const struct tcmu_ext_disk_config disk_config = {
		.struct_bytes = sizeof(disk_config),
		.size_bytes = BLOCKS * BLOCK_BYTES,
		.logical_block_bytes = BLOCK_BYTES,
		.write_cache = true,
		.io = TCMU_EXT_IO_MODE_AUTO,
	};

	(void)state;
	held_block = HELD_BLOCK;
	operations.read = gated_read;
	operations.describe_queue = describe_queue;
	if (tcmu_ext_backend_open(&operations, &backend_config, &backend))
		return -1;
	return tcmu_ext_disk_create(backend, &disk_config, &disk);
}

static int free_disk(void **state)
{
	(void)state;
	gate_open(&held); /* a test that failed may have left it closed */
	gate_open(&steps);
	tcmu_ext_disk_destroy(disk);
	tcmu_ext_backend_close(backend);
	return 0;
}

static void note_end(void *context, void *caller_command, enum tcmu_ext_status status)
{
	(void)context;
	(void)caller_command;
	check(status == TCMU_EXT_STATUS_GOOD, "status %d", status);
	gate_pass(&ended);
}

/* Has the engine begin a command and be held up in it. */
static void hold(struct cdb cdb)
{
	static uint8_t zeroes[2 * BLOCK_BYTES], sense[TCMU_EXT_SENSE_BYTES], held_cdb[32];
	static struct iovec iov;
	const struct tcmu_ext_command command = {
		.cdb = memcpy(held_cdb, cdb.bytes, cdb.count),
		.cdb_bytes = cdb.count,
		.iov = &iov,
		.iov_count = 1,
		.sense = sense,
		.sense_bytes = sizeof(sense),
		.complete = note_end,
	};
	unsigned int before = gate_count(&held);

	iov = (struct iovec){ zeroes, sizeof(zeroes) };
	gate_close(&held);
	tcmu_ext_disk_submit(disk, &command);
	gate_wait_for(&held, before + 1);
}

static void let_go(void)
{
	gate_open(&held);
	tcmu_ext_disk_drain(disk);
}

/* A VERIFY of one block only reads it. */
static void hold_read(void)
{
	hold(cdb_blocks(TCMU_EXT_VERIFY_10, HELD_BLOCK, 1));
}

/* The default self-test reads the first block and the last. */
static void hold_self_test(void)
{
	struct cdb cdb = cdb_with(cdb_make(TCMU_EXT_SEND_DIAGNOSTIC), 1, 0x04);

	held_block = 0;
	hold(cdb);
}

/* A COMPARE AND WRITE of one block changes it. */
static void hold_change(void)
{
	struct cdb cdb = cdb_make(TCMU_EXT_COMPARE_AND_WRITE);

	field_put(cdb.bytes + 2, 8, HELD_BLOCK);
	cdb.bytes[13] = 1;
	hold(cdb);
}

/* The first step has been completed: its completion function submits the next. */
static void end_step(void *context, void *caller_command, enum tcmu_ext_status status)
{
	static uint8_t sense[TCMU_EXT_SENSE_BYTES];
	static struct iovec iov;
	const struct tcmu_ext_command next = {
		.iov = &iov,
		.iov_count = 1,
		.sense = sense,
		.sense_bytes = sizeof(sense),
		.complete = note_end,
	};

	(void)context;
	check(status == TCMU_EXT_STATUS_GOOD, "status %d", status);
	gate_pass(&steps);
	iov = (struct iovec){ caller_command, BLOCK_BYTES };
	tcmu_ext_disk_submit_write(disk, &next, OTHER_BLOCK * BLOCK_BYTES, BLOCK_BYTES);
}

/* Has the engine read a block, and be held up between that and the write that is to follow. */
static void hold_copy(void)
{
	static uint8_t data[BLOCK_BYTES], sense[TCMU_EXT_SENSE_BYTES];
	static struct iovec iov;
	const struct tcmu_ext_command command = {
		.iov = &iov,
		.iov_count = 1,
		.sense = sense,
		.sense_bytes = sizeof(sense),
		.complete = end_step,
		.caller_command = data,
	};
	unsigned int before = gate_count(&steps);

	iov = (struct iovec){ data, sizeof(data) };
	gate_close(&steps);
	tcmu_ext_disk_submit_read(disk, &command, 0, sizeof(data));
	gate_wait_for(&steps, before + 1);
}

static enum tcmu_ext_status execute(uint8_t operation_code, uint64_t block,
				    struct forbidden_calls *calls)
{
	const struct cdb cdb = cdb_blocks(operation_code, block, 1);
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
	enum tcmu_ext_status status;

	forbidden_calls_watch();
	status = tcmu_ext_disk_execute(disk, &command);
	*calls = forbidden_calls_seen();
	return status;
}

#define expect(operation_code, block, status, locks) \
	expect_at(operation_code, block, status, locks, __LINE__)

static void expect_at(uint8_t operation_code, uint64_t block, enum tcmu_ext_status status,
		      unsigned int locks, int line)
{
	struct forbidden_calls calls;
	enum tcmu_ext_status found = execute(operation_code, block, &calls);

	check(found == status && calls.locks == locks, "line %d: status %d, %u locks", line,
	      (int)found, calls.locks);
	check(!calls.allocations && !calls.clocks, "line %d: %u calls for memory, %u of clocks",
	      line, calls.allocations, calls.clocks);
}

/* -- tests -- */

static void test_beside_nothing_nothing_is_locked(void **state)
{
	(void)state;
	expect(TCMU_EXT_READ_10, OTHER_BLOCK, TCMU_EXT_STATUS_GOOD, 0);
	expect(TCMU_EXT_WRITE_10, OTHER_BLOCK, TCMU_EXT_STATUS_GOOD, 0);
	hold_change();
	let_go();
	expect(TCMU_EXT_READ_10, OTHER_BLOCK, TCMU_EXT_STATUS_GOOD, 0);
	expect(TCMU_EXT_WRITE_10, OTHER_BLOCK, TCMU_EXT_STATUS_GOOD, 0);
}

static void test_beside_a_read_writes_look(void **state)
{
	(void)state;
	hold_read();
	expect(TCMU_EXT_READ_10, OTHER_BLOCK, TCMU_EXT_STATUS_GOOD, 0);
	expect(TCMU_EXT_WRITE_10, OTHER_BLOCK, TCMU_EXT_STATUS_GOOD, 1);
	expect(TCMU_EXT_WRITE_10, HELD_BLOCK, TCMU_EXT_STATUS_WOULD_BLOCK, 1);
	let_go();
}

static void test_beside_a_self_test_no_block_it_reads_is_written(void **state)
{
	(void)state;
	hold_self_test();
	expect(TCMU_EXT_READ_10, OTHER_BLOCK, TCMU_EXT_STATUS_GOOD, 0);
	expect(TCMU_EXT_WRITE_10, 0, TCMU_EXT_STATUS_WOULD_BLOCK, 1);
	expect(TCMU_EXT_WRITE_10, BLOCKS - 1, TCMU_EXT_STATUS_WOULD_BLOCK, 1);
	let_go();
	expect(TCMU_EXT_WRITE_10, 0, TCMU_EXT_STATUS_GOOD, 0);
}

static void test_beside_a_change_all_look(void **state)
{
	(void)state;
	hold_change();
	expect(TCMU_EXT_READ_10, OTHER_BLOCK, TCMU_EXT_STATUS_GOOD, 1);
	expect(TCMU_EXT_WRITE_10, OTHER_BLOCK, TCMU_EXT_STATUS_GOOD, 1);
	expect(TCMU_EXT_READ_10, HELD_BLOCK, TCMU_EXT_STATUS_WOULD_BLOCK, 1);
	expect(TCMU_EXT_WRITE_10, HELD_BLOCK, TCMU_EXT_STATUS_WOULD_BLOCK, 1);
	let_go();
}

/* The engine's threads may submit the copy's next step at any moment, whatever was looked at. */
static void test_beside_a_copy_nothing_is_done(void **state)
{
	(void)state;
	hold_copy();
	expect(TCMU_EXT_READ_10, OTHER_BLOCK, TCMU_EXT_STATUS_WOULD_BLOCK, 1);
	expect(TCMU_EXT_WRITE_10, OTHER_BLOCK, TCMU_EXT_STATUS_WOULD_BLOCK, 1);
	gate_open(&steps);
	tcmu_ext_disk_drain(disk);
	expect(TCMU_EXT_READ_10, OTHER_BLOCK, TCMU_EXT_STATUS_GOOD, 0);
	expect(TCMU_EXT_WRITE_10, OTHER_BLOCK, TCMU_EXT_STATUS_GOOD, 0);
}

static void *read_other_block(void *argument)
{
	struct forbidden_calls calls;

	*(enum tcmu_ext_status *)argument = execute(TCMU_EXT_READ_10, OTHER_BLOCK, &calls);
	return NULL;
}

/* Whoever looks waits for a thread that looks, or ends a request, at that moment. */
static void test_who_looks_waits_for_who_has_locked(void **state)
{
	unsigned int before = atomic_load(&forbidden_waits);
	enum tcmu_ext_status status = TCMU_EXT_STATUS_BUSY;
	pthread_t reader;

	(void)state;
	hold_change();
	pthread_mutex_lock(&disk->engine->lock);
	assert_int_equal(pthread_create(&reader, NULL, read_other_block, &status), 0);
	while (atomic_load(&forbidden_waits) == before)
		sched_yield();
	pthread_mutex_unlock(&disk->engine->lock);
	pthread_join(reader, NULL);
	assert_int_equal(status, TCMU_EXT_STATUS_GOOD);
	let_go();
}

#define disk_test(test) cmocka_unit_test_setup_teardown(test, make_disk, free_disk)

int main(void)
{
	const struct CMUnitTest tests[] = {
		disk_test(test_beside_nothing_nothing_is_locked),
		disk_test(test_beside_a_read_writes_look),
		disk_test(test_beside_a_self_test_no_block_it_reads_is_written),
		disk_test(test_beside_a_change_all_look),
		disk_test(test_beside_a_copy_nothing_is_done),
		disk_test(test_who_looks_waits_for_who_has_locked),
	};

	return run_unit_tests(tests);
}
