/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* handle_cmd: what comes back for what, and what is left to the runner. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin.h"

enum { SIZE_BYTES = 1 << 20, BLOCK_BYTES = 512 };

static const struct tcmur_handler *handler;
static struct tcmu_device dev;
static char *image;

static int open_lun(void **state)
{
	char text[4096];

	(void)state;
	handler = standin_load("file");
	image = standin_file("disk.img", SIZE_BYTES);
	snprintf(text, sizeof(text), "file/%s", image);
	dev = standin_device(text, SIZE_BYTES);
	return handler->open(&dev, false);
}

static int close_lun(void **state)
{
	(void)state;
	handler->close(&dev);
	free(image);
	return 0;
}

static int send_command(const uint8_t *cdb, void *buffer, size_t bytes,
			uint8_t sense[TCMULIB_SENSE_BYTES])
{
	return standin_send(handler, &dev, cdb, buffer, bytes, sense);
}

static void assert_sense(const uint8_t sense[TCMULIB_SENSE_BYTES], uint8_t key, uint8_t asc,
			 uint8_t ascq)
{
	assert_int_equal(sense[0] & 0x7f, 0x70);
	assert_int_equal(sense[2] & 0x0f, key);
	assert_int_equal(sense[12], asc);
	assert_int_equal(sense[13], ascq);
	for (size_t i = 18; i < TCMULIB_SENSE_BYTES; i++)
		assert_int_equal(sense[i], 0); /* written to the last byte: there was garbage */
}

/* A 10-byte CDB puts the runner's record of the command at an odd multiple of 2. */
static void reads_and_writes(void **state)
{
	const uint8_t write_10[10] = { 0x2a, 0, 0, 0, 0, 7, 0, 0, 2, 0 };
	const uint8_t read_10[10] = { 0x28, 0, 0, 0, 0, 7, 0, 0, 2, 0 };
	const uint8_t read_6[6] = { 0x08, 0, 0, 7, 2, 0 };
	const uint8_t read_16[16] = { 0x88, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0 };
	const uint8_t read_12[12] = { 0xa8, 0, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0 };
	const uint8_t *const reads[] = { read_6, read_10, read_12, read_16 };
	uint8_t data[2 * BLOCK_BYTES], back[2 * BLOCK_BYTES];
	int fd = open(image, O_RDONLY | O_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	assert_int_equal(send_command(write_10, data, sizeof(data), NULL), TCMU_STS_OK);
	assert_int_equal(pread(fd, back, sizeof(back), 7 * BLOCK_BYTES), sizeof(back));
	assert_memory_equal(data, back, sizeof(data));
	close(fd);
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		memset(back, 0, sizeof(back));
		assert_int_equal(send_command(reads[i], back, sizeof(back), NULL), TCMU_STS_OK);
		assert_memory_equal(data, back, sizeof(data));
	}
}

static void hands_over_sense_data(void **state)
{
	const uint8_t beyond[10] = { 0x28, 0, 0xff, 0, 0, 0, 0, 0, 1, 0 };
	uint8_t sense[TCMULIB_SENSE_BYTES];
	uint8_t data[BLOCK_BYTES];

	(void)state;
	assert_int_equal(send_command(beyond, data, sizeof(data), sense), TCMU_STS_PASSTHROUGH_ERR);
	assert_sense(sense, 0x05, 0x21, 0x00);
}

/* What only the runner implements comes back untouched. */
static void leaves_the_runner_its_commands(void **state)
{
	static const uint8_t commands[][16] = {
		{ 0x12, 1, 0x80, 0, 64 }, /* INQUIRY, unit serial number */
		{ 0x12, 1, 0x83, 0, 64 }, /* INQUIRY, device identification */
		{ 0x84, 3, [13] = 64 },   /* RECEIVE COPY RESULTS, operating parameters */
		{ 0xa3, 0x0a, [9] = 64 }, /* REPORT TARGET PORT GROUPS */
		{ 0xa3, 0x2a, [9] = 64 }, /* the same in the other format */
		{ 0xa4, 0x0a, [9] = 64 }, /* SET TARGET PORT GROUPS */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		uint8_t data[64];

		memset(data, 0x5a, sizeof(data));
		assert_int_equal(send_command(commands[i], data, sizeof(data), NULL),
				 TCMU_STS_NOT_HANDLED);
		for (size_t j = 0; j < sizeof(data); j++)
			assert_int_equal(data[j], 0x5a);
	}
}

/* With a list identifier, and with none as the runner wants it. */
static void leaves_an_extended_copy_without_identifier(void **state)
{
	static const uint8_t list[76] = {
		7, 0x10, 0, 32, [11] = 28, [16] = 0xe4, [48] = 0x02, [51] = 24, [59] = 1, [75] = 9
	};
	const uint8_t extended_copy[16] = { 0x83, [13] = sizeof(list) };
	uint8_t data[sizeof(list)], sense[TCMULIB_SENSE_BYTES];

	(void)state;
	memcpy(data, list, sizeof(list));
	assert_int_equal(send_command(extended_copy, data, sizeof(data), NULL),
			 TCMU_STS_NOT_HANDLED);
	assert_int_equal(data[0], 0);
	assert_int_equal(data[1], 0x18);
	assert_memory_equal(data + 2, list + 2, sizeof(list) - 2);

	memcpy(data, list, sizeof(list));
	data[48] = 0x03;
	assert_int_equal(send_command(extended_copy, data, sizeof(data), sense),
			 TCMU_STS_PASSTHROUGH_ERR);
	assert_sense(sense, 0x05, 0x26, 0x09);
	assert_int_equal(data[0], 7);

	data[11] = 0; /* nothing to copy */
	assert_int_equal(send_command(extended_copy, data, sizeof(data), NULL), TCMU_STS_OK);
}

/* The runner writes a warning for each command it does not know either. */
static void refuses_what_nobody_implements(void **state)
{
	static const uint8_t commands[][16] = {
		{ 0x01 },       /* REZERO UNIT */
		{ 0x04 },       /* FORMAT UNIT */
		{ 0x37 },       /* READ DEFECT DATA */
		{ 0x4d },       /* LOG SENSE */
		{ 0x83, 0x01 }, /* EXTENDED COPY, LID4 */
		{ 0x84, 0x00 }, /* RECEIVE COPY RESULTS, copy status */
		{ 0xa3, 0x05 }, /* REPORT IDENTIFYING INFORMATION */
		{ 0xa4, 0x06 }, /* SET IDENTIFYING INFORMATION */
		{ 0xa2 },       /* SECURITY PROTOCOL IN */
		{ 0x9f, 0x0f }, /* SERVICE ACTION OUT (16) */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		uint8_t sense[TCMULIB_SENSE_BYTES];

		if (send_command(commands[i], NULL, 0, sense) != TCMU_STS_PASSTHROUGH_ERR)
			fail_msg("command %02x/%02x", commands[i][0], commands[i][1]);
		assert_sense(sense, 0x05, 0x20, 0x00);
	}
}

static bool reports_support_of(struct tcmu_device *lun, uint8_t operation_code, int action)
{
	uint8_t report[12] = { 0xa3,
			       0x0c,
			       action < 0 ? 1 : 2,
			       operation_code,
			       0,
			       action < 0 ? 0 : (uint8_t)action,
			       0,
			       0,
			       0,
			       64 };
	uint8_t data[64], sense[TCMULIB_SENSE_BYTES];

	assert_int_equal(standin_send(handler, lun, report, data, sizeof(data), sense),
			 TCMU_STS_OK);
	if ((data[1] & 7) != 3)
		return false;
	assert_int_equal(data[4], operation_code);
	if (action >= 0)
		assert_int_equal(data[5] & 0x1f, action);
	return true;
}

/* REPORT SUPPORTED OPERATION CODES speaks for all who answer commands of the LUN. */
static void reports_what_others_answer(void **state)
{
	(void)state;
	assert_true(reports_support_of(&dev, 0xa0, -1));
	assert_true(reports_support_of(&dev, 0x83, 0x00));
	assert_true(reports_support_of(&dev, 0x84, 0x03));
	for (int action = 0; action < 4; action++)
		assert_true(reports_support_of(&dev, 0x5e, action));
	for (int action = 0; action < 8; action++)
		assert_true(reports_support_of(&dev, 0x5f, action));
	assert_true(reports_support_of(&dev, 0x16, -1));
	assert_true(reports_support_of(&dev, 0x57, -1));
	assert_false(reports_support_of(&dev, 0x83, 0x01));
	assert_false(reports_support_of(&dev, 0xa3, 0x0a));
	assert_false(reports_support_of(&dev, 0x04, -1));
}

static void reports_no_reservations_where_they_are_off(void **state)
{
	char *file = standin_file("no-reservations.img", SIZE_BYTES);
	struct tcmu_device lun;
	char text[4096];

	(void)state;
	snprintf(text, sizeof(text), "file/%s", file);
	lun = standin_device(text, SIZE_BYTES);
	lun.emulate_pr = 0;
	assert_int_equal(handler->open(&lun, false), 0);
	assert_false(reports_support_of(&lun, 0x5e, 0));
	assert_false(reports_support_of(&lun, 0x16, -1));
	assert_true(reports_support_of(&lun, 0xa0, -1));
	handler->close(&lun);
	free(file);
}

/* They are the target core's part, whose word the plugin must pass on. */
static void reports_the_task_management_of_the_target_core(void **state)
{
	static const uint8_t report[12] = { 0xa3, 0x0d, 0, 0, 0, 0, 0, 0, 0, 4 };
	uint8_t sense[TCMULIB_SENSE_BYTES];
	uint8_t data[4] = { 0 };

	(void)state;
	assert_int_equal(send_command(report, data, sizeof(data), sense), TCMU_STS_OK);
	assert_int_equal(data[0], 0x88); /* ABORT TASK, LOGICAL UNIT RESET */
}

/* VPD page 00h lists what the runner answers besides our own. */
static void lists_the_pages_of_both(void **state)
{
	const uint8_t pages[6] = { 0x12, 1, 0, 0, 32, 0 };
	uint8_t data[32];

	(void)state;
	assert_int_equal(send_command(pages, data, sizeof(data), NULL), TCMU_STS_OK);
	assert_non_null(memchr(data + 4, 0x80, data[3]));
	assert_non_null(memchr(data + 4, 0x83, data[3]));
}

static void identifies_the_backstore(void **state)
{
	const uint8_t inquiry[6] = { 0x12, 0, 0, 0, 96, 0 };
	uint8_t data[96];

	(void)state;
	assert_int_equal(send_command(inquiry, data, sizeof(data), NULL), TCMU_STS_OK);
	assert_int_equal(data[5], 0x08); /* 3PC, as EXTENDED COPY works; TPGS 0 */
	assert_memory_equal(data + 8, "LIO-ORG ", 8);
	assert_memory_equal(data + 16, "TCMU file       ", 16);
}

/* Between close and reopen. */
static void is_busy_without_a_lun(void **state)
{
	const uint8_t test_unit_ready[6] = { 0 };
	struct tcmu_device closed = standin_device("file//x", SIZE_BYTES);
	struct tcmur_cmd *cmd = standin_command(test_unit_ready, NULL, 0);

	(void)state;
	assert_int_equal(handler->handle_cmd(&closed, cmd), TCMU_STS_BUSY);
	assert_int_equal(handler->flush(&closed, cmd), TCMU_STS_BUSY);
	standin_command_free(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_and_writes),
		cmocka_unit_test(hands_over_sense_data),
		cmocka_unit_test(leaves_the_runner_its_commands),
		cmocka_unit_test(leaves_an_extended_copy_without_identifier),
		cmocka_unit_test(refuses_what_nobody_implements),
		cmocka_unit_test(reports_what_others_answer),
		cmocka_unit_test(reports_no_reservations_where_they_are_off),
		cmocka_unit_test(lists_the_pages_of_both),
		cmocka_unit_test(reports_the_task_management_of_the_target_core),
		cmocka_unit_test(identifies_the_backstore),
		cmocka_unit_test(is_busy_without_a_lun),
	};

	return standin_end(cmocka_run_group_tests(tests, open_lun, close_lun));
}
