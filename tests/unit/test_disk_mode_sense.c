/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* MODE SENSE (6) and (10) (SPC-4 6.13, 6.14, 7.5; SBC-3 6.5). */
#include "cmocka_test.h"

#include <string.h>

#include "mode_data.h"

enum { DBD = 0x08, LLBAA = 0x10, WP = 0x80, DPOFUA = 0x10, WCE = 0x04 };

static const uint8_t known_pages[] = { MODE_PAGE_ERROR_RECOVERY, MODE_PAGE_CACHING,
				       MODE_PAGE_CONTROL, MODE_PAGE_INFORMATIONAL_EXCEPTIONS };

static void test_pages_have_the_lengths_of_the_standard(void **state)
{
	static const uint8_t lengths[] = { 0x0a, 0x12, 0x0a, 0x0a };
	uint8_t page[MODE_BUFFER_BYTES];
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(known_pages); i++) {
		mode_page(&fixture, known_pages[i], page);
		assert_int_equal(page[1], lengths[i]);
		assert_int_equal(page[0], known_pages[i]); /* PS and SPF are zero */
	}
	disk_fixture_close(&fixture);
}

/* All pages: each once, in ascending order (SPC-4 6.13), the same as when asked for alone. */
static void test_all_pages_are_the_single_ones(void **state)
{
	static const uint8_t controls[] = { MODE_CURRENT, MODE_CHANGEABLE, MODE_DEFAULT };
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t control = 0; control < ARRAY_COUNT(controls); control++) {
		struct mode_answer all;
		size_t at = 0;

		mode_sense(&fixture, mode_sense_6(MODE_PAGE_ALL | controls[control], 255), &all);
		for (size_t i = 0; i < ARRAY_COUNT(known_pages); i++) {
			uint8_t page[MODE_BUFFER_BYTES];
			size_t bytes =
				mode_page(&fixture, known_pages[i] | controls[control], page);

			assert_true(at + bytes <= all.pages_bytes);
			assert_memory_equal(all.pages + at, page, bytes);
			at += bytes;
		}
		assert_int_equal(at, all.pages_bytes);
	}
	disk_fixture_close(&fixture);
}

static void test_all_subpages_are_the_pages_themselves(void **state)
{
	struct mode_answer pages, subpages;
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	mode_sense(&fixture, mode_sense_6(MODE_PAGE_ALL, 255), &pages);
	mode_sense(&fixture, cdb_with(mode_sense_6(MODE_PAGE_ALL, 255), 3, 0xff), &subpages);
	assert_memory_equal(pages.bytes, subpages.bytes, MODE_BUFFER_BYTES);
	disk_fixture_close(&fixture);
}

static void test_unknown_pages_are_refused(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (uint8_t page = 0; page < MODE_PAGE_ALL; page++) {
		if (memchr(known_pages, page, sizeof(known_pages)))
			continue;
		expect_invalid_field(&fixture, disk_command(&fixture, mode_sense_6(page, 255)), 2,
				     5);
		expect_invalid_field(&fixture, disk_command(&fixture, mode_sense_10(page, 255)), 2,
				     5);
	}
	for (int subpage = 1; subpage < 0xff; subpage++)
		expect_invalid_field(&fixture,
				     disk_command(&fixture, cdb_with(mode_sense_6(0x0a, 255), 3,
								     (uint8_t)subpage)),
				     3, -1);
	disk_fixture_close(&fixture);
}

static void test_saved_values_are_not_supported(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_sense(&fixture, disk_command(&fixture, mode_sense_6(MODE_SAVED | 0x08, 255)),
		     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_SAVING_PARAMETERS_NOT_SUPPORTED);
	expect_sense(&fixture, disk_command(&fixture, mode_sense_10(MODE_SAVED | 0x3f, 255)),
		     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_SAVING_PARAMETERS_NOT_SUPPORTED);
	disk_fixture_close(&fixture);
}

static void test_short_block_descriptor(void **state)
{
	struct mode_answer six, ten;
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.block_bytes = 4096;
	disk_fixture_open(&fixture, &setup);
	mode_sense(&fixture, mode_sense_6(MODE_PAGE_CACHING, 255), &six);
	mode_sense(&fixture, mode_sense_10(MODE_PAGE_CACHING, 255), &ten);
	assert_int_equal(six.descriptor_bytes, 8);
	assert_int_equal(ten.descriptor_bytes, 8);
	assert_int_equal(ten.bytes[4] & 0x01, 0); /* LONGLBA */
	assert_memory_equal(six.descriptor, ten.descriptor, 8);
	assert_int_equal(field_get(six.descriptor, 4), 128);
	assert_int_equal(six.descriptor[4], 0);
	assert_int_equal(field_get(six.descriptor + 5, 3), 4096);
	assert_memory_equal(six.pages, ten.pages, six.pages_bytes);
	assert_int_equal(six.pages_bytes, ten.pages_bytes);
	disk_fixture_close(&fixture);
}

static void test_long_block_descriptor(void **state)
{
	const uint64_t blocks = UINT64_C(0x123456789a);
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	struct mode_answer answer;

	(void)state;
	setup.blocks = blocks;
	setup.memory.window_bytes = 512;
	disk_fixture_open(&fixture, &setup);
	mode_sense(&fixture, cdb_with(mode_sense_10(MODE_PAGE_CONTROL, 255), 1, LLBAA), &answer);
	assert_int_equal(answer.descriptor_bytes, 16);
	assert_int_equal(answer.bytes[4] & 0x01, 1);
	assert_true(field_get(answer.descriptor, 8) == blocks);
	assert_int_equal(field_get(answer.descriptor + 8, 4), 0);
	assert_int_equal(field_get(answer.descriptor + 12, 4), 512);
	/* The short one cannot say it (SBC-3 6.5.2.2). */
	mode_sense(&fixture, mode_sense_10(MODE_PAGE_CONTROL, 255), &answer);
	assert_true(field_get(answer.descriptor, 4) == UINT32_MAX);
	mode_sense(&fixture, mode_sense_6(MODE_PAGE_CONTROL, 255), &answer);
	assert_true(field_get(answer.descriptor, 4) == UINT32_MAX);
	disk_fixture_close(&fixture);
}

static void test_descriptor_can_be_left_out(void **state)
{
	struct mode_answer with, without;
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	mode_sense(&fixture, mode_sense_10(MODE_PAGE_ALL, 255), &with);
	mode_sense(&fixture, cdb_with(mode_sense_10(MODE_PAGE_ALL, 255), 1, DBD | LLBAA), &without);
	assert_int_equal(without.descriptor_bytes, 0);
	assert_int_equal(without.bytes[4] & 0x01, 0);
	assert_int_equal(with.pages_bytes, without.pages_bytes);
	assert_memory_equal(with.pages, without.pages, with.pages_bytes);
	disk_fixture_close(&fixture);
}

static uint8_t device_specific(struct disk_fixture *fixture)
{
	struct mode_answer six, ten;

	mode_sense(fixture, mode_sense_6(MODE_PAGE_CACHING, 255), &six);
	mode_sense(fixture, mode_sense_10(MODE_PAGE_CACHING, 255), &ten);
	assert_int_equal(six.device_specific_parameter, ten.device_specific_parameter);
	return six.device_specific_parameter;
}

static void test_write_protection_is_told(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(device_specific(&fixture), DPOFUA);
	disk_fixture_close(&fixture);
	setup.disk.write_protect = true;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(device_specific(&fixture), DPOFUA | WP);
	disk_fixture_close(&fixture);
	setup.disk.write_protect = false;
	setup.memory.properties.read_only = true;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(device_specific(&fixture), DPOFUA | WP);
	disk_fixture_close(&fixture);
}

static uint8_t caching_byte(struct disk_fixture *fixture, uint8_t control)
{
	uint8_t page[MODE_BUFFER_BYTES];

	mode_page(fixture, MODE_PAGE_CACHING | control, page);
	return page[2];
}

/* WCE says what the disk does now; the default says what it was made with. */
static void test_write_cache_bit_follows_the_disk(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	for (int initial = 0; initial < 2; initial++) {
		setup.disk.write_cache = initial;
		disk_fixture_open(&fixture, &setup);
		assert_int_equal(caching_byte(&fixture, MODE_CHANGEABLE), WCE);
		for (int now = 0; now < 2; now++) {
			assert_int_equal(tcmu_ext_disk_set_write_cache(fixture.disk, now), 0);
			assert_int_equal(caching_byte(&fixture, MODE_CURRENT), now ? WCE : 0);
			assert_int_equal(caching_byte(&fixture, MODE_DEFAULT), initial ? WCE : 0);
		}
		disk_fixture_close(&fixture);
	}
}

/* D_SENSE and SWP can be changed; RLEC, D_SENSE and SWP are off at first (SPC-4 7.5.8). */
static void test_control_page(void **state)
{
	uint8_t page[MODE_BUFFER_BYTES], changeable[MODE_BUFFER_BYTES];
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	mode_page(&fixture, MODE_PAGE_CONTROL | MODE_CHANGEABLE, changeable);
	assert_int_equal(changeable[2], 0x04);
	assert_int_equal(changeable[4], 0x08);
	changeable[2] = changeable[4] = 0;
	for (size_t i = 2; i < 12; i++)
		assert_int_equal(changeable[i], 0);
	mode_page(&fixture, MODE_PAGE_CONTROL, page);
	assert_int_equal(page[2] & 0x04, 0);
	assert_int_equal(page[4] & 0x08, 0);
	assert_int_equal(page[3] >> 4, 1); /* unrestricted reordering */
	disk_fixture_close(&fixture);
}

/* The whole pages, as SPC-4 7.5 and SBC-3 6.5 lay them out. */
static void test_current_values(void **state)
{
	static const struct {
		size_t bytes;
		uint8_t page[20];
	} expected[] = {
		{ 12, { 0x01, 0x0a } },
		{ 20, { 0x08, 0x12, WCE } },
		/* GLTSD; unrestricted reordering; TAS; unlimited busy timeout period */
		{ 12, { 0x0a, 0x0a, 0x02, 0x10, 0, 0x40, 0, 0, 0xff, 0xff } },
		{ 12, { 0x1c, 0x0a, 0x08 } }, /* DEXCPT */
	};
	uint8_t page[MODE_BUFFER_BYTES];
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(expected); i++) {
		assert_int_equal(mode_page(&fixture, known_pages[i], page), expected[i].bytes);
		assert_memory_equal(page, expected[i].page, expected[i].bytes);
		mode_page(&fixture, known_pages[i] | MODE_DEFAULT, page);
		assert_memory_equal(page, expected[i].page, expected[i].bytes);
	}
	disk_fixture_close(&fixture);
}

static void test_nothing_else_can_be_changed(void **state)
{
	static const uint8_t pages[] = { MODE_PAGE_ERROR_RECOVERY,
					 MODE_PAGE_INFORMATIONAL_EXCEPTIONS };
	uint8_t page[MODE_BUFFER_BYTES];
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(pages); i++) {
		size_t bytes = mode_page(&fixture, pages[i] | MODE_CHANGEABLE, page);

		for (size_t byte = 2; byte < bytes; byte++)
			assert_int_equal(page[byte], 0);
	}
	disk_fixture_close(&fixture);
}

static void expect_truncation(struct disk_fixture *fixture, bool ten)
{
	struct mode_answer whole;
	struct cdb cdb = ten ? mode_sense_10(MODE_PAGE_ALL, 255) : mode_sense_6(MODE_PAGE_ALL, 255);

	mode_sense(fixture, cdb, &whole);
	for (size_t length = 0; length <= whole.length + 1; length++) {
		size_t answered = length < whole.length ? length : whole.length;

		cdb.bytes[ten ? 8 : 4] = (uint8_t)length;
		for (size_t cut = 0; cut < disk_cut_count; cut++) {
			expect_good(fixture, disk_data_in(fixture, cdb, 200, disk_cuts[cut]));
			if (answered)
				assert_memory_equal(fixture->data, whole.bytes, answered);
			for (size_t i = answered; i < 200; i++)
				assert_int_equal(fixture->data[i], 0);
		}
		/* And a buffer smaller than the allocation length. */
		cdb.bytes[ten ? 8 : 4] = 255;
		expect_good(fixture, disk_data_in(fixture, cdb, length, disk_cuts[0]));
		if (answered)
			assert_memory_equal(fixture->data, whole.bytes, answered);
	}
}

static void test_allocation_length_truncates(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_truncation(&fixture, false);
	expect_truncation(&fixture, true);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_have_the_lengths_of_the_standard),
		cmocka_unit_test(test_all_pages_are_the_single_ones),
		cmocka_unit_test(test_all_subpages_are_the_pages_themselves),
		cmocka_unit_test(test_unknown_pages_are_refused),
		cmocka_unit_test(test_saved_values_are_not_supported),
		cmocka_unit_test(test_short_block_descriptor),
		cmocka_unit_test(test_long_block_descriptor),
		cmocka_unit_test(test_descriptor_can_be_left_out),
		cmocka_unit_test(test_write_protection_is_told),
		cmocka_unit_test(test_write_cache_bit_follows_the_disk),
		cmocka_unit_test(test_control_page),
		cmocka_unit_test(test_current_values),
		cmocka_unit_test(test_nothing_else_can_be_changed),
		cmocka_unit_test(test_allocation_length_truncates),
	};

	return run_unit_tests(tests);
}
