/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What the ring is told of the length of an answer, so that an initiator that offers a larger
 * buffer gets a residual count; and that no other command's entry is ever told it.
 */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel's header defines a struct iovec of its own. */
#define iovec kernel_iovec
#include <linux/target_core_user.h>
#undef iovec

#include "standin.h"

enum { SIZE_BYTES = 1 << 20, BLOCK_BYTES = 512, ENTRY_BYTES = 128, ENTRIES = 4 };

static union {
	struct tcmu_mailbox mailbox;
	uint8_t memory[4096];
} ring __attribute__((aligned(64)));

static const struct tcmur_handler *handler;
static struct tcmu_device dev;
static char *image;

static struct tcmu_cmd_entry *entry(unsigned int number)
{
	return (void *)(ring.memory + ring.mailbox.cmdr_off + number % ENTRIES * ENTRY_BYTES);
}

static int open_lun(void **state)
{
	char text[4096];

	(void)state;
	memset(&ring, 0, sizeof(ring));
	ring.mailbox.flags = TCMU_MAILBOX_FLAG_CAP_OOOC | TCMU_MAILBOX_FLAG_CAP_READ_LEN;
	ring.mailbox.cmdr_off = 128;
	ring.mailbox.cmdr_size = ENTRIES * ENTRY_BYTES;
	for (unsigned int i = 0; i < ENTRIES; i++)
		entry(i)->hdr = (struct tcmu_cmd_entry_hdr){ ENTRY_BYTES | TCMU_OP_CMD,
							     (uint16_t)(100 + i), 0, 0 };
	handler = standin_load("file");
	image = standin_file("disk.img", SIZE_BYTES);
	snprintf(text, sizeof(text), "file/%s", image);
	dev = standin_device(text, SIZE_BYTES);
	dev.ring = &ring;
	return handler->open(&dev, false);
}

/* -- a command under way -- */

static sem_t completing, release;
static bool held;

/* On a thread of the engine: the command has not ended before this returns. */
static void hold_completion(struct tcmu_device *device, struct tcmur_cmd *cmd, int status)
{
	(void)device, (void)cmd, (void)status;
	sem_post(&completing);
	while (sem_wait(&release))
		;
}

static void let_go(void)
{
	if (held)
		sem_post(&release);
	held = false;
}

static struct tcmur_cmd *hold_command(void)
{
	const uint8_t verify[10] = { 0x2f, 0, 0, 0, 0, 0, 0, 0, 8, 0 };
	struct tcmur_cmd *cmd = standin_command(verify, NULL, 0);

	dev.completed = hold_completion;
	held = true;
	assert_int_equal(handler->handle_cmd(&dev, cmd), TCMU_STS_NOT_HANDLED);
	assert_int_equal(handler->flush(&dev, cmd), TCMU_STS_OK);
	while (sem_wait(&completing))
		;
	return cmd;
}

static int close_lun(void **state)
{
	(void)state;
	let_go(); /* a test that failed may not have */
	handler->close(&dev);
	free(image);
	return 0;
}

static uint8_t buffer[4096]; /* of the command being executed */

/* Executes the command of the entry `number`, of those from `tail` up to but not including `head`.
 */
static int execute(const uint8_t *cdb, unsigned int number, unsigned int tail, unsigned int head)
{
	struct iovec iov = { buffer, sizeof(buffer) };
	struct tcmur_cmd *cmd = standin_command(cdb, &iov, 1);
	int status;

	cmd->lib_cmd->cmd_id = entry(number)->hdr.cmd_id;
	ring.mailbox.cmd_tail = tail % ENTRIES * ENTRY_BYTES;
	ring.mailbox.cmd_head = head % ENTRIES * ENTRY_BYTES;
	status = handler->handle_cmd(&dev, cmd);
	standin_command_free(cmd);
	return status;
}

static void expect_nothing_told(void)
{
	for (unsigned int i = 0; i < ENTRIES; i++) {
		assert_int_equal(entry(i)->hdr.uflags, 0);
		assert_int_equal(entry(i)->rsp.read_len, 0);
	}
}

static void expect_only_told(unsigned int number, uint32_t bytes)
{
	assert_int_equal(entry(number)->hdr.uflags, TCMU_UFLAG_READ_LEN);
	assert_int_equal(entry(number)->rsp.read_len, bytes);
	entry(number)->hdr.uflags = 0;
	entry(number)->rsp.read_len = 0;
	expect_nothing_told();
}

static const uint8_t inquiry[6] = { 0x12, 0, 0, 0, 255, 0 };
static const uint8_t read_capacity[10] = { 0x25 };
static const uint8_t read_one[10] = { 0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0 };
static const uint8_t read_all[10] = { 0x28, 0, 0, 0, 0, 0, 0, 0, 8, 0 };
static const uint8_t write_one[10] = { 0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0 };
static const uint8_t read_beyond[10] = { 0x28, 0, 0xff, 0, 0, 0, 0, 0, 1, 0 };

static void the_length_of_an_answer_is_told(void **state)
{
	uint8_t short_inquiry[6] = { 0x12, 0, 0, 0, 5, 0 };

	(void)state;
	assert_int_equal(execute(read_capacity, 2, 2, 3), TCMU_STS_OK);
	expect_only_told(2, 8);
	assert_int_equal(execute(short_inquiry, 0, 0, 1), TCMU_STS_OK);
	expect_only_told(0, 5);
	assert_int_equal(execute(inquiry, 3, 3, 4), TCMU_STS_OK);
	expect_only_told(3, 96);
	assert_int_equal(execute(read_one, 1, 1, 2), TCMU_STS_OK);
	expect_only_told(1, BLOCK_BYTES);
}

static void a_full_buffer_needs_no_telling(void **state)
{
	(void)state;
	assert_int_equal(execute(read_all, 0, 0, 1), TCMU_STS_OK);
	assert_int_equal(execute(write_one, 0, 0, 1), TCMU_STS_OK);
	expect_nothing_told();
}

static void padding_is_passed_over(void **state)
{
	(void)state;
	entry(3)->hdr.len_op = ENTRY_BYTES | TCMU_OP_PAD;
	assert_int_equal(execute(read_capacity, 0, 3, 5), TCMU_STS_OK);
	expect_only_told(0, 8);
}

/* libtcmu fills the entry at the tail, whichever command ends. */
static void beside_another_command_nothing_is_told(void **state)
{
	struct tcmur_cmd *cmd = hold_command();

	(void)state;
	assert_int_equal(execute(read_capacity, 0, 0, 2), TCMU_STS_OK);
	assert_int_equal(execute(read_capacity, 1, 0, 2), TCMU_STS_OK);
	expect_nothing_told();
	let_go();
	handler->close(&dev);
	standin_command_free(cmd);
	assert_int_equal(handler->open(&dev, true), 0);
}

/* One that waits may be taken from the ring before the present one has ended, for all we know. */
static void before_another_command_nothing_is_told(void **state)
{
	(void)state;
	assert_int_equal(execute(read_capacity, 0, 0, 2), TCMU_STS_OK);
	expect_nothing_told();
}

/*
 * libtcmu passes over a command whose operation code it does not know the length of, and never
 * completes it. From then on there is an entry too many before that of each command.
 */
static void commands_passed_over_do_not_count(void **state)
{
	struct tcmur_cmd *cmd;

	(void)state;
	assert_int_equal(execute(read_capacity, 1, 0, 2), TCMU_STS_OK);
	expect_only_told(0, 8);
	assert_int_equal(execute(read_capacity, 3, 1, 4), TCMU_STS_OK);
	expect_only_told(1, 8);
	entry(1)->hdr.len_op = ENTRY_BYTES | TCMU_OP_PAD;
	assert_int_equal(execute(read_capacity, 3, 1, 4), TCMU_STS_OK);
	expect_only_told(2, 8);
	cmd = hold_command();
	assert_int_equal(execute(read_capacity, 3, 2, 4), TCMU_STS_OK);
	expect_nothing_told();
	let_go();
	/* Shortly after its completion has returned it counts no longer. */
	for (int i = 0; i < 1000 && !entry(2)->hdr.uflags; i++) {
		usleep(1000);
		assert_int_equal(execute(read_capacity, 3, 2, 4), TCMU_STS_OK);
	}
	expect_only_told(2, 8);
	standin_command_free(cmd);
}

/* What the runner does in it is not seen to end. */
static void beside_an_extended_copy_nothing_is_told(void **state)
{
	/* One block within the LUN. */
	const uint8_t list[76] = {
		[1] = 0x18, [3] = 32, [11] = 28, [16] = 0xe4, [48] = 0x02, [51] = 24, [59] = 1
	};
	const uint8_t extended_copy[16] = { 0x83, [13] = sizeof(list) };

	(void)state;
	memcpy(buffer, list, sizeof(list));
	assert_int_equal(execute(extended_copy, 0, 0, 1), TCMU_STS_NOT_HANDLED);
	assert_int_equal(execute(read_capacity, 1, 0, 2), TCMU_STS_OK);
	expect_nothing_told();
	assert_int_equal(execute(read_capacity, 1, 1, 2), TCMU_STS_OK);
	expect_only_told(1, 8);
}

static void another_commands_entry_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(execute(read_capacity, 1, 0, 1), TCMU_STS_OK);
	entry(0)->hdr.len_op = ENTRY_BYTES | TCMU_OP_TMR;
	assert_int_equal(execute(read_capacity, 0, 0, 1), TCMU_STS_OK);
	expect_nothing_told();
}

static void a_failed_command_has_no_length(void **state)
{
	(void)state;
	assert_int_equal(execute(read_beyond, 0, 0, 1), TCMU_STS_PASSTHROUGH_ERR);
	expect_nothing_told();
}

static void a_kernel_that_does_not_know_is_told_nothing(void **state)
{
	(void)state;
	ring.mailbox.flags = TCMU_MAILBOX_FLAG_CAP_OOOC;
	assert_int_equal(execute(read_capacity, 0, 0, 1), TCMU_STS_OK);
	expect_nothing_told();
}

static void a_damaged_ring_is_not_followed(void **state)
{
	(void)state;
	entry(0)->hdr.len_op = TCMU_OP_PAD;
	assert_int_equal(execute(read_capacity, 1, 0, 2), TCMU_STS_OK);
	ring.mailbox.cmdr_size = 0;
	assert_int_equal(execute(read_capacity, 1, 0, 2), TCMU_STS_OK);
	expect_nothing_told();
}

#define lun_test(test) cmocka_unit_test_setup_teardown(test, open_lun, close_lun)

int main(void)
{
	const struct CMUnitTest tests[] = {
		lun_test(the_length_of_an_answer_is_told),
		lun_test(a_full_buffer_needs_no_telling),
		lun_test(padding_is_passed_over),
		lun_test(beside_another_command_nothing_is_told),
		lun_test(before_another_command_nothing_is_told),
		lun_test(commands_passed_over_do_not_count),
		lun_test(beside_an_extended_copy_nothing_is_told),
		lun_test(another_commands_entry_is_left_alone),
		lun_test(a_failed_command_has_no_length),
		lun_test(a_kernel_that_does_not_know_is_told_nothing),
		lun_test(a_damaged_ring_is_not_followed),
	};

	sem_init(&completing, 0, 0);
	sem_init(&release, 0, 0);
	return standin_end(cmocka_run_group_tests(tests, NULL, NULL));
}
