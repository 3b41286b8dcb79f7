/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Commands that would wait: how they get to the disk's engine, which of them do, and that a LUN is
 * closed only when they have ended. preadv() is this program's own, so that a read can be held up
 * and another command arrive meanwhile.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin.h"

enum { SIZE_BYTES = 1 << 20, BLOCK_BYTES = 512, COMMANDS = 40 };

static struct {
	atomic_bool hold;    /* preadv() waits for `release` */
	atomic_bool arrival; /* while preadv() runs, a command arrives */
	sem_t entered, release;
} script;

static struct {
	uint16_t version, flags;
	uint32_t cmdr_off, cmdr_size, cmd_head;
	char own_cache_line[48];
	uint32_t cmd_tail;
	char other_cache_line[60];
	/* As many entries as there are, of 128 bytes each, all of them commands. */
	uint32_t entries[64][32];
} ring __attribute__((aligned(64)));

enum { ENTRY_BYTES = 128, OPERATION_PADDING = 0, OPERATION_COMMAND = 1 };

ssize_t preadv(int fd, const struct iovec *iov, int iov_count, off_t offset)
{
	static ssize_t (*original)(int, const struct iovec *, int, off_t);

	if (!original)
		*(void **)&original = dlsym(RTLD_NEXT, "preadv64");
	if (atomic_load(&script.arrival))
		__atomic_store_n(&ring.cmd_head,
				 (ring.cmd_head + ENTRY_BYTES) % sizeof(ring.entries),
				 __ATOMIC_RELEASE);
	if (atomic_load(&script.hold)) {
		sem_post(&script.entered);
		while (sem_wait(&script.release))
			;
	}
	return original(fd, iov, iov_count, offset);
}

static const struct tcmur_handler *handler;
static struct tcmu_device dev;
static char *image;

/* Commands that libtcmu has passed over: the tail stays so many entries behind. */
static uint32_t passed_over;

static void set_entries(uint32_t operation)
{
	for (size_t i = 0; i < ARRAY_COUNT(ring.entries); i++)
		ring.entries[i][0] = ENTRY_BYTES | operation;
	for (size_t i = 0; i < ARRAY_COUNT(ring.entries); i++)
		ring.entries[i][1] = (uint32_t)(100 + i); /* the command's number */
}

static int open_with(const char *options)
{
	char text[4096];

	atomic_store(&script.hold, false);
	atomic_store(&script.arrival, false);
	memset(&ring, 0, sizeof(ring));
	passed_over = 0;
	ring.cmdr_off = (uint32_t)((char *)ring.entries - (char *)&ring);
	ring.cmdr_size = sizeof(ring.entries);
	set_entries(OPERATION_COMMAND);
	handler = standin_load("file");
	image = standin_file("disk.img", SIZE_BYTES);
	snprintf(text, sizeof(text), "file/%s%s", image, options);
	dev = standin_device(text, SIZE_BYTES);
	dev.ring = &ring;
	return handler->open(&dev, false);
}

static int open_async(void **state)
{
	(void)state;
	return open_with(";io=async");
}

/* A test does this itself, because cmocka skips none before it has begun. */
static void open_direct(void)
{
	need_direct_io(standin_directory());
	assert_int_equal(open_with(";cache=none"), 0);
}

static int close_lun(void **state)
{
	(void)state;
	if (!image)
		return 0;
	handler->close(&dev);
	free(image);
	image = NULL;
	return 0;
}

static const uint8_t read_10[10] = { 0x28, 0, 0, 0, 0, 3, 0, 0, 1, 0 };

static struct {
	atomic_int count;
	int status;
	struct tcmur_cmd *cmd;
} ended;

static void note_end(struct tcmu_device *device, struct tcmur_cmd *cmd, int status)
{
	assert_ptr_equal(device, &dev);
	ended.cmd = cmd;
	ended.status = status;
	atomic_fetch_add(&ended.count, 1);
}

/* -- the way to the engine -- */

static void a_command_takes_the_way_of_a_flush(void **state)
{
	uint8_t data[BLOCK_BYTES];
	struct iovec iov = { data, sizeof(data) };
	struct tcmur_cmd *cmd = standin_command(read_10, &iov, 1);
	unsigned int before = standin_completions();
	int file = open(image, O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(pwrite(file, "hello", 5, 3 * BLOCK_BYTES), 5);
	dev.completed = note_end;
	assert_int_equal(handler->handle_cmd(&dev, cmd), TCMU_STS_NOT_HANDLED);
	assert_int_equal(cmd->lib_cmd->cdb[0], 0x35);
	assert_int_equal(handler->flush(&dev, cmd), TCMU_STS_OK);
	standin_wait(before + 1);
	assert_ptr_equal(ended.cmd, cmd);
	assert_int_equal(ended.status, TCMU_STS_OK);
	assert_int_equal(cmd->lib_cmd->cdb[0], 0x28);
	assert_memory_equal(data, "hello", 5);
	standin_command_free(cmd);
	close(file);
}

/* The runner may answer BUSY instead of calling: the next command is not taken for that one. */
static void a_command_that_never_came_back_is_forgotten(void **state)
{
	uint8_t data[BLOCK_BYTES];
	struct iovec iov = { data, sizeof(data) };
	struct tcmur_cmd *lost = standin_command(read_10, &iov, 1);
	uint8_t sense[TCMULIB_SENSE_BYTES];

	(void)state;
	assert_int_equal(handler->handle_cmd(&dev, lost), TCMU_STS_NOT_HANDLED);
	assert_int_equal(standin_send(handler, &dev, read_10, data, sizeof(data), sense),
			 TCMU_STS_OK);
	standin_command_free(lost);
}

static void errors_come_with_sense_data(void **state)
{
	const uint8_t verify[10] = { 0x2f, 0x02, 0, 0, 0, 3, 0, 0, 1, 0 };
	uint8_t data[BLOCK_BYTES], sense[TCMULIB_SENSE_BYTES];

	(void)state;
	memset(data, 1, sizeof(data));
	assert_int_equal(standin_send(handler, &dev, verify, data, sizeof(data), sense),
			 TCMU_STS_PASSTHROUGH_ERR);
	assert_int_equal(sense[2], 0x0e);
	assert_int_equal(sense[12], 0x1d);
}

/* What needs no storage is answered at once, also while the engine is busy. */
static void other_commands_do_not_wait(void **state)
{
	const uint8_t test_unit_ready[6] = { 0 };
	const uint8_t verify[10] = { 0x2f, 0, 0, 0, 0, 0, 0, 0, 8, 0 };
	struct tcmur_cmd *cmd = standin_command(verify, NULL, 0);
	struct tcmur_cmd *other = standin_command(test_unit_ready, NULL, 0);
	unsigned int before = standin_completions();

	(void)state;
	dev.completed = note_end;
	atomic_store(&script.hold, true);
	assert_int_equal(handler->handle_cmd(&dev, cmd), TCMU_STS_NOT_HANDLED);
	assert_int_equal(handler->flush(&dev, cmd), TCMU_STS_OK);
	while (sem_wait(&script.entered))
		;
	assert_int_equal(handler->handle_cmd(&dev, other), TCMU_STS_OK);
	assert_int_equal(standin_completions(), before);
	atomic_store(&script.hold, false);
	sem_post(&script.release);
	standin_wait(before + 1);
	standin_command_free(cmd);
	standin_command_free(other);
}

static void *release(void *argument)
{
	while (sem_wait(&script.entered))
		;
	atomic_store(&script.hold, false);
	sem_post(&script.release);
	return argument;
}

static void closing_waits_for_commands(void **state)
{
	static uint8_t data[COMMANDS][BLOCK_BYTES];
	const uint8_t verify[10] = { 0x2f, 0, 0, 0, 0, 0, 0, 0, 8, 0 };
	struct tcmur_cmd *cmds[COMMANDS + 1];
	pthread_t thread;

	(void)state;
	dev.completed = note_end;
	atomic_store(&ended.count, 0);
	atomic_store(&script.hold, true);
	for (int i = 0; i < COMMANDS; i++) {
		struct iovec iov = { data[i], BLOCK_BYTES };

		cmds[i] = i ? standin_command(read_10, &iov, 1) : standin_command(verify, NULL, 0);
		assert_int_equal(handler->handle_cmd(&dev, cmds[i]), TCMU_STS_NOT_HANDLED);
		assert_int_equal(handler->flush(&dev, cmds[i]), TCMU_STS_OK);
	}
	standin_log_clear();
	assert_int_equal(pthread_create(&thread, NULL, release, NULL), 0);
	handler->close(&dev);
	assert_int_equal(atomic_load(&ended.count), COMMANDS);
	/* What is said of the LUN is said once they have. */
	assert_non_null(strstr(standin_log(), ": 40 commands, 39 reads (19968 bytes), 0 writes"));
	pthread_join(thread, NULL);
	for (int i = 0; i < COMMANDS; i++)
		standin_command_free(cmds[i]);
	assert_int_equal(handler->open(&dev, true), 0);
}

/* -- alone or not -- */

/* The number of the command at the head. */
static uint16_t arriving(void)
{
	size_t place = ring.cmd_head / ENTRY_BYTES;

	if ((ring.entries[place][0] & 7) == OPERATION_PADDING)
		place = (place + 1) % ARRAY_COUNT(ring.entries);
	return (uint16_t)ring.entries[place][1];
}

/* A command arrives and is executed; returns whether that was at once. `others` came with it. */
static bool is_executed_at_once(uint32_t others)
{
	uint8_t data[BLOCK_BYTES];
	struct iovec iov = { data, sizeof(data) };
	struct tcmur_cmd *cmd = standin_command(read_10, &iov, 1);
	unsigned int before = standin_completions();
	int status;

	dev.completed = note_end;
	cmd->lib_cmd->cmd_id = arriving();
	ring.cmd_head = (ring.cmd_head + (1 + others) * ENTRY_BYTES) % sizeof(ring.entries);
	status = handler->handle_cmd(&dev, cmd);
	if (status == TCMU_STS_NOT_HANDLED) {
		assert_int_equal(handler->flush(&dev, cmd), TCMU_STS_OK);
		standin_wait(before + 1);
	} else {
		assert_int_equal(status, TCMU_STS_OK);
	}
	ring.cmd_tail = (ring.cmd_head + sizeof(ring.entries) - passed_over * ENTRY_BYTES) %
			sizeof(ring.entries);
	if (passed_over)
		usleep(1000); /* a thread of the engine returns from the completion */
	standin_command_free(cmd);
	return status == TCMU_STS_OK;
}

static void expect_at_once_again_after_a_while(void)
{
	int commands = 0;

	while (!is_executed_at_once(0))
		assert_true(++commands < 1000);
	assert_true(commands >= 8);
	for (int i = 0; i < 100; i++)
		assert_true(is_executed_at_once(0));
}

static void a_command_that_is_always_alone_is_executed_at_once(void **state)
{
	(void)state;
	open_direct();
	expect_at_once_again_after_a_while();
	assert_false(is_executed_at_once(1));
	expect_at_once_again_after_a_while();
	/* One arrives while another is being executed: there are more than one at a time. */
	atomic_store(&script.arrival, true);
	assert_true(is_executed_at_once(0));
	atomic_store(&script.arrival, false);
	assert_false(is_executed_at_once(0));
	expect_at_once_again_after_a_while();
}

/* Padding at the end of the ring is not a command. */
static void padding_is_no_command(void **state)
{
	(void)state;
	open_direct();
	expect_at_once_again_after_a_while();
	ring.entries[ring.cmd_tail / ENTRY_BYTES][0] = ENTRY_BYTES | OPERATION_PADDING;
	assert_true(is_executed_at_once(1));
	/* Nonsense steers nothing but this. */
	memset(ring.entries, 0, sizeof(ring.entries));
	assert_false(is_executed_at_once(0));
	ring.cmd_tail = UINT32_MAX;
	assert_false(is_executed_at_once(0));
}

static void commands_passed_over_do_not_count(void **state)
{
	(void)state;
	open_direct();
	passed_over = 3;
	assert_false(is_executed_at_once(0));
	expect_at_once_again_after_a_while();
	assert_false(is_executed_at_once(1));
	expect_at_once_again_after_a_while();
}

static void without_a_ring_nothing_is_alone(void **state)
{
	(void)state;
	open_direct();
	handler->close(&dev);
	dev.ring = NULL;
	assert_int_equal(handler->open(&dev, true), 0);
	for (int i = 0; i < 100; i++)
		assert_false(is_executed_at_once(0));
}

#define async_lun(test)  cmocka_unit_test_setup_teardown(test, open_async, close_lun)
#define direct_lun(test) cmocka_unit_test_teardown(test, close_lun)

int main(void)
{
	const struct CMUnitTest tests[] = {
		async_lun(a_command_takes_the_way_of_a_flush),
		async_lun(a_command_that_never_came_back_is_forgotten),
		async_lun(errors_come_with_sense_data),
		async_lun(other_commands_do_not_wait),
		async_lun(closing_waits_for_commands),
		direct_lun(a_command_that_is_always_alone_is_executed_at_once),
		direct_lun(padding_is_no_command),
		direct_lun(commands_passed_over_do_not_count),
		direct_lun(without_a_ring_nothing_is_alone),
	};

	sem_init(&script.entered, 0, 0);
	sem_init(&script.release, 0, 0);
	return standin_end(cmocka_run_group_tests(tests, NULL, NULL));
}
