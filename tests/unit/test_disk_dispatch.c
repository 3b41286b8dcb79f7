/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Every operation code with every service action and CDBs of all kinds: no access outside what the
 * caller lent, a sane status, no change of the medium by what does not write, and field checks that
 * agree with what REPORT SUPPORTED OPERATION CODES says.
 */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "disk_fixture.h"

enum { NACA = 0x04, CDB_BYTES = 16 };

/* The operation codes of tcmu-ext/scsi.h. */
static const uint8_t known_codes[] = {
	TCMU_EXT_TEST_UNIT_READY,
	TCMU_EXT_REQUEST_SENSE,
	TCMU_EXT_READ_6,
	TCMU_EXT_WRITE_6,
	TCMU_EXT_INQUIRY,
	TCMU_EXT_MODE_SELECT_6,
	TCMU_EXT_MODE_SENSE_6,
	TCMU_EXT_START_STOP_UNIT,
	TCMU_EXT_SEND_DIAGNOSTIC,
	TCMU_EXT_READ_CAPACITY_10,
	TCMU_EXT_READ_10,
	TCMU_EXT_WRITE_10,
	TCMU_EXT_WRITE_AND_VERIFY_10,
	TCMU_EXT_VERIFY_10,
	TCMU_EXT_PRE_FETCH_10,
	TCMU_EXT_SYNCHRONIZE_CACHE_10,
	TCMU_EXT_WRITE_SAME_10,
	TCMU_EXT_UNMAP,
	TCMU_EXT_MODE_SELECT_10,
	TCMU_EXT_MODE_SENSE_10,
	TCMU_EXT_READ_16,
	TCMU_EXT_COMPARE_AND_WRITE,
	TCMU_EXT_WRITE_16,
	TCMU_EXT_ORWRITE_16,
	TCMU_EXT_WRITE_AND_VERIFY_16,
	TCMU_EXT_VERIFY_16,
	TCMU_EXT_PRE_FETCH_16,
	TCMU_EXT_SYNCHRONIZE_CACHE_16,
	TCMU_EXT_WRITE_SAME_16,
	TCMU_EXT_SERVICE_ACTION_IN_16,
	TCMU_EXT_MAINTENANCE_IN,
	TCMU_EXT_READ_12,
	TCMU_EXT_WRITE_12,
	TCMU_EXT_WRITE_AND_VERIFY_12,
	TCMU_EXT_VERIFY_12,
};

static const uint8_t writing_codes[] = {
	TCMU_EXT_WRITE_6,
	TCMU_EXT_WRITE_10,
	TCMU_EXT_WRITE_12,
	TCMU_EXT_WRITE_16,
	TCMU_EXT_WRITE_AND_VERIFY_10,
	TCMU_EXT_WRITE_AND_VERIFY_12,
	TCMU_EXT_WRITE_AND_VERIFY_16,
	TCMU_EXT_WRITE_SAME_10,
	TCMU_EXT_WRITE_SAME_16,
	TCMU_EXT_UNMAP,
	TCMU_EXT_COMPARE_AND_WRITE,
	TCMU_EXT_ORWRITE_16,
};

static bool is_known(uint8_t code)
{
	return memchr(known_codes, code, sizeof(known_codes)) != NULL;
}

static bool is_writing(uint8_t code)
{
	return memchr(writing_codes, code, sizeof(writing_codes)) != NULL;
}

static bool has_service_action(uint8_t code)
{
	return code == TCMU_EXT_SERVICE_ACTION_IN_16 || code == TCMU_EXT_MAINTENANCE_IN;
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void check_status(const struct disk_fixture *fixture, const struct cdb *cdb,
			 enum tcmu_ext_status status)
{
	uint8_t code = cdb->bytes[0];

	check(status == TCMU_EXT_STATUS_GOOD || status == TCMU_EXT_STATUS_CHECK_CONDITION ||
		      status == TCMU_EXT_STATUS_NOT_MINE,
	      "operation %02x: status %d", code, (int)status);
	check(is_known(code) || status == TCMU_EXT_STATUS_NOT_MINE, "operation %02x: status %d",
	      code, (int)status);
	if (status == TCMU_EXT_STATUS_CHECK_CONDITION)
		check(fixture->seen.key == TCMU_EXT_ILLEGAL_REQUEST ||
			      fixture->seen.key == TCMU_EXT_MISCOMPARE ||
			      fixture->seen.key == TCMU_EXT_DATA_PROTECT,
		      "operation %02x: sense key %x without an error", code, fixture->seen.key);
	if (status == TCMU_EXT_STATUS_NOT_MINE && is_known(code))
		check(has_service_action(code) || code == TCMU_EXT_INQUIRY,
		      "operation %02x is known and not answered", code);
}

/* A buffer of some length, cut in some way, with a CDB that may be anything. */
static void run_anything(struct disk_fixture *fixture, const struct cdb *cdb, uint32_t *random)
{
	static const size_t lengths[] = { 0, 1, 8, 24, 255, 512, 1024, 4096, 5000 };
	size_t bytes = lengths[next_random(random) % ARRAY_COUNT(lengths)];
	size_t cuts =
		bytes > 512 ? disk_cut_count - 1 : disk_cut_count; /* the last: byte by byte */
	const size_t *cut = disk_cuts[next_random(random) % cuts];

	check_status(fixture, cdb, disk_data_in(fixture, *cdb, bytes, cut));
}

typedef void (*fill_function)(uint8_t *bytes, uint32_t *random);

static void fill_zeroes(uint8_t *bytes, uint32_t *random)
{
	(void)random;
	memset(bytes, 0, CDB_BYTES);
}

static void fill_ones(uint8_t *bytes, uint32_t *random)
{
	(void)random;
	memset(bytes, 0xff, CDB_BYTES);
}

static void fill_random(uint8_t *bytes, uint32_t *random)
{
	for (size_t i = 0; i < CDB_BYTES; i++)
		bytes[i] = (uint8_t)next_random(random);
}

/* Mostly zeroes: gets past the checks of reserved fields more often. */
static void fill_sparsely(uint8_t *bytes, uint32_t *random)
{
	memset(bytes, 0, CDB_BYTES);
	for (int i = 0; i < 3; i++)
		bytes[next_random(random) % CDB_BYTES] =
			(uint8_t)(next_random(random) & next_random(random));
}

static void run_every_code(struct disk_fixture *fixture, fill_function fill, int rounds,
			   uint32_t *random)
{
	for (int code = 0; code < 256; code++)
		for (int action = 0; action < 32; action++)
			for (int round = 0; round < rounds; round++) {
				struct cdb cdb = { .count = CDB_BYTES };

				fill(cdb.bytes, random);
				cdb.bytes[0] = (uint8_t)code;
				cdb.bytes[1] = (uint8_t)((cdb.bytes[1] & 0xe0) | action);
				run_anything(fixture, &cdb, random);
			}
}

static void test_every_operation_code(void **state)
{
	struct disk_fixture fixture;
	uint32_t random = 1;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	disk_fixture_fill_medium(&fixture);
	run_every_code(&fixture, fill_zeroes, 1, &random);
	run_every_code(&fixture, fill_ones, 1, &random);
	run_every_code(&fixture, fill_random, 1, &random);
	run_every_code(&fixture, fill_sparsely, 1, &random);
	assert_int_equal(fixture.messages, 0);
	disk_fixture_close(&fixture);
}

/* Nothing but the commands that write changes the medium, and a protected medium never changes. */
static void expect_medium_unchanged(const struct disk_setup *setup, bool with_writing_codes)
{
	struct disk_fixture fixture;
	uint32_t random = 7;
	uint8_t *before;

	disk_fixture_open(&fixture, setup);
	disk_fixture_fill_medium(&fixture);
	before = malloc(fixture.memory.window_bytes);
	memcpy(before, fixture.memory.medium, fixture.memory.window_bytes);
	for (int i = 0; i < 8000; i++) {
		struct cdb cdb = { .count = CDB_BYTES };

		fill_sparsely(cdb.bytes, &random);
		cdb.bytes[0] = known_codes[next_random(&random) % ARRAY_COUNT(known_codes)];
		if (is_writing(cdb.bytes[0]) && !with_writing_codes)
			continue;
		/* SWP would hide what is tested here. */
		if (cdb.bytes[0] == TCMU_EXT_MODE_SELECT_6 ||
		    cdb.bytes[0] == TCMU_EXT_MODE_SELECT_10)
			continue;
		run_anything(&fixture, &cdb, &random);
	}
	assert_int_equal(fixture.memory.counts[MEMORY_WRITE], 0);
	assert_int_equal(fixture.memory.counts[MEMORY_WRITE_ZEROES], 0);
	assert_int_equal(fixture.memory.counts[MEMORY_DISCARD], 0);
	assert_memory_equal(before, fixture.memory.medium, fixture.memory.window_bytes);
	free(before);
	disk_fixture_close(&fixture);
}

static void test_medium_is_changed_by_writes_alone(void **state)
{
	struct disk_setup setup = disk_setup_default;

	(void)state;
	expect_medium_unchanged(&setup, false);
	setup.disk.write_protect = true;
	expect_medium_unchanged(&setup, true);
	setup.disk.write_protect = false;
	setup.memory.properties.read_only = true;
	expect_medium_unchanged(&setup, true);
}

/* The command that writes is refused as such whatever it would have written. */
static void test_every_writing_command_is_refused_when_protected(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.disk.write_protect = true;
	disk_fixture_open(&fixture, &setup);
	for (size_t i = 0; i < sizeof(writing_codes); i++)
		expect_sense(
			&fixture,
			disk_data_out(&fixture, cdb_make(writing_codes[i]), NULL, 0, disk_cuts[0]),
			TCMU_EXT_DATA_PROTECT, TCMU_EXT_WRITE_PROTECTED);
	disk_fixture_close(&fixture);
}

/* SAM-5 5.2: NORMACA is 0, so NACA is refused, with a pointer to it. */
static void test_naca_is_refused(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < sizeof(known_codes); i++) {
		struct cdb cdb = cdb_make(known_codes[i]);

		if (has_service_action(known_codes[i]))
			cdb.bytes[1] = known_codes[i] == TCMU_EXT_MAINTENANCE_IN ? 0x0c : 0x10;
		cdb.bytes[cdb.count - 1] = NACA;
		expect_invalid_field(&fixture, disk_command(&fixture, cdb), (int)cdb.count - 1, 2);
	}
	disk_fixture_close(&fixture);
}

/*
 * A CDB with fewer bytes than its operation code needs. Each lies in memory of just its length, so
 * that AddressSanitizer sees a read beyond it.
 */
static void test_short_cdb_is_refused(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < sizeof(known_codes); i++) {
		struct cdb cdb = cdb_make(known_codes[i]);
		size_t whole = cdb.count;

		if (has_service_action(known_codes[i]))
			cdb.bytes[1] = known_codes[i] == TCMU_EXT_MAINTENANCE_IN ? 0x0c : 0x10;
		for (cdb.count = 0; cdb.count < whole; cdb.count++)
			check(disk_data_in(&fixture, cdb, 512, disk_cuts[0]) ==
				      TCMU_EXT_STATUS_CHECK_CONDITION,
			      "operation %02x was executed with %zu bytes of CDB", cdb.bytes[0],
			      cdb.count);
	}
	for (int code = 0; code < 256; code++) {
		struct cdb cdb = { .bytes = { (uint8_t)code } };

		for (cdb.count = 0; cdb.count < 16; cdb.count++)
			disk_data_in(&fixture, cdb, 512, disk_cuts[0]);
	}
	disk_fixture_close(&fixture);
}

/* A transport may hand over more bytes than the CDB has. */
static void test_bytes_behind_the_cdb_do_not_matter(void **state)
{
	struct disk_fixture fixture;
	struct cdb cdb = cdb_make(TCMU_EXT_TEST_UNIT_READY);

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	memset(cdb.bytes + 6, 0xff, sizeof(cdb.bytes) - 6);
	cdb.count = sizeof(cdb.bytes);
	expect_good(&fixture, disk_command(&fixture, cdb));
	disk_fixture_close(&fixture);
}

static void test_sense_buffer_of_any_size(void **state)
{
	struct disk_fixture fixture;
	struct cdb cdb = cdb_blocks(TCMU_EXT_READ_10, 1000, 1);

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t bytes = 0; bytes <= TCMU_EXT_SENSE_BYTES; bytes++) {
		uint8_t *sense = malloc(bytes ? bytes : 1);
		struct tcmu_ext_command command = { .cdb = cdb.bytes,
						    .cdb_bytes = cdb.count,
						    .sense = sense,
						    .sense_bytes = bytes };

		assert_int_equal(tcmu_ext_disk_execute(fixture.disk, &command),
				 TCMU_EXT_STATUS_CHECK_CONDITION);
		if (bytes > 2)
			assert_int_equal(sense[2], TCMU_EXT_ILLEGAL_REQUEST);
		free(sense);
	}
	disk_fixture_close(&fixture);
}

static void test_refusing_an_operation_code(void **state)
{
	struct disk_fixture fixture;
	uint8_t sense[TCMU_EXT_SENSE_BYTES];
	uint8_t cdb[16] = { 0xd7 };
	struct tcmu_ext_command command = {
		.cdb = cdb, .cdb_bytes = sizeof(cdb), .sense = sense, .sense_bytes = sizeof(sense)
	};

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	assert_int_equal(tcmu_ext_disk_execute(fixture.disk, &command), TCMU_EXT_STATUS_NOT_MINE);
	assert_int_equal(tcmu_ext_command_refuse_opcode(fixture.disk, &command),
			 TCMU_EXT_STATUS_CHECK_CONDITION);
	assert_int_equal(sense[0], 0x70);
	assert_int_equal(sense[2], TCMU_EXT_ILLEGAL_REQUEST);
	assert_int_equal(sense[12], 0x20);
	assert_int_equal(sense[13], 0x00);
	disk_fixture_close(&fixture);
}

/* An operation code that needs what the backing lacks does not exist. */
static void test_unmap_without_discard_does_not_exist(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.memory.properties.discard_granularity_bytes = 0;
	disk_fixture_open(&fixture, &setup);
	expect_sense(&fixture, disk_command(&fixture, cdb_make(TCMU_EXT_UNMAP)),
		     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_COMMAND_OPERATION_CODE);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_operation_code),
		cmocka_unit_test(test_medium_is_changed_by_writes_alone),
		cmocka_unit_test(test_every_writing_command_is_refused_when_protected),
		cmocka_unit_test(test_naca_is_refused),
		cmocka_unit_test(test_short_cdb_is_refused),
		cmocka_unit_test(test_bytes_behind_the_cdb_do_not_matter),
		cmocka_unit_test(test_sense_buffer_of_any_size),
		cmocka_unit_test(test_refusing_an_operation_code),
		cmocka_unit_test(test_unmap_without_discard_does_not_exist),
	};

	return run_unit_tests(tests);
}
