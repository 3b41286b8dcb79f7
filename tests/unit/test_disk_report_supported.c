/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * REPORT SUPPORTED OPERATION CODES and REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS (SPC-4 6.35,
 * 6.36), and whether what is reported is what the disk does.
 */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "disk_fixture.h"

enum {
	ALL = 0,
	BY_CODE = 1,
	BY_SERVICE_ACTION = 2,
	BY_EITHER = 3,
	RCTD = 0x80,
	ANSWER_BYTES = 4096,
	SUPPORT_NONE = 1,
	SUPPORT_STANDARD = 3,
	CODES = 256,
	ACTIONS = 32,
};

static struct cdb report(uint8_t options, uint8_t code, uint16_t action, uint32_t length)
{
	struct cdb cdb = cdb_service_action(TCMU_EXT_MAINTENANCE_IN,
					    TCMU_EXT_REPORT_SUPPORTED_OPERATION_CODES, length);

	cdb.bytes[2] = options;
	cdb.bytes[3] = code;
	field_put(cdb.bytes + 4, 2, action);
	return cdb;
}

static const uint8_t *answer_to(struct disk_fixture *fixture, struct cdb cdb)
{
	expect_good(fixture, disk_data_in(fixture, cdb, ANSWER_BYTES, disk_cuts[1]));
	return fixture->data;
}

static bool takes_service_actions(uint8_t code)
{
	return code == TCMU_EXT_SERVICE_ACTION_IN_16 || code == TCMU_EXT_MAINTENANCE_IN;
}

/* One command as reported. */
struct reported {
	uint8_t code;
	uint8_t action;
	bool has_action;
	size_t cdb_bytes;
};

static size_t list_all(struct disk_fixture *fixture, struct reported *commands, size_t maximum)
{
	const uint8_t *data = answer_to(fixture, report(ALL, 0, 0, ANSWER_BYTES));
	size_t bytes = field_get(data, 4), count = bytes / 8;

	assert_int_equal(bytes % 8, 0);
	assert_true(count > 0 && count <= maximum);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *descriptor = data + 4 + i * 8;

		assert_int_equal(descriptor[1], 0);
		assert_int_equal(descriptor[4], 0);
		assert_int_equal(descriptor[5] & ~0x01, 0);
		commands[i] = (struct reported){ .code = descriptor[0],
						 .action = descriptor[3],
						 .has_action = descriptor[5] & 0x01,
						 .cdb_bytes = field_get(descriptor + 6, 2) };
		assert_int_equal(commands[i].has_action, takes_service_actions(descriptor[0]));
		if (!commands[i].has_action)
			assert_int_equal(field_get(descriptor + 2, 2), 0);
		/* SPC-4 4.2.5.1: the group tells the length. */
		assert_int_equal(commands[i].cdb_bytes, cdb_make(descriptor[0]).count);
	}
	for (size_t i = 4 + bytes; i < ANSWER_BYTES; i++)
		assert_int_equal(data[i], 0);
	return count;
}

static void test_each_command_is_listed_once(void **state)
{
	struct reported commands[CODES];
	struct disk_fixture fixture;
	size_t count;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	count = list_all(&fixture, commands, CODES);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			assert_false(commands[i].code == commands[j].code &&
				     commands[i].action == commands[j].action);
	disk_fixture_close(&fixture);
}

static bool is_listed(const struct reported *commands, size_t count, uint8_t code, uint8_t action)
{
	for (size_t i = 0; i < count; i++)
		if (commands[i].code == code && commands[i].action == action)
			return true;
	return false;
}

/* Whether the disk knows a command at all: not left to others, not refused as unknown. */
static bool is_executed(struct disk_fixture *fixture, uint8_t code, uint8_t action)
{
	struct cdb cdb = cdb_make(code);
	enum tcmu_ext_status status;

	if (takes_service_actions(code))
		cdb.bytes[1] = action;
	status = disk_command(fixture, cdb);
	if (status == TCMU_EXT_STATUS_NOT_MINE)
		return false;
	return status != TCMU_EXT_STATUS_CHECK_CONDITION ||
	       fixture->seen.additional_sense != TCMU_EXT_INVALID_COMMAND_OPERATION_CODE;
}

static void expect_list_is_true(const struct disk_setup *setup)
{
	struct reported commands[CODES];
	struct disk_fixture fixture;
	size_t count;

	disk_fixture_open(&fixture, setup);
	count = list_all(&fixture, commands, CODES);
	for (int code = 0; code < CODES; code++)
		for (int action = 0; action < ACTIONS; action++) {
			if (action && !takes_service_actions((uint8_t)code))
				continue;
			check(is_listed(commands, count, (uint8_t)code, (uint8_t)action) ==
				      is_executed(&fixture, (uint8_t)code, (uint8_t)action),
			      "operation %02x, service action %02x", (unsigned int)code,
			      (unsigned int)action);
		}
	disk_fixture_close(&fixture);
}

static void test_what_is_listed_is_what_is_executed(void **state)
{
	struct disk_setup setup = disk_setup_default;

	(void)state;
	expect_list_is_true(&setup);
	setup.memory.properties.discard_granularity_bytes = 0;
	expect_list_is_true(&setup);
}

/* The usage data of one command; its length in bytes. */
static size_t usage_of(struct disk_fixture *fixture, const struct reported *command,
		       uint8_t usage[16])
{
	const uint8_t *data =
		answer_to(fixture, report(BY_EITHER, command->code, command->action, ANSWER_BYTES));
	size_t bytes = field_get(data + 2, 2);

	assert_int_equal(data[0], 0);
	assert_int_equal(data[1], SUPPORT_STANDARD);
	assert_int_equal(bytes, command->cdb_bytes);
	memcpy(usage, data + 4, bytes);
	assert_int_equal(usage[0], command->code);
	if (command->has_action)
		assert_int_equal(usage[1] & 0x1f, command->action);
	return bytes;
}

/* In 6-byte CDBs the LUN that SCSI-2 had there is ignored, reported or not. */
static bool is_old_lun(size_t cdb_bytes, size_t byte, int bit)
{
	return cdb_bytes == 6 && byte == 1 && bit >= 5;
}

/* SPC-4 6.35.3: a bit that is 0 in the usage data is refused, and named by the field pointer. */
static void test_bits_not_in_use_are_refused(void **state)
{
	struct reported commands[CODES];
	struct disk_fixture fixture;
	size_t count;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	count = list_all(&fixture, commands, CODES);
	for (size_t i = 0; i < count; i++) {
		uint8_t usage[16];
		size_t bytes = usage_of(&fixture, &commands[i], usage);

		for (size_t byte = 1; byte < bytes; byte++)
			for (int bit = 0; bit < 8; bit++) {
				struct cdb cdb = cdb_make(commands[i].code);

				if (usage[byte] & 1 << bit || is_old_lun(bytes, byte, bit) ||
				    (byte == 1 && bit < 5 && commands[i].has_action))
					continue;
				if (commands[i].has_action)
					cdb.bytes[1] = commands[i].action;
				cdb.bytes[byte] |= (uint8_t)(1 << bit);
				expect_invalid_field(&fixture, disk_command(&fixture, cdb),
						     (int)byte, bit);
			}
	}
	disk_fixture_close(&fixture);
}

/*
 * The fields of each CDB that the disk evaluates, from the layouts in SPC-4 and SBC-3: byte by byte
 * as in CDB USAGE DATA. Protection fields, FUA_NV, RARC, SP, ANCHOR in UNMAP, NACA are not.
 */
static const struct {
	size_t cdb_bytes;
	uint8_t usage[16];
} expected_usage[] = {
	{ 6, { 0x00, 0, 0, 0, 0, 0 } },
	{ 6, { 0x03, 0x01, 0, 0, 0xff, 0 } },
	{ 6, { 0x08, 0x1f, 0xff, 0xff, 0xff, 0 } },
	{ 6, { 0x0a, 0x1f, 0xff, 0xff, 0xff, 0 } },
	{ 6, { 0x12, 0x01, 0xff, 0xff, 0xff, 0 } },
	{ 6, { 0x15, 0x10, 0, 0, 0xff, 0 } },
	{ 6, { 0x1a, 0x08, 0xff, 0xff, 0xff, 0 } },
	{ 6, { 0x1b, 0x01, 0, 0, 0x07, 0 } },
	{ 6, { 0x1d, 0x17, 0, 0, 0, 0 } },
	{ 10, { 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ 10, { 0x28, 0x18, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0 } },
	{ 10, { 0x2a, 0x18, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0 } },
	{ 10, { 0x2e, 0x16, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0 } },
	{ 10, { 0x2f, 0x16, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0 } },
	{ 10, { 0x34, 0x02, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0 } },
	{ 10, { 0x35, 0x02, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0 } },
	{ 10, { 0x41, 0x18, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0 } },
	{ 10, { 0x42, 0, 0, 0, 0, 0, 0x3f, 0xff, 0xff, 0 } },
	{ 10, { 0x55, 0x10, 0, 0, 0, 0, 0, 0xff, 0xff, 0 } },
	{ 10, { 0x5a, 0x18, 0xff, 0xff, 0, 0, 0, 0xff, 0xff, 0 } },
	{ 16,
	  { 0x88, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0x3f, 0 } },
	{ 16,
	  { 0x89, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0xff, 0x3f, 0 } },
	{ 16,
	  { 0x8a, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0x3f, 0 } },
	{ 16,
	  { 0x8b, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0x3f, 0 } },
	{ 16,
	  { 0x8e, 0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0x3f, 0 } },
	{ 16,
	  { 0x8f, 0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0x3f, 0 } },
	{ 16,
	  { 0x90, 0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0x3f, 0 } },
	{ 16,
	  { 0x91, 0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0x3f, 0 } },
	{ 16,
	  { 0x93, 0x19, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0x3f, 0 } },
	{ 16, { 0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0 } },
	{ 16,
	  { 0x9e, 0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,
	    0 } },
	{ 12, { 0xa3, 0x0c, 0x87, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0 } },
	{ 12, { 0xa3, 0x0d, 0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0 } },
	{ 12, { 0xa8, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0 } },
	{ 12, { 0xaa, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0 } },
	{ 12, { 0xae, 0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0 } },
	{ 12, { 0xaf, 0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0 } },
};

static void test_usage_data_is_that_of_the_standard(void **state)
{
	struct reported commands[CODES];
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	assert_int_equal(list_all(&fixture, commands, CODES), ARRAY_COUNT(expected_usage));
	for (size_t i = 0; i < ARRAY_COUNT(expected_usage); i++) {
		const uint8_t *expected = expected_usage[i].usage;
		uint8_t code = expected[0];
		uint8_t action = takes_service_actions(code) ? expected[1] & 0x1f : 0;
		struct reported command = { code, action, takes_service_actions(code),
					    expected_usage[i].cdb_bytes };
		uint8_t usage[16];

		usage_of(&fixture, &command, usage);
		check(!memcmp(usage, expected, command.cdb_bytes),
		      "operation %02x, service action %02x", code, action);
	}
	disk_fixture_close(&fixture);
}

static void test_one_command_by_its_code(void **state)
{
	struct disk_fixture fixture;
	const uint8_t *data;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	data = answer_to(&fixture, report(BY_CODE, TCMU_EXT_READ_10, 0, ANSWER_BYTES));
	assert_int_equal(data[1], SUPPORT_STANDARD);
	assert_int_equal(field_get(data + 2, 2), 10);
	assert_int_equal(data[4], TCMU_EXT_READ_10);
	assert_int_equal(data[5] & 0xe0, 0);    /* RDPROTECT */
	assert_int_equal(data[5] & 0x18, 0x18); /* DPO, FUA */
	assert_true(field_get(data + 6, 4) == UINT32_MAX);
	assert_int_equal(field_get(data + 11, 2), UINT16_MAX);
	assert_int_equal(data[13] & 0x04, 0); /* NACA */
	data = answer_to(&fixture, report(BY_CODE, 0xd7, 0, ANSWER_BYTES));
	assert_int_equal(data[1], SUPPORT_NONE);
	assert_int_equal(field_get(data + 2, 2), 0);
	/* A command with service actions cannot be asked for without. */
	expect_invalid_field(
		&fixture,
		disk_command(&fixture, report(BY_CODE, TCMU_EXT_MAINTENANCE_IN, 0, ANSWER_BYTES)),
		2, 2);
	disk_fixture_close(&fixture);
}

static void test_one_command_by_its_service_action(void **state)
{
	struct disk_fixture fixture;
	const uint8_t *data;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	data = answer_to(&fixture, report(BY_SERVICE_ACTION, TCMU_EXT_SERVICE_ACTION_IN_16,
					  TCMU_EXT_READ_CAPACITY_16, ANSWER_BYTES));
	assert_int_equal(data[1], SUPPORT_STANDARD);
	assert_int_equal(field_get(data + 2, 2), 16);
	assert_int_equal(data[4], TCMU_EXT_SERVICE_ACTION_IN_16);
	assert_int_equal(data[5] & 0x1f, TCMU_EXT_READ_CAPACITY_16);
	data = answer_to(&fixture, report(BY_SERVICE_ACTION, TCMU_EXT_SERVICE_ACTION_IN_16, 0x1f,
					  ANSWER_BYTES));
	assert_int_equal(data[1], SUPPORT_NONE);
	/* Beyond five bits no service action of these codes can be. */
	data = answer_to(&fixture, report(BY_SERVICE_ACTION, TCMU_EXT_SERVICE_ACTION_IN_16,
					  0x0100 | TCMU_EXT_READ_CAPACITY_16, ANSWER_BYTES));
	assert_int_equal(data[1], SUPPORT_NONE);
	expect_invalid_field(&fixture,
			     disk_command(&fixture, report(BY_SERVICE_ACTION, TCMU_EXT_READ_10, 0,
							   ANSWER_BYTES)),
			     2, 2);
	disk_fixture_close(&fixture);
}

static void test_either_way(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	assert_int_equal(answer_to(&fixture, report(BY_EITHER, TCMU_EXT_READ_10, 0, 64))[1],
			 SUPPORT_STANDARD);
	assert_int_equal(answer_to(&fixture, report(BY_EITHER, TCMU_EXT_READ_10, 3, 64))[1],
			 SUPPORT_NONE);
	assert_int_equal(answer_to(&fixture, report(BY_EITHER, TCMU_EXT_SERVICE_ACTION_IN_16,
						    TCMU_EXT_GET_LBA_STATUS, 64))[1],
			 SUPPORT_STANDARD);
	assert_int_equal(
		answer_to(&fixture, report(BY_EITHER, TCMU_EXT_SERVICE_ACTION_IN_16, 0, 64))[1],
		SUPPORT_NONE);
	disk_fixture_close(&fixture);
}

static void test_unknown_reporting_options_are_refused(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (uint8_t options = 4; options < 8; options++)
		expect_invalid_field(&fixture,
				     disk_command(&fixture, report(options, 0, 0, ANSWER_BYTES)), 2,
				     -1);
	disk_fixture_close(&fixture);
}

static void test_unavailable_command_is_not_supported(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(answer_to(&fixture, report(BY_CODE, TCMU_EXT_UNMAP, 0, 64))[1],
			 SUPPORT_STANDARD);
	disk_fixture_close(&fixture);
	setup.memory.properties.discard_granularity_bytes = 0;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(answer_to(&fixture, report(BY_CODE, TCMU_EXT_UNMAP, 0, 64))[1],
			 SUPPORT_NONE);
	disk_fixture_close(&fixture);
}

/* Timeouts descriptors, of ten bytes behind their length (SPC-4 6.35.4): nothing is known. */
static void test_timeouts_descriptors(void **state)
{
	struct reported commands[CODES];
	struct disk_fixture fixture;
	const uint8_t *data;
	size_t count;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	count = list_all(&fixture, commands, CODES);
	data = answer_to(&fixture, report(ALL | RCTD, 0, 0, ANSWER_BYTES));
	assert_int_equal(field_get(data, 4), count * 20);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *descriptor = data + 4 + i * 20;

		assert_int_equal(descriptor[0], commands[i].code);
		assert_int_equal(descriptor[5] & 0x02, 0x02);
		assert_int_equal(field_get(descriptor + 8, 2), 10);
		assert_int_equal(field_get(descriptor + 12, 8), 0);
	}
	data = answer_to(&fixture, report(BY_CODE | RCTD, TCMU_EXT_READ_10, 0, ANSWER_BYTES));
	assert_int_equal(data[1], 0x80 | SUPPORT_STANDARD);
	assert_int_equal(field_get(data + 4 + 10, 2), 10);
	assert_int_equal(field_get(data + 4 + 12, 8), 0);
	data = answer_to(&fixture, report(BY_CODE | RCTD, 0xd7, 0, ANSWER_BYTES));
	assert_int_equal(data[1] & 0x07, SUPPORT_NONE);
	disk_fixture_close(&fixture);
}

static const struct tcmu_ext_command_description others[] = {
	{ .operation_code = 0x83,
	  .cdb_bytes = 16,
	  .has_service_action = true,
	  .service_action = 0x01,
	  .usage = { 0, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff } },
	{ .operation_code = TCMU_EXT_MAINTENANCE_IN,
	  .cdb_bytes = 12,
	  .has_service_action = true,
	  .service_action = 0x0a,
	  .usage = { 0, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff } },
	{ .operation_code = 0x04, .cdb_bytes = 6, .usage = { 0, 0x3f } },
};

/* What somebody else answers for the LUN is reported with the disk's own. */
static void test_commands_of_others(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	const uint8_t *data;
	size_t own_bytes;

	(void)state;
	disk_fixture_open(&fixture, &setup);
	own_bytes = field_get(answer_to(&fixture, report(ALL, 0, 0, ANSWER_BYTES)), 4);
	disk_fixture_close(&fixture);
	setup.disk.other_commands = others;
	setup.disk.other_command_count = ARRAY_COUNT(others);
	disk_fixture_open(&fixture, &setup);
	data = answer_to(&fixture, report(ALL, 0, 0, ANSWER_BYTES));
	assert_int_equal(field_get(data, 4), own_bytes + 8 * ARRAY_COUNT(others));
	data = answer_to(&fixture, report(BY_CODE, 0x04, 0, 64));
	assert_int_equal(data[1], SUPPORT_STANDARD);
	assert_int_equal(field_get(data + 2, 2), 6);
	assert_memory_equal(data + 4, "\x04\x3f\0\0\0\0", 6);
	data = answer_to(&fixture, report(BY_SERVICE_ACTION, TCMU_EXT_MAINTENANCE_IN, 0x0a, 64));
	assert_int_equal(data[1], SUPPORT_STANDARD);
	assert_int_equal(data[4], TCMU_EXT_MAINTENANCE_IN);
	assert_int_equal(data[5], 0xe0 | 0x0a);
	/* The disk's own under the same operation code is still found, and so is what is not. */
	data = answer_to(&fixture, report(BY_SERVICE_ACTION, TCMU_EXT_MAINTENANCE_IN,
					  TCMU_EXT_REPORT_SUPPORTED_OPERATION_CODES, 64));
	assert_int_equal(data[1], SUPPORT_STANDARD);
	data = answer_to(&fixture, report(BY_SERVICE_ACTION, 0x83, 0x02, 64));
	assert_int_equal(data[1], SUPPORT_NONE);
	/* They are executed by whoever does, not here. */
	assert_int_equal(disk_command(&fixture, cdb_make(0x04)), TCMU_EXT_STATUS_NOT_MINE);
	disk_fixture_close(&fixture);
}

static void test_allocation_length_truncates(void **state)
{
	struct disk_fixture fixture;
	uint8_t whole[ANSWER_BYTES];

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	memcpy(whole, answer_to(&fixture, report(ALL | RCTD, 0, 0, UINT32_MAX)), ANSWER_BYTES);
	for (uint32_t length = 0; length < 300; length++) {
		expect_good(&fixture, disk_data_in(&fixture, report(ALL | RCTD, 0, 0, length), 400,
						   disk_cuts[2]));
		assert_memory_equal(fixture.data, whole, length);
		for (size_t i = length; i < 400; i++)
			assert_int_equal(fixture.data[i], 0);
	}
	disk_fixture_close(&fixture);
}

static void test_task_management_functions(void **state)
{
	struct cdb cdb = cdb_service_action(
		TCMU_EXT_MAINTENANCE_IN, TCMU_EXT_REPORT_SUPPORTED_TASK_MANAGEMENT_FUNCTIONS, 64);
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	const uint8_t *data;

	(void)state;
	setup.disk.task_management_functions = 0x88;
	disk_fixture_open(&fixture, &setup);
	data = answer_to(&fixture, cdb);
	assert_memory_equal(data, "\x88\0\0\0", 4);
	/* The extended form is 16 bytes long and says so. */
	cdb.bytes[2] = 0x80;
	data = answer_to(&fixture, cdb);
	assert_int_equal(data[0], 0x88);
	assert_int_equal(data[3], 0x0c);
	for (size_t i = 4; i < 64; i++)
		assert_int_equal(data[i], 0);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_command_is_listed_once),
		cmocka_unit_test(test_what_is_listed_is_what_is_executed),
		cmocka_unit_test(test_bits_not_in_use_are_refused),
		cmocka_unit_test(test_usage_data_is_that_of_the_standard),
		cmocka_unit_test(test_one_command_by_its_code),
		cmocka_unit_test(test_one_command_by_its_service_action),
		cmocka_unit_test(test_either_way),
		cmocka_unit_test(test_unknown_reporting_options_are_refused),
		cmocka_unit_test(test_unavailable_command_is_not_supported),
		cmocka_unit_test(test_timeouts_descriptors),
		cmocka_unit_test(test_commands_of_others),
		cmocka_unit_test(test_allocation_length_truncates),
		cmocka_unit_test(test_task_management_functions),
	};

	return run_unit_tests(tests);
}
