/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* MODE SELECT (6) and (10) (SPC-4 6.11, 6.12): all of a list is right, or none of it happens. */
#include "cmocka_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mode_data.h"

enum { WCE = 0x04, D_SENSE = 0x04, SWP = 0x08, PF = 0x10, SP = 0x01, CACHING_BYTES = 20 };

static void open_default(struct disk_fixture *fixture)
{
	disk_fixture_open(fixture, &disk_setup_default);
	disk_fixture_fill_medium(fixture);
}

static void expect_bad_list(const struct disk_fixture *fixture, enum tcmu_ext_status status,
			    int byte, int bit)
{
	expect_sense(fixture, status, TCMU_EXT_ILLEGAL_REQUEST,
		     TCMU_EXT_INVALID_FIELD_IN_PARAMETER_LIST);
	assert_int_equal(fixture->seen.field_in, TCMU_EXT_FIELD_IN_PARAMETER_LIST);
	assert_int_equal(fixture->seen.field_byte, byte);
	if (bit >= 0)
		assert_int_equal(fixture->seen.field_bit, bit);
}

static void expect_length_error(const struct disk_fixture *fixture, enum tcmu_ext_status status)
{
	expect_sense(fixture, status, TCMU_EXT_ILLEGAL_REQUEST,
		     TCMU_EXT_PARAMETER_LIST_LENGTH_ERROR);
}

static void test_write_cache_is_turned_off_and_on(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	open_default(&fixture);
	memory_backend_forget_calls(&fixture.memory);
	expect_good(&fixture, mode_change(&fixture, MODE_PAGE_CACHING, 2, WCE, false));
	assert_false(tcmu_ext_disk_get_write_cache(fixture.disk));
	assert_int_equal(fixture.memory.counts[MEMORY_FLUSH], 1);
	expect_good(&fixture, mode_change(&fixture, MODE_PAGE_CACHING, 2, WCE, true));
	assert_true(tcmu_ext_disk_get_write_cache(fixture.disk));
	/* Changing nothing is allowed. */
	expect_good(&fixture, mode_change(&fixture, MODE_PAGE_CACHING, 2, WCE, true));
	disk_fixture_close(&fixture);
}

/* A cache that cannot be emptied stays on, and the initiator learns it. */
static void test_failing_flush_keeps_the_cache_on(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	open_default(&fixture);
	memory_backend_fail(&fixture.memory, MEMORY_FLUSH, EIO, 0);
	expect_sense(&fixture, mode_change(&fixture, MODE_PAGE_CACHING, 2, WCE, false),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_WRITE_ERROR);
	assert_true(tcmu_ext_disk_get_write_cache(fixture.disk));
	disk_fixture_close(&fixture);
}

static void test_sense_format_is_chosen(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	open_default(&fixture);
	expect_out_of_range(&fixture, disk_command(&fixture, cdb_blocks(TCMU_EXT_READ_10, 999, 1)));
	assert_false(fixture.seen.descriptor_format);
	expect_good(&fixture, mode_change(&fixture, MODE_PAGE_CONTROL, 2, D_SENSE, true));
	expect_out_of_range(&fixture, disk_command(&fixture, cdb_blocks(TCMU_EXT_READ_10, 999, 1)));
	assert_true(fixture.seen.descriptor_format);
	expect_invalid_field(
		&fixture,
		disk_command(&fixture, cdb_with(cdb_make(TCMU_EXT_TEST_UNIT_READY), 2, 0x10)), 2,
		4);
	memory_backend_fail(&fixture.memory, MEMORY_READ, EIO, 512);
	expect_sense(&fixture,
		     disk_data_in(&fixture, cdb_blocks(TCMU_EXT_READ_10, 5, 2), 1024, disk_cuts[0]),
		     TCMU_EXT_MEDIUM_ERROR, TCMU_EXT_UNRECOVERED_READ_ERROR);
	assert_true(fixture.seen.information_valid);
	assert_true(fixture.seen.information == 6);
	expect_good(&fixture, mode_change(&fixture, MODE_PAGE_CONTROL, 2, D_SENSE, false));
	expect_out_of_range(&fixture, disk_command(&fixture, cdb_blocks(TCMU_EXT_READ_10, 999, 1)));
	assert_false(fixture.seen.descriptor_format);
	disk_fixture_close(&fixture);
}

static void test_software_write_protection(void **state)
{
	struct disk_fixture fixture;
	struct mode_answer answer;
	uint8_t *data = disk_fixture_new_data(512);

	(void)state;
	open_default(&fixture);
	expect_good(&fixture, mode_change(&fixture, MODE_PAGE_CONTROL, 4, SWP, true));
	expect_sense(&fixture,
		     disk_data_out(&fixture, cdb_blocks(TCMU_EXT_WRITE_10, 0, 1), data, 512,
				   disk_cuts[0]),
		     TCMU_EXT_DATA_PROTECT, TCMU_EXT_WRITE_PROTECTED);
	mode_sense(&fixture, mode_sense_6(MODE_PAGE_CONTROL, 255), &answer);
	assert_int_equal(answer.device_specific_parameter & 0x80, 0x80);
	assert_int_equal(answer.pages[4] & SWP, SWP);
	expect_good(&fixture, mode_change(&fixture, MODE_PAGE_CONTROL, 4, SWP, false));
	expect_good(&fixture, disk_data_out(&fixture, cdb_blocks(TCMU_EXT_WRITE_10, 0, 1), data,
					    512, disk_cuts[0]));
	free(data);
	disk_fixture_close(&fixture);
}

/* Taking software protection away does not take the configuration's away. */
static void test_configured_protection_stays(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	uint8_t data[512] = { 0 };

	(void)state;
	setup.disk.write_protect = true;
	disk_fixture_open(&fixture, &setup);
	expect_good(&fixture, mode_change(&fixture, MODE_PAGE_CONTROL, 4, SWP, true));
	expect_good(&fixture, mode_change(&fixture, MODE_PAGE_CONTROL, 4, SWP, false));
	expect_sense(&fixture,
		     disk_data_out(&fixture, cdb_blocks(TCMU_EXT_WRITE_10, 0, 1), data, 512,
				   disk_cuts[0]),
		     TCMU_EXT_DATA_PROTECT, TCMU_EXT_WRITE_PROTECTED);
	disk_fixture_close(&fixture);
}

/* What MODE SENSE returns can be sent back as it is, but for MODE DATA LENGTH (SPC-4 6.11). */
static void test_answer_of_mode_sense_is_accepted(void **state)
{
	struct disk_fixture fixture;
	struct mode_answer answer;

	(void)state;
	open_default(&fixture);
	mode_sense(&fixture, mode_sense_6(MODE_PAGE_ALL, 255), &answer);
	answer.bytes[0] = 0;
	expect_good(&fixture,
		    mode_select(&fixture, TCMU_EXT_MODE_SELECT_6, answer.bytes, answer.length));
	mode_sense(&fixture, mode_sense_10(MODE_PAGE_ALL, 255), &answer);
	field_put(answer.bytes, 2, 0);
	expect_good(&fixture,
		    mode_select(&fixture, TCMU_EXT_MODE_SELECT_10, answer.bytes, answer.length));
	mode_sense(&fixture, cdb_with(mode_sense_10(MODE_PAGE_ALL, 255), 1, 0x10), &answer);
	field_put(answer.bytes, 2, 0);
	expect_good(&fixture,
		    mode_select(&fixture, TCMU_EXT_MODE_SELECT_10, answer.bytes, answer.length));
	disk_fixture_close(&fixture);
}

static void test_empty_list_is_nothing(void **state)
{
	static const uint8_t header[8] = { 0 };
	struct disk_fixture fixture;

	(void)state;
	open_default(&fixture);
	expect_good(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_6, NULL, 0));
	expect_good(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_10, NULL, 0));
	expect_good(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_6, header, 4));
	expect_good(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_10, header, 8));
	disk_fixture_close(&fixture);
}

static void test_bits_of_the_cdb(void **state)
{
	static const uint8_t codes[] = { TCMU_EXT_MODE_SELECT_6, TCMU_EXT_MODE_SELECT_10 };
	struct disk_fixture fixture;

	(void)state;
	open_default(&fixture);
	for (size_t i = 0; i < ARRAY_COUNT(codes); i++) {
		/* Pages cannot be saved; lists in no page format are not known. */
		expect_invalid_field(
			&fixture, disk_command(&fixture, cdb_with(cdb_make(codes[i]), 1, PF | SP)),
			1, 0);
		expect_invalid_field(&fixture, disk_command(&fixture, cdb_make(codes[i])), 1, 4);
	}
	disk_fixture_close(&fixture);
}

static void expect_write_cache_still_on(struct disk_fixture *fixture)
{
	assert_true(tcmu_ext_disk_get_write_cache(fixture->disk));
	assert_int_equal(fixture->memory.counts[MEMORY_FLUSH], 0);
}

/* Every list that ends inside a header, a descriptor or a page. */
static void test_lists_cut_short_are_refused(void **state)
{
	uint8_t list[8 + 8 + CACHING_BYTES] = { 0 };
	struct disk_fixture fixture;
	struct mode_answer answer;

	(void)state;
	open_default(&fixture);
	mode_sense(&fixture, mode_sense_10(MODE_PAGE_CACHING, 255), &answer);
	assert_int_equal(answer.length, sizeof(list));
	memcpy(list, answer.bytes, sizeof(list));
	field_put(list, 2, 0);
	list[8 + 8 + 2] &= (uint8_t)~WCE;
	for (size_t bytes = 1; bytes < sizeof(list); bytes++) {
		if (bytes == 8 + 8)
			continue; /* a header and a descriptor are a whole list */
		expect_length_error(&fixture,
				    mode_select(&fixture, TCMU_EXT_MODE_SELECT_10, list, bytes));
	}
	expect_write_cache_still_on(&fixture);
	expect_good(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_10, list, sizeof(list)));
	disk_fixture_close(&fixture);
}

/* Fewer bytes in the buffer than the CDB says. */
static void test_buffer_shorter_than_the_list_is_refused(void **state)
{
	uint8_t list[4 + CACHING_BYTES] = { 0 };
	struct cdb cdb = cdb_with(cdb_make(TCMU_EXT_MODE_SELECT_6), 1, PF);
	struct disk_fixture fixture;

	(void)state;
	open_default(&fixture);
	mode_page(&fixture, MODE_PAGE_CACHING, list + 4);
	list[6] = 0;
	cdb.bytes[4] = sizeof(list);
	for (size_t bytes = 0; bytes < sizeof(list); bytes++)
		assert_int_equal(disk_data_out(&fixture, cdb, list, bytes, disk_cuts[0]),
				 TCMU_EXT_STATUS_CHECK_CONDITION);
	expect_write_cache_still_on(&fixture);
	disk_fixture_close(&fixture);
}

static void test_list_longer_than_any_is_refused(void **state)
{
	uint8_t *list = calloc(1, UINT16_MAX);
	struct disk_fixture fixture;

	(void)state;
	open_default(&fixture);
	assert_int_equal(mode_select(&fixture, TCMU_EXT_MODE_SELECT_10, list, 8000),
			 TCMU_EXT_STATUS_CHECK_CONDITION);
	disk_fixture_close(&fixture);
	free(list);
}

/* Each bit of each page that is not changeable, one at a time. */
static void test_fixed_fields_are_refused(void **state)
{
	static const uint8_t pages[] = { MODE_PAGE_ERROR_RECOVERY, MODE_PAGE_CACHING,
					 MODE_PAGE_CONTROL, MODE_PAGE_INFORMATIONAL_EXCEPTIONS };
	struct disk_fixture fixture;

	(void)state;
	open_default(&fixture);
	for (size_t i = 0; i < ARRAY_COUNT(pages); i++) {
		uint8_t current[MODE_BUFFER_BYTES], changeable[MODE_BUFFER_BYTES];
		size_t bytes = mode_page(&fixture, pages[i], current);

		mode_page(&fixture, pages[i] | MODE_CHANGEABLE, changeable);
		for (size_t byte = 2; byte < bytes; byte++)
			for (int bit = 0; bit < 8; bit++) {
				if (changeable[byte] & 1 << bit)
					continue;
				current[byte] ^= (uint8_t)(1 << bit);
				expect_bad_list(&fixture,
						mode_select_pages(&fixture, current, bytes),
						(int)(4 + byte), bit);
				current[byte] ^= (uint8_t)(1 << bit);
			}
	}
	disk_fixture_close(&fixture);
}

static void test_unknown_pages_are_refused(void **state)
{
	struct disk_fixture fixture;
	uint8_t page[12] = { 0, 10 };

	(void)state;
	open_default(&fixture);
	for (int code = 0; code < 0x80; code++) {
		page[0] = (uint8_t)code;
		if (code == MODE_PAGE_ERROR_RECOVERY || code == MODE_PAGE_CACHING ||
		    code == MODE_PAGE_CONTROL || code == MODE_PAGE_INFORMATIONAL_EXCEPTIONS)
			continue;
		expect_sense(&fixture, mode_select_pages(&fixture, page, sizeof(page)),
			     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_PARAMETER_LIST);
		assert_int_equal(fixture.seen.field_byte, 4);
		/* SPF when that is set, else the page code. */
		assert_int_equal(fixture.seen.field_bit, code & 0x40 || code == 0x3f ? 6 : 5);
	}
	disk_fixture_close(&fixture);
}

static void test_wrong_page_length_is_refused(void **state)
{
	struct disk_fixture fixture;
	uint8_t page[MODE_BUFFER_BYTES];
	size_t bytes;

	(void)state;
	open_default(&fixture);
	bytes = mode_page(&fixture, MODE_PAGE_CACHING, page);
	for (int length = 0; length < 256; length++) {
		if ((size_t)length + 2 == bytes)
			continue;
		page[1] = (uint8_t)length;
		expect_bad_list(&fixture, mode_select_pages(&fixture, page, bytes), 5, -1);
		/* Also when the list ends right behind it. */
		expect_bad_list(&fixture, mode_select_pages(&fixture, page, 2), 5, -1);
	}
	disk_fixture_close(&fixture);
}

/* A good page before a bad one: neither takes effect. */
static void test_one_bad_page_spoils_the_list(void **state)
{
	struct disk_fixture fixture;
	uint8_t pages[MODE_BUFFER_BYTES];
	size_t bytes, more;

	(void)state;
	open_default(&fixture);
	bytes = mode_page(&fixture, MODE_PAGE_CACHING, pages);
	pages[2] &= (uint8_t)~WCE;
	more = mode_page(&fixture, MODE_PAGE_CONTROL, pages + bytes);
	pages[bytes + 3] ^= 0x10;
	expect_bad_list(&fixture, mode_select_pages(&fixture, pages, bytes + more),
			(int)(4 + bytes + 3), 4);
	expect_write_cache_still_on(&fixture);
	/* Put right, both do. */
	pages[bytes + 3] ^= 0x10;
	pages[bytes + 2] |= D_SENSE;
	expect_good(&fixture, mode_select_pages(&fixture, pages, bytes + more));
	assert_false(tcmu_ext_disk_get_write_cache(fixture.disk));
	disk_command(&fixture, cdb_blocks(TCMU_EXT_READ_10, 999, 1));
	assert_true(fixture.seen.descriptor_format);
	disk_fixture_close(&fixture);
}

/* SBC-3 6.5.2: another number or length of blocks would be a format. */
static void test_block_descriptor_must_tell_what_is(void **state)
{
	struct disk_fixture fixture;
	uint8_t list[4 + 8] = { 0, 0, 0, 8 };

	(void)state;
	open_default(&fixture);
	field_put(list + 4, 4, 128);
	field_put(list + 4 + 5, 3, 512);
	expect_good(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_6, list, sizeof(list)));
	field_put(list + 4 + 5, 3, 4096);
	expect_bad_list(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_6, list, sizeof(list)),
			4 + 4, -1);
	field_put(list + 4 + 5, 3, 512);
	field_put(list + 4, 4, 100);
	expect_bad_list(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_6, list, sizeof(list)),
			4, -1);
	/* All ones and zero stand for all there are. */
	field_put(list + 4, 4, UINT32_MAX);
	expect_good(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_6, list, sizeof(list)));
	field_put(list + 4, 4, 0);
	expect_good(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_6, list, sizeof(list)));
	/* Two descriptors, or part of one. */
	list[3] = 16;
	expect_bad_list(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_6, list, sizeof(list)),
			3, -1);
	list[3] = 7;
	assert_int_equal(mode_select(&fixture, TCMU_EXT_MODE_SELECT_6, list, sizeof(list)),
			 TCMU_EXT_STATUS_CHECK_CONDITION);
	list[3] = 255;
	assert_int_equal(mode_select(&fixture, TCMU_EXT_MODE_SELECT_6, list, sizeof(list)),
			 TCMU_EXT_STATUS_CHECK_CONDITION);
	disk_fixture_close(&fixture);
}

/* The long form of MODE SELECT (10), which has the same rules. */
static void test_long_block_descriptor(void **state)
{
	struct disk_fixture fixture;
	uint8_t list[8 + 16] = { [4] = 0x01, [7] = 16 };

	(void)state;
	open_default(&fixture);
	field_put(list + 8, 8, 128);
	field_put(list + 20, 4, 512);
	expect_good(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_10, list, sizeof(list)));
	field_put(list + 8, 8, UINT64_MAX);
	expect_good(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_10, list, sizeof(list)));
	field_put(list + 8, 8, UINT32_MAX);
	expect_bad_list(&fixture,
			mode_select(&fixture, TCMU_EXT_MODE_SELECT_10, list, sizeof(list)), 8, -1);
	field_put(list + 8, 8, 0);
	field_put(list + 20, 4, 1024);
	expect_bad_list(&fixture,
			mode_select(&fixture, TCMU_EXT_MODE_SELECT_10, list, sizeof(list)), 20, -1);
	/* LONGLBA and a short descriptor do not go together. */
	list[7] = 8;
	expect_bad_list(&fixture, mode_select(&fixture, TCMU_EXT_MODE_SELECT_10, list, 16), 6, -1);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_cache_is_turned_off_and_on),
		cmocka_unit_test(test_failing_flush_keeps_the_cache_on),
		cmocka_unit_test(test_sense_format_is_chosen),
		cmocka_unit_test(test_software_write_protection),
		cmocka_unit_test(test_configured_protection_stays),
		cmocka_unit_test(test_answer_of_mode_sense_is_accepted),
		cmocka_unit_test(test_empty_list_is_nothing),
		cmocka_unit_test(test_bits_of_the_cdb),
		cmocka_unit_test(test_lists_cut_short_are_refused),
		cmocka_unit_test(test_buffer_shorter_than_the_list_is_refused),
		cmocka_unit_test(test_list_longer_than_any_is_refused),
		cmocka_unit_test(test_fixed_fields_are_refused),
		cmocka_unit_test(test_unknown_pages_are_refused),
		cmocka_unit_test(test_wrong_page_length_is_refused),
		cmocka_unit_test(test_one_bad_page_spoils_the_list),
		cmocka_unit_test(test_block_descriptor_must_tell_what_is),
		cmocka_unit_test(test_long_block_descriptor),
	};

	return run_unit_tests(tests);
}
