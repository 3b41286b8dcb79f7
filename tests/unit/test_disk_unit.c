/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* TEST UNIT READY, REQUEST SENSE, SEND DIAGNOSTIC and START STOP UNIT (SPC-4, SBC-3). */
#include "cmocka_test.h"

#include <errno.h>
#include <string.h>

#include "disk_fixture.h"

static struct cdb request_sense(uint8_t allocation_length)
{
	struct cdb cdb = cdb_make(TCMU_EXT_REQUEST_SENSE);

	cdb.bytes[4] = allocation_length;
	return cdb;
}

static void test_unit_is_ready(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_good(&fixture, disk_command(&fixture, cdb_make(TCMU_EXT_TEST_UNIT_READY)));
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	disk_fixture_close(&fixture);
}

/* Sense data comes with each status: none is ever left to be asked for. */
static void test_request_sense_has_nothing_to_say(void **state)
{
	static const uint8_t fixed[18] = { 0x70, [7] = 10 };
	static const uint8_t descriptor[8] = { 0x72 };
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	disk_command(&fixture, cdb_blocks(TCMU_EXT_READ_10, 999, 1));
	expect_good(&fixture, disk_data_in(&fixture, request_sense(252), 252, disk_cuts[2]));
	assert_memory_equal(fixture.data, fixed, sizeof(fixed));
	for (size_t i = sizeof(fixed); i < 252; i++)
		assert_int_equal(fixture.data[i], 0);
	/* DESC asks for descriptor format. */
	expect_good(&fixture, disk_data_in(&fixture, cdb_with(request_sense(252), 1, 0x01), 252,
					   disk_cuts[2]));
	assert_memory_equal(fixture.data, descriptor, sizeof(descriptor));
	for (size_t i = sizeof(descriptor); i < 252; i++)
		assert_int_equal(fixture.data[i], 0);
	disk_fixture_close(&fixture);
}

static void test_request_sense_is_truncated(void **state)
{
	struct disk_fixture fixture;
	uint8_t expected[18] = { 0x70, [7] = 10 };

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (uint8_t length = 0; length < 30; length++) {
		size_t answer = length < 18 ? length : 18;

		expect_good(&fixture,
			    disk_data_in(&fixture, request_sense(length), 40, disk_cuts[4]));
		assert_memory_equal(fixture.data, expected, answer);
		for (size_t i = answer; i < 40; i++)
			assert_int_equal(fixture.data[i], 0);
	}
	disk_fixture_close(&fixture);
}

static struct cdb start_stop(uint8_t byte_1, uint8_t byte_3, uint8_t byte_4)
{
	struct cdb cdb = cdb_make(TCMU_EXT_START_STOP_UNIT);

	cdb.bytes[1] = byte_1;
	cdb.bytes[3] = byte_3;
	cdb.bytes[4] = byte_4;
	return cdb;
}

/* A started unit is started once more; IMMED and NO_FLUSH make no difference to that. */
static void test_start(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_good(&fixture, disk_command(&fixture, start_stop(0, 0, 0x01)));
	expect_good(&fixture, disk_command(&fixture, start_stop(0x01, 0, 0x01)));
	expect_good(&fixture, disk_command(&fixture, start_stop(0, 0, 0x05)));
	disk_fixture_close(&fixture);
}

/* There is no motor to stop, no medium to eject and no power condition to enter. */
static void test_what_there_is_not_is_refused(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_invalid_field(&fixture, disk_command(&fixture, start_stop(0, 0, 0x00)), 4, 0);
	expect_invalid_field(&fixture, disk_command(&fixture, start_stop(0, 0, 0x03)), 4, 1);
	for (int condition = 1; condition < 16; condition++)
		expect_invalid_field(
			&fixture,
			disk_command(&fixture, start_stop(0, 0, (uint8_t)(condition << 4 | 1))), 4,
			-1);
	expect_invalid_field(&fixture, disk_command(&fixture, start_stop(0, 0x01, 0x01)), 3, -1);
	/* Reads still work. */
	expect_good(&fixture,
		    disk_data_in(&fixture, cdb_blocks(TCMU_EXT_READ_10, 0, 1), 512, disk_cuts[0]));
	disk_fixture_close(&fixture);
}

static struct cdb send_diagnostic(uint8_t byte_1)
{
	return cdb_with(cdb_make(TCMU_EXT_SEND_DIAGNOSTIC), 1, byte_1);
}

/* With or without permission to go off line, which it does not need. */
static void test_self_test(void **state)
{
	static const uint8_t bytes_1[] = { 0x04, 0x05, 0x06, 0x07, 0x14 };
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < sizeof(bytes_1); i++)
		expect_good(&fixture, disk_command(&fixture, send_diagnostic(bytes_1[i])));
	assert_int_equal(fixture.memory.counts[MEMORY_READ], 2 * sizeof(bytes_1));
	assert_int_equal(fixture.memory.calls[0].offset, 0);
	assert_int_equal(fixture.memory.calls[1].offset, 127 * 512);
	assert_int_equal(memory_backend_calls(&fixture.memory), 2 * sizeof(bytes_1));
	disk_fixture_close(&fixture);
}

static void test_self_test_fails_when_either_end_cannot_be_read(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (unsigned int which = 1; which <= 2; which++) {
		fixture.memory.failures[MEMORY_READ] =
			(struct memory_failure){ .countdown = which, .error = -EIO };
		expect_sense(&fixture, disk_command(&fixture, send_diagnostic(0x04)),
			     TCMU_EXT_HARDWARE_ERROR, TCMU_EXT_LOGICAL_UNIT_FAILED_SELF_TEST);
		assert_false(fixture.seen.information_valid);
	}
	expect_good(&fixture, disk_command(&fixture, send_diagnostic(0x04)));
	disk_fixture_close(&fixture);
}

static void test_self_test_fails_when_data_was_lost(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	fixture.memory.failures[MEMORY_FLUSH] =
		(struct memory_failure){ .countdown = 1, .error = -EIO };
	expect_sense(&fixture, disk_command(&fixture, cdb_make(TCMU_EXT_SYNCHRONIZE_CACHE_10)),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR);
	expect_sense(&fixture, disk_command(&fixture, send_diagnostic(0x04)),
		     TCMU_EXT_HARDWARE_ERROR, TCMU_EXT_LOGICAL_UNIT_FAILED_SELF_TEST);
	disk_fixture_close(&fixture);
}

/* Neither other self-tests nor pages to send; asked for nothing, it does nothing. */
static void test_other_diagnostics_are_refused(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_good(&fixture, disk_command(&fixture, send_diagnostic(0)));
	for (int code = 1; code < 8; code++)
		expect_invalid_field(&fixture,
				     disk_command(&fixture, send_diagnostic((uint8_t)(code << 5))),
				     1, 7);
	expect_invalid_field(&fixture,
			     disk_command(&fixture, cdb_with(send_diagnostic(0x10), 4, 8)), 4, -1);
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unit_is_ready),
		cmocka_unit_test(test_request_sense_has_nothing_to_say),
		cmocka_unit_test(test_request_sense_is_truncated),
		cmocka_unit_test(test_self_test),
		cmocka_unit_test(test_self_test_fails_when_either_end_cannot_be_read),
		cmocka_unit_test(test_self_test_fails_when_data_was_lost),
		cmocka_unit_test(test_other_diagnostics_are_refused),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_what_there_is_not_is_refused),
	};

	return run_unit_tests(tests);
}
