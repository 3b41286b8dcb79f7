/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Commands of all kinds on overlapping blocks, many under way at once, on a file. Since commands on
 * overlapping blocks take effect in the order in which they are executed or submitted, a model that
 * is changed in that order tells the outcome of each: its status, the data it reads, and in the end
 * the whole file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tcmu-ext/disk.h>
#include <tcmu-ext/iovec.h>

#include "cdb.h"
#include "cmocka_test.h"
#include "gate.h"
#include "ring_error.h"

enum {
	BLOCK_BYTES = 4096,
	BLOCKS = 48,
	/* What follows belongs to a thread that copies, as EXTENDED COPY would. */
	COPY_BLOCKS = 16,
	TRANSFER_BLOCKS = 8,
	COMPARE_BLOCKS = 2,
	UNMAP_RANGES = 3,
	IN_FLIGHT = 24,
	COMMANDS = 3000,
	COPIES = 200,
	MISCOMPARE = 0x0e,
};

/* -- chance -- */

static uint64_t random_state;

static unsigned int chance(unsigned int below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned int)(random_state >> 33) % below;
}

static void fill(uint8_t *bytes, size_t count)
{
	uint8_t first = (uint8_t)chance(256);

	for (size_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)(first + i * 7);
}

/* -- the disk -- */

struct setup {
	enum tcmu_ext_io_mode mode;
	enum tcmu_ext_cache cache;
	int ring_error;
};

static struct tcmu_ext_backend *backend;
static struct tcmu_ext_disk *disk;
/* Not in memory, where /tmp may be. */
static char path[] = "/var/tmp/tcmu-ext-order-XXXXXX";
static int file;

static void show_message(void *context, enum tcmu_ext_log_level level, const char *message)
{
	(void)context;
	if (level == TCMU_EXT_LOG_ERROR || level == TCMU_EXT_LOG_WARNING)
		print_message("%s\n", message);
}

static void open_disk(const struct setup *setup)
{
	const uint64_t size_bytes = (BLOCKS + COPY_BLOCKS) * BLOCK_BYTES;
	struct tcmu_ext_backend_config backend_config = {
		.struct_bytes = sizeof(backend_config),
		.path = path,
		.cache = (int)setup->cache,
		.lock = 1,
		.size_bytes = size_bytes,
		.logical_block_bytes = BLOCK_BYTES,
		.log = { .write = show_message },
	};
	struct tcmu_ext_disk_config disk_config = {
		.struct_bytes = sizeof(disk_config),
		.size_bytes = size_bytes,
		.logical_block_bytes = BLOCK_BYTES,
		.write_cache = true,
		.io = setup->mode,
		.log = { .write = show_message },
	};

	ring_error = setup->ring_error;
	assert_int_equal(ftruncate(file, 0), 0);
	assert_int_equal(ftruncate(file, (off_t)size_bytes), 0);
	assert_int_equal(tcmu_ext_backend_open(&tcmu_ext_backend_file, &backend_config, &backend),
			 0);
	assert_int_equal(tcmu_ext_disk_create(backend, &disk_config, &disk), 0);
	assert_true(tcmu_ext_disk_has_engine(disk));
}

static void close_disk(void)
{
	tcmu_ext_disk_destroy(disk);
	tcmu_ext_backend_close(backend);
}

/* -- commands under way -- */

static uint8_t model[BLOCKS * BLOCK_BYTES];

static struct slot {
	bool busy;
	bool ended; /* under slots_lock */
	enum tcmu_ext_status status;
	struct cdb cdb;
	uint8_t sense[TCMU_EXT_SENSE_BYTES];
	struct iovec iov[3];
	/* Room to begin it at an odd address. */
	uint8_t *data;
	size_t data_bytes;
	uint8_t memory[(TRANSFER_BLOCKS + 2) * BLOCK_BYTES];
	enum tcmu_ext_status expected_status;
	bool reads;
	uint8_t expected[TRANSFER_BLOCKS * BLOCK_BYTES];
} slots[IN_FLIGHT];

static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t slot_ended = PTHREAD_COND_INITIALIZER;
static unsigned int blocked; /* commands that went to the engine */

static void complete(void *context, void *caller_command, enum tcmu_ext_status status)
{
	struct slot *slot = caller_command;

	(void)context;
	pthread_mutex_lock(&slots_lock);
	slot->status = status;
	slot->ended = true;
	pthread_cond_signal(&slot_ended);
	pthread_mutex_unlock(&slots_lock);
}

static void check_slot(struct slot *slot)
{
	slot->busy = false;
	check(slot->status == slot->expected_status, "status %d of operation %02x at block %u",
	      slot->status, slot->cdb.bytes[0], (unsigned int)field_get(slot->cdb.bytes + 2, 8));
	if (slot->status == TCMU_EXT_STATUS_CHECK_CONDITION)
		assert_int_equal(slot->sense[2] & 0x0f, MISCOMPARE);
	if (slot->reads && memcmp(slot->data, slot->expected, slot->data_bytes))
		fail_msg("operation %02x reads other data than the model has", slot->cdb.bytes[0]);
}

/* A slot for the next command, after what was in it has been checked. */
static struct slot *take_slot(void)
{
	struct slot *slot = NULL;

	pthread_mutex_lock(&slots_lock);
	while (!slot) {
		for (size_t i = 0; i < IN_FLIGHT && !slot; i++)
			if (!slots[i].busy || slots[i].ended)
				slot = &slots[i];
		if (!slot)
			pthread_cond_wait(&slot_ended, &slots_lock);
	}
	pthread_mutex_unlock(&slots_lock);
	if (slot->busy)
		check_slot(slot);
	return slot;
}

static void wait_for_all(void)
{
	for (size_t i = 0; i < IN_FLIGHT; i++) {
		pthread_mutex_lock(&slots_lock);
		while (slots[i].busy && !slots[i].ended)
			pthread_cond_wait(&slot_ended, &slots_lock);
		pthread_mutex_unlock(&slots_lock);
		if (slots[i].busy)
			check_slot(&slots[i]);
	}
}

static void prepare(struct slot *slot, struct cdb cdb, size_t data_bytes)
{
	slot->busy = true;
	slot->ended = false;
	slot->reads = false;
	slot->expected_status = TCMU_EXT_STATUS_GOOD;
	slot->cdb = cdb;
	slot->data_bytes = data_bytes;
	slot->data = (uint8_t *)(((uintptr_t)slot->memory + BLOCK_BYTES - 1) &
				 ~(uintptr_t)(BLOCK_BYTES - 1)) +
		     (chance(4) ? 0 : 3);
}

/* Cut in up to three pieces. */
static size_t cut(struct slot *slot)
{
	size_t first = slot->data_bytes ? chance((unsigned int)slot->data_bytes) : 0;
	size_t second = slot->data_bytes / 4 < first ? slot->data_bytes / 4 : first;

	if (!slot->data_bytes)
		return 0;
	if (chance(2)) {
		slot->iov[0] = (struct iovec){ slot->data, slot->data_bytes };
		return 1;
	}
	slot->iov[0] = (struct iovec){ slot->data, second };
	slot->iov[1] = (struct iovec){ slot->data + second, first - second };
	slot->iov[2] = (struct iovec){ slot->data + first, slot->data_bytes - first };
	return 3;
}

static void issue(struct slot *slot)
{
	struct tcmu_ext_command command = {
		.cdb = slot->cdb.bytes,
		.cdb_bytes = slot->cdb.count,
		.iov = slot->iov,
		.iov_count = cut(slot),
		.sense = slot->sense,
		.sense_bytes = sizeof(slot->sense),
		.flags = chance(8) ? 0 : TCMU_EXT_COMMAND_ALONE,
		.complete = complete,
		.caller_command = slot,
	};
	struct tcmu_ext_command again = command;
	enum tcmu_ext_status status = tcmu_ext_disk_execute(disk, &command);

	if (status != TCMU_EXT_STATUS_WOULD_BLOCK) {
		slot->status = status;
		slot->ended = true;
		return;
	}
	blocked++;
	tcmu_ext_disk_submit(disk, &again);
}

/* -- one function for each kind of command -- */

struct place {
	uint32_t lba;
	uint32_t blocks;
};

static struct place some_place(uint32_t maximum)
{
	struct place place = { .lba = chance(BLOCKS) };

	place.blocks = 1 + chance(maximum);
	if (place.blocks > BLOCKS - place.lba)
		place.blocks = BLOCKS - place.lba;
	return place;
}

static uint8_t *model_at(struct place place)
{
	return model + place.lba * BLOCK_BYTES;
}

static void do_read(struct slot *slot)
{
	struct place place = some_place(TRANSFER_BLOCKS);
	struct cdb cdb = cdb_blocks(chance(2) ? 0x28 : 0x88, place.lba, place.blocks);

	prepare(slot, chance(10) ? cdb : cdb_with(cdb, 1, 0x08), place.blocks * BLOCK_BYTES);
	memset(slot->data, 0xee, slot->data_bytes);
	memcpy(slot->expected, model_at(place), slot->data_bytes);
	slot->reads = true;
}

static void do_write(struct slot *slot)
{
	struct place place = some_place(TRANSFER_BLOCKS);
	struct cdb cdb = cdb_blocks(chance(2) ? 0x2a : 0x8a, place.lba, place.blocks);

	prepare(slot, chance(6) ? cdb : cdb_with(cdb, 1, 0x08), place.blocks * BLOCK_BYTES);
	fill(slot->data, slot->data_bytes);
	memcpy(model_at(place), slot->data, slot->data_bytes);
}

static void do_orwrite(struct slot *slot)
{
	struct place place = some_place(TRANSFER_BLOCKS);

	prepare(slot, cdb_blocks(0x8b, place.lba, place.blocks), place.blocks * BLOCK_BYTES);
	for (size_t i = 0; i < slot->data_bytes; i++) {
		slot->data[i] = (uint8_t)(1u << (i % 8));
		model_at(place)[i] |= slot->data[i];
	}
}

static void do_write_and_verify(struct slot *slot)
{
	struct place place = some_place(TRANSFER_BLOCKS);

	prepare(slot, cdb_with(cdb_blocks(0x2e, place.lba, place.blocks), 1, 0x02),
		place.blocks * BLOCK_BYTES);
	fill(slot->data, slot->data_bytes);
	memcpy(model_at(place), slot->data, slot->data_bytes);
}

static void do_verify(struct slot *slot)
{
	struct place place = some_place(TRANSFER_BLOCKS);

	prepare(slot, cdb_with(cdb_blocks(0x2f, place.lba, place.blocks), 1, 0x02),
		place.blocks * BLOCK_BYTES);
	memcpy(slot->data, model_at(place), slot->data_bytes);
	if (chance(3))
		return;
	slot->data[slot->data_bytes - 1] ^= 1;
	slot->expected_status = TCMU_EXT_STATUS_CHECK_CONDITION;
}

static void do_compare_and_write(struct slot *slot)
{
	struct place place = some_place(COMPARE_BLOCKS);
	size_t half = place.blocks * BLOCK_BYTES;
	struct cdb cdb = cdb_blocks(0x89, place.lba, 0);

	cdb.bytes[13] = (uint8_t)place.blocks;
	prepare(slot, cdb, 2 * half);
	memcpy(slot->data, model_at(place), half);
	fill(slot->data + half, half);
	if (chance(3)) {
		memcpy(model_at(place), slot->data + half, half);
		return;
	}
	slot->data[half / 2] ^= 1;
	slot->expected_status = TCMU_EXT_STATUS_CHECK_CONDITION;
}

/* Some block, or zeroes, or zeroes by unmapping. */
static void do_write_same(struct slot *slot)
{
	struct place place = some_place(BLOCKS / 2);
	unsigned int kind = chance(3);
	struct cdb cdb = cdb_blocks(0x93, place.lba, place.blocks);

	prepare(slot, kind == 2 ? cdb_with(cdb, 1, 0x09) : cdb, kind == 2 ? 0 : BLOCK_BYTES);
	if (kind == 0)
		fill(slot->data, BLOCK_BYTES);
	else if (kind == 1)
		memset(slot->data, 0, BLOCK_BYTES);
	for (uint32_t i = 0; i < place.blocks; i++)
		if (kind == 2)
			memset(model_at(place) + i * BLOCK_BYTES, 0, BLOCK_BYTES);
		else
			memcpy(model_at(place) + i * BLOCK_BYTES, slot->data, BLOCK_BYTES);
}

static void do_unmap(struct slot *slot)
{
	unsigned int ranges = 1 + chance(UNMAP_RANGES);
	struct cdb cdb = cdb_make(0x42);

	field_put(cdb.bytes + 7, 2, 8 + 16 * ranges);
	prepare(slot, cdb, 8 + 16 * ranges);
	memset(slot->data, 0, slot->data_bytes);
	field_put(slot->data, 2, 6 + 16 * ranges);
	field_put(slot->data + 2, 2, 16 * ranges);
	for (unsigned int i = 0; i < ranges; i++) {
		struct place place = some_place(TRANSFER_BLOCKS);

		field_put(slot->data + 8 + 16 * i, 8, place.lba);
		field_put(slot->data + 16 + 16 * i, 4, place.blocks);
		memset(model_at(place), 0, place.blocks * BLOCK_BYTES);
	}
}

static void do_synchronize_cache(struct slot *slot)
{
	prepare(slot, cdb_blocks(0x35, 0, 0), 0);
}

static void do_pre_fetch(struct slot *slot)
{
	prepare(slot, cdb_blocks(0x34, 0, BLOCKS), 0);
}

static void do_get_lba_status(struct slot *slot)
{
	prepare(slot, cdb_service_action(0x9e, 0x12, 24), 24);
}

static void (*const kinds[])(struct slot *slot) = {
	do_read,
	do_read,
	do_read,
	do_read,
	do_read,
	do_read,
	do_write,
	do_write,
	do_write,
	do_write,
	do_orwrite,
	do_write_and_verify,
	do_verify,
	do_compare_and_write,
	do_compare_and_write,
	do_write_same,
	do_unmap,
	do_synchronize_cache,
	do_pre_fetch,
	do_get_lba_status,
};

/* -- another thread's copies -- */

static struct {
	struct gate ended;
	enum tcmu_ext_status status;
	bool wrong;
} copier = { .ended = GATE_INITIALIZER };

static void copy_step_ended(void *context, void *caller_command, enum tcmu_ext_status status)
{
	(void)context;
	(void)caller_command;
	copier.status = status;
	gate_pass(&copier.ended);
}

static void copy_step(bool write, uint32_t block, uint8_t *data)
{
	uint8_t sense[TCMU_EXT_SENSE_BYTES];
	struct iovec iov = { data, BLOCK_BYTES };
	struct tcmu_ext_command command = {
		.iov = &iov,
		.iov_count = 1,
		.sense = sense,
		.sense_bytes = sizeof(sense),
		.complete = copy_step_ended,
	};
	unsigned int before = gate_count(&copier.ended);

	if (write)
		tcmu_ext_disk_submit_write(disk, &command, (BLOCKS + block) * BLOCK_BYTES,
					   BLOCK_BYTES);
	else
		tcmu_ext_disk_submit_read(disk, &command, (BLOCKS + block) * BLOCK_BYTES,
					  BLOCK_BYTES);
	gate_wait_for(&copier.ended, before + 1);
	copier.wrong |= copier.status != TCMU_EXT_STATUS_GOOD;
}

static void *copy_blocks(void *argument)
{
	static uint8_t data[BLOCK_BYTES], back[BLOCK_BYTES];

	for (uint32_t i = 0; i < COPIES; i++) {
		memset(data, (int)i, sizeof(data));
		copy_step(true, i % COPY_BLOCKS, data);
		copy_step(false, i % COPY_BLOCKS, back);
		copier.wrong |= memcmp(data, back, sizeof(data)) != 0;
	}
	return argument;
}

/* -- the test -- */

static void disturb(unsigned int number)
{
	/* Cold data, for commands that look for warm. */
	if (number % 40 == 0)
		posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	if (number % 300 == 0)
		assert_int_equal(tcmu_ext_disk_set_write_cache(disk, number % 600 == 0), 0);
}

static void check_file(void)
{
	static uint8_t contents[sizeof(model)];

	assert_int_equal(pread(file, contents, sizeof(contents), 0), sizeof(contents));
	assert_memory_equal(contents, model, sizeof(model));
}

static void test_order(void **state)
{
	const struct setup *setup = *state;
	pthread_t thread;

	if (setup->cache == TCMU_EXT_CACHE_NONE)
		need_direct_io(path);
	random_state = 88172645463325252u;
	blocked = 0;
	copier.wrong = false;
	memset(model, 0, sizeof(model));
	open_disk(setup);
	assert_int_equal(pthread_create(&thread, NULL, copy_blocks, NULL), 0);
	for (unsigned int number = 1; number <= COMMANDS; number++) {
		struct slot *slot = take_slot();

		kinds[chance(ARRAY_COUNT(kinds))](slot);
		issue(slot);
		disturb(number);
	}
	wait_for_all();
	pthread_join(thread, NULL);
	close_disk();
	assert_false(copier.wrong);
	check_file();
	assert_true(blocked > COMMANDS / 8);
}

static const struct setup setups[] = {
	{ TCMU_EXT_IO_MODE_AUTO, TCMU_EXT_CACHE_WRITEBACK, 0 },
	{ TCMU_EXT_IO_MODE_AUTO, TCMU_EXT_CACHE_WRITEBACK, -EPERM },
	{ TCMU_EXT_IO_MODE_ASYNC, TCMU_EXT_CACHE_WRITEBACK, 0 },
	{ TCMU_EXT_IO_MODE_ASYNC, TCMU_EXT_CACHE_WRITEBACK, -EPERM },
	{ TCMU_EXT_IO_MODE_AUTO, TCMU_EXT_CACHE_NONE, 0 },
	{ TCMU_EXT_IO_MODE_AUTO, TCMU_EXT_CACHE_NONE, -EPERM },
	{ TCMU_EXT_IO_MODE_ASYNC, TCMU_EXT_CACHE_NONE, 0 },
	{ TCMU_EXT_IO_MODE_ASYNC, TCMU_EXT_CACHE_NONE, -EPERM },
};

#define ORDER_TEST(name, number)                                                 \
	{                                                                        \
		name, test_order, NULL, NULL, (void *)(uintptr_t)&setups[number] \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ORDER_TEST("auto", 0),          ORDER_TEST("auto, threads", 1),
		ORDER_TEST("async", 2),         ORDER_TEST("async, threads", 3),
		ORDER_TEST("auto, direct", 4),  ORDER_TEST("auto, direct, threads", 5),
		ORDER_TEST("async, direct", 6), ORDER_TEST("async, direct, threads", 7),
	};
	int failures;

	file = mkstemp(path);
	if (file < 0)
		return 1;
	failures = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return end_unit_tests(failures);
}
