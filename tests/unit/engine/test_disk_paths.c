/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A command that fails, or that the file ends under, ends the same whichever way it went: on the
 * caller's thread, through io_uring, or by a worker of the engine. What is expected is what the way
 * on the caller's thread, io=inline, gives.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <tcmu-ext/disk.h>

#include "cdb.h"
#include "cmocka_test.h"
#include "gate.h"
#include "ring_error.h"

enum {
	BLOCK_BYTES = 512,
	BLOCKS = 256,
	FILE_BYTES = BLOCKS * BLOCK_BYTES,
	DATA_BLOCKS = 32,
	DATA_BYTES = DATA_BLOCKS * BLOCK_BYTES,
	PAGE_BYTES = 4096,
};

/* -- the ways -- */

static const struct way {
	const char *name;
	enum tcmu_ext_io_mode mode;
	int ring_error;
} ways[] = {
	{ "inline", TCMU_EXT_IO_MODE_INLINE, 0 },
	{ "auto", TCMU_EXT_IO_MODE_AUTO, 0 },
	{ "auto, threads", TCMU_EXT_IO_MODE_AUTO, -EPERM },
	{ "async", TCMU_EXT_IO_MODE_ASYNC, 0 },
	{ "async, threads", TCMU_EXT_IO_MODE_ASYNC, -EPERM },
};

/* -- the disk -- */

static char path[] = "paths-XXXXXX";
static int file;

static void ignore_message(void *context, enum tcmu_ext_log_level level, const char *message)
{
	(void)context;
	(void)level;
	(void)message;
}

static struct tcmu_ext_disk *open_disk(const struct way *way, struct tcmu_ext_backend **backend)
{
	struct tcmu_ext_backend_config backend_config = {
		.struct_bytes = sizeof(backend_config),
		.path = path,
		.size_bytes = FILE_BYTES,
		.logical_block_bytes = BLOCK_BYTES,
		.log = { .write = ignore_message },
	};
	struct tcmu_ext_disk_config disk_config = {
		.struct_bytes = sizeof(disk_config),
		.size_bytes = FILE_BYTES,
		.logical_block_bytes = BLOCK_BYTES,
		.write_cache = true,
		.io = way->mode,
		.log = { .write = ignore_message },
	};
	struct tcmu_ext_disk *disk;

	ring_error = way->ring_error;
	assert_int_equal(tcmu_ext_backend_open(&tcmu_ext_backend_file, &backend_config, backend),
			 0);
	assert_int_equal(tcmu_ext_disk_create(*backend, &disk_config, &disk), 0);
	return disk;
}

/* Counting bytes, so that each block is another. */
static void fill_file(void)
{
	static uint8_t bytes[FILE_BYTES];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i / BLOCK_BYTES + i + 1);
	assert_int_equal(ftruncate(file, 0), 0);
	assert_int_equal(pwrite(file, bytes, sizeof(bytes), 0), sizeof(bytes));
	/* Not in the page cache, if the file system heeds that. */
	assert_int_equal(fdatasync(file), 0);
	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

/* -- a command and its end -- */

struct outcome {
	struct gate ended;
	enum tcmu_ext_status status;
	uint8_t sense[TCMU_EXT_SENSE_BYTES];
	uint8_t data[DATA_BYTES];
	uint8_t contents[FILE_BYTES]; /* of the file, afterwards */
	ssize_t contents_bytes;
};

static void note_end(void *context, void *caller_command, enum tcmu_ext_status status)
{
	struct outcome *outcome = context;

	(void)caller_command;
	outcome->status = status;
	gate_pass(&outcome->ended);
}

struct scenario {
	struct cdb cdb;
	size_t data_bytes;
	void *memory; /* in place of the outcome's data */
	void (*before)(void);
	void (*after)(void);
};

static void run(const struct way *way, const struct scenario *scenario, struct outcome *outcome)
{
	struct iovec iov = { scenario->memory ? scenario->memory : outcome->data,
			     scenario->data_bytes };
	struct tcmu_ext_command command = {
		.cdb = scenario->cdb.bytes,
		.cdb_bytes = scenario->cdb.count,
		.iov = &iov,
		.iov_count = scenario->data_bytes ? 1 : 0,
		.sense = outcome->sense,
		.sense_bytes = sizeof(outcome->sense),
		.complete = note_end,
		.context = outcome,
	};
	struct tcmu_ext_command again = command;
	struct tcmu_ext_backend *backend;
	struct tcmu_ext_disk *disk;

	*outcome = (struct outcome){ .ended = GATE_INITIALIZER };
	memset(outcome->data, 0xee, sizeof(outcome->data));
	fill_file();
	disk = open_disk(way, &backend);
	if (scenario->before)
		scenario->before();
	outcome->status = tcmu_ext_disk_execute(disk, &command);
	if (outcome->status == TCMU_EXT_STATUS_WOULD_BLOCK) {
		tcmu_ext_disk_submit(disk, &again);
		gate_wait_for(&outcome->ended, 1);
	}
	if (scenario->after)
		scenario->after();
	tcmu_ext_disk_destroy(disk);
	tcmu_ext_backend_close(backend);
	outcome->contents_bytes = pread(file, outcome->contents, FILE_BYTES, 0);
}

/* Every way as the first; returns that one's outcome. */
static const struct outcome *compare_ways(const struct scenario *scenario)
{
	static struct outcome expected, outcome;

	run(&ways[0], scenario, &expected);
	for (size_t i = 1; i < ARRAY_COUNT(ways); i++) {
		const char *name = ways[i].name;

		run(&ways[i], scenario, &outcome);
		check(outcome.status == expected.status, "io=%s: status %d", name, outcome.status);
		check(!memcmp(outcome.sense, expected.sense, sizeof(expected.sense)),
		      "io=%s: other sense data", name);
		check(!memcmp(outcome.data, expected.data, sizeof(expected.data)),
		      "io=%s: other data", name);
		check(outcome.contents_bytes == expected.contents_bytes &&
			      !memcmp(outcome.contents, expected.contents, FILE_BYTES),
		      "io=%s: the file holds other data", name);
	}
	return &expected;
}

/* -- scenarios -- */

enum { END_BYTES = 100 * BLOCK_BYTES + 200 };

static void cut_file(void)
{
	assert_int_equal(ftruncate(file, END_BYTES), 0);
}

static struct scenario transfer(uint8_t operation_code, uint32_t lba)
{
	return (struct scenario){ .cdb = cdb_blocks(operation_code, lba, DATA_BLOCKS),
				  .data_bytes = DATA_BYTES };
}

static void test_a_read_across_the_end_of_the_file(void **state)
{
	struct scenario scenario = transfer(0x28, 90);
	const struct outcome *outcome;

	(void)state;
	scenario.before = cut_file;
	outcome = compare_ways(&scenario);
	assert_int_equal(outcome->status, TCMU_EXT_STATUS_GOOD);
	assert_int_equal(outcome->data[0], 91);
	assert_int_equal(outcome->data[DATA_BYTES - 1], 0);
}

static void test_a_read_beyond_the_end_of_the_file(void **state)
{
	struct scenario scenario = transfer(0x88, 200);

	(void)state;
	scenario.before = cut_file;
	assert_int_equal(compare_ways(&scenario)->status, TCMU_EXT_STATUS_GOOD);
}

static void test_addresses_beyond_the_medium(void **state)
{
	const uint8_t codes[] = { 0x28, 0x2a, 0x88, 0x8a };

	(void)state;
	for (size_t i = 0; i < sizeof(codes); i++) {
		struct scenario scenario = transfer(codes[i], BLOCKS - 1);

		assert_int_equal(compare_ways(&scenario)->status, TCMU_EXT_STATUS_CHECK_CONDITION);
	}
}

static void test_transfers_of_nothing(void **state)
{
	(void)state;
	for (uint8_t code = 0x28; code <= 0x2a; code += 2) {
		struct scenario scenario = { .cdb = cdb_blocks(code, 5, 0) };

		assert_int_equal(compare_ways(&scenario)->status, TCMU_EXT_STATUS_GOOD);
	}
}

/* The second half of the buffer is not memory: the transfer is short, the rest of it fails. */
static void test_memory_that_is_not_there(void **state)
{
	uint8_t *memory = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	memset(memory, 0xaa, PAGE_BYTES);
	assert_int_equal(mprotect(memory + PAGE_BYTES, PAGE_BYTES, PROT_NONE), 0);
	for (uint8_t code = 0x28; code <= 0x2a; code += 2) {
		struct scenario scenario = transfer(code, 8);

		scenario.memory = memory + PAGE_BYTES / 2;
		assert_int_not_equal(compare_ways(&scenario)->status, TCMU_EXT_STATUS_GOOD);
	}
	munmap(memory, 2 * PAGE_BYTES);
}

static void limit_file_size(void)
{
	struct rlimit limit = { 100 * BLOCK_BYTES, RLIM_INFINITY };

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void unlimit_file_size(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A write that can be carried out only in part: the block where it ended is named. */
static void test_a_write_across_a_limit(void **state)
{
	const uint8_t codes[] = { 0x2a, 0x8a, 0x2e };

	(void)state;
	for (size_t i = 0; i < sizeof(codes); i++) {
		struct scenario scenario = transfer(codes[i], 90);

		scenario.before = limit_file_size;
		scenario.after = unlimit_file_size;
		assert_int_equal(compare_ways(&scenario)->status, TCMU_EXT_STATUS_CHECK_CONDITION);
		scenario.cdb = cdb_with(scenario.cdb, 1, 0x08); /* FUA, where it is one */
		if (codes[i] != 0x2e)
			compare_ways(&scenario);
	}
}

static void test_what_succeeds(void **state)
{
	const uint8_t codes[] = { 0x28, 0x2a, 0x2e, 0x8b };

	(void)state;
	for (size_t i = 0; i < sizeof(codes); i++) {
		struct scenario scenario = transfer(codes[i], 3);

		assert_int_equal(compare_ways(&scenario)->status, TCMU_EXT_STATUS_GOOD);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_succeeds),
		cmocka_unit_test(test_transfers_of_nothing),
		cmocka_unit_test(test_a_read_across_the_end_of_the_file),
		cmocka_unit_test(test_a_read_beyond_the_end_of_the_file),
		cmocka_unit_test(test_addresses_beyond_the_medium),
		cmocka_unit_test(test_memory_that_is_not_there),
		cmocka_unit_test(test_a_write_across_a_limit),
	};
	int failures;

	signal(SIGXFSZ, SIG_IGN);
	file = mkstemp(path);
	if (file < 0)
		return 1;
	failures = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	close(file);
	return end_unit_tests(failures);
}
