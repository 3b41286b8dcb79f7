/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* INQUIRY (SPC-4 6.6) and vital product data (SPC-4 7.8, SBC-3 6.6). */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "disk_fixture.h"

enum {
	ANSWER_BYTES = 1024,
	PAGE_SUPPORTED = 0x00,
	PAGE_SERIAL_NUMBER = 0x80,
	PAGE_DEVICE_IDENTIFICATION = 0x83,
	PAGE_BLOCK_LIMITS = 0xb0,
	PAGE_CHARACTERISTICS = 0xb1,
	PAGE_PROVISIONING = 0xb2,
};

static struct cdb inquiry(uint16_t allocation_length)
{
	struct cdb cdb = cdb_make(TCMU_EXT_INQUIRY);

	field_put(cdb.bytes + 3, 2, allocation_length);
	return cdb;
}

static struct cdb inquiry_page(uint8_t page, uint16_t allocation_length)
{
	struct cdb cdb = cdb_with(inquiry(allocation_length), 1, 0x01);

	cdb.bytes[2] = page;
	return cdb;
}

static const uint8_t *standard_data(struct disk_fixture *fixture)
{
	expect_good(fixture,
		    disk_data_in(fixture, inquiry(ANSWER_BYTES), ANSWER_BYTES, disk_cuts[0]));
	return fixture->data;
}

/* A page, checked for its header; its length, header included, is stored. */
static const uint8_t *page_data(struct disk_fixture *fixture, uint8_t page, size_t *bytes)
{
	expect_good(fixture, disk_data_in(fixture, inquiry_page(page, ANSWER_BYTES), ANSWER_BYTES,
					  disk_cuts[0]));
	assert_int_equal(fixture->data[0], 0);
	assert_int_equal(fixture->data[1], page);
	*bytes = 4 + field_get(fixture->data + 2, 2);
	assert_true(*bytes <= ANSWER_BYTES);
	for (size_t i = *bytes; i < ANSWER_BYTES; i++)
		assert_int_equal(fixture->data[i], 0);
	return fixture->data;
}

static void test_standard_data(void **state)
{
	struct disk_fixture fixture;
	const uint8_t *data;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	data = standard_data(&fixture);
	assert_int_equal(data[0], 0x00);           /* connected, direct access block device */
	assert_int_equal(data[1], 0x00);           /* not removable */
	assert_true(data[2] == 5 || data[2] == 6); /* SPC-3 or SPC-4 */
	assert_int_equal(data[3] & 0x0f, 2);
	assert_int_equal(data[3] & 0x20, 0); /* NORMACA: NACA is refused */
	assert_int_equal(5 + data[4], 96);
	assert_int_equal(data[5], 0);    /* no PROTECT: RDPROTECT is refused; no 3PC, no TPGS */
	assert_int_equal(data[6], 0);    /* no MULTIP, no ENCSERV */
	assert_int_equal(data[7], 0x02); /* CMDQUE: tagged commands are taken */
	for (size_t i = 8; i < 36; i++)
		assert_true(data[i] >= 0x20 && data[i] <= 0x7e);
	assert_memory_equal(data + 8, "TCMU-EXT", 8);
	assert_memory_equal(data + 16, "memory          ", 16);
	assert_true(data[32] > ' ');
	for (size_t i = 5 + data[4]; i < ANSWER_BYTES; i++)
		assert_int_equal(data[i], 0);
	disk_fixture_close(&fixture);
}

/* SPC-4 6.4.2, table 148: the standards this is written from, in any order. */
static void test_version_descriptors(void **state)
{
	static const uint16_t standards[] = { 0x00a0, 0x0460, 0x04c0 }; /* SAM-5, SPC-4, SBC-3 */
	struct disk_fixture fixture;
	const uint8_t *data;

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	data = standard_data(&fixture);
	for (size_t i = 0; i < ARRAY_COUNT(standards); i++) {
		int found = 0;

		for (size_t at = 58; at < 74; at += 2)
			found += field_get(data + at, 2) == standards[i];
		assert_int_equal(found, 1);
	}
	disk_fixture_close(&fixture);
}

static void test_identification_given_by_the_caller(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	const uint8_t *data;

	(void)state;
	setup.disk.vendor_identification = "A ~!";
	setup.disk.product_identification = "0123456789abcdef";
	setup.disk.product_revision_level = "7";
	disk_fixture_open(&fixture, &setup);
	data = standard_data(&fixture);
	assert_memory_equal(data + 8, "A ~!    ", 8);
	assert_memory_equal(data + 16, "0123456789abcdef", 16);
	assert_memory_equal(data + 32, "7   ", 4);
	disk_fixture_close(&fixture);
}

/* 3PC: EXTENDED COPY is the caller's. */
static void test_third_party_copy(void **state)
{
	const struct tcmu_ext_command_description copy = { .operation_code = 0x83,
							   .has_service_action = true,
							   .cdb_bytes = 16 };
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.disk.other_commands = &copy;
	setup.disk.other_command_count = 1;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(standard_data(&fixture)[5], 0x08);
	disk_fixture_close(&fixture);
}

/* TPGS is what the caller does about target port groups. */
static void test_target_port_group_support(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	for (uint8_t support = 0; support < 4; support++) {
		setup.disk.target_port_group_support = support;
		disk_fixture_open(&fixture, &setup);
		assert_int_equal(standard_data(&fixture)[5], support << 4);
		disk_fixture_close(&fixture);
	}
}

/* The strings are the disk's own after creation. */
static void test_identification_is_copied(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	char vendor[] = "FIRST", serial[] = "123456";
	const uint8_t *data;
	size_t bytes;

	(void)state;
	setup.disk.vendor_identification = vendor;
	setup.disk.unit_serial_number = serial;
	disk_fixture_open(&fixture, &setup);
	memset(vendor, 'x', strlen(vendor));
	memset(serial, 'x', strlen(serial));
	assert_memory_equal(standard_data(&fixture) + 8, "FIRST   ", 8);
	data = page_data(&fixture, PAGE_SERIAL_NUMBER, &bytes);
	assert_int_equal(bytes, 4 + 6);
	assert_memory_equal(data + 4, "123456", 6);
	disk_fixture_close(&fixture);
}

/* SPC-4 4.3.4.6: truncation by the allocation length is no error and changes no length field. */
static void expect_truncation(struct disk_fixture *fixture, struct cdb cdb)
{
	uint8_t whole[ANSWER_BYTES];

	field_put(cdb.bytes + 3, 2, ANSWER_BYTES);
	expect_good(fixture, disk_data_in(fixture, cdb, ANSWER_BYTES, disk_cuts[0]));
	memcpy(whole, fixture->data, ANSWER_BYTES);
	for (uint16_t length = 0; length < 200; length++) {
		field_put(cdb.bytes + 3, 2, length);
		for (size_t cut = 0; cut < disk_cut_count; cut++) {
			/* A buffer that is larger, and one that is just as large. */
			expect_good(fixture,
				    disk_data_in(fixture, cdb, length + 40, disk_cuts[cut]));
			assert_memory_equal(fixture->data, whole, length);
			for (size_t i = length; i < fixture->data_bytes; i++)
				assert_int_equal(fixture->data[i], 0);
			expect_good(fixture, disk_data_in(fixture, cdb, length, disk_cuts[cut]));
			if (length)
				assert_memory_equal(fixture->data, whole, length);
		}
	}
}

static void test_allocation_length_truncates(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.disk.unit_serial_number = "0123456789";
	disk_fixture_open(&fixture, &setup);
	expect_truncation(&fixture, inquiry(0));
	expect_truncation(&fixture, inquiry_page(PAGE_SUPPORTED, 0));
	expect_truncation(&fixture, inquiry_page(PAGE_SERIAL_NUMBER, 0));
	expect_truncation(&fixture, inquiry_page(PAGE_BLOCK_LIMITS, 0));
	expect_truncation(&fixture, inquiry_page(PAGE_PROVISIONING, 0));
	disk_fixture_close(&fixture);
}

/* A buffer smaller than the allocation length gets what fits. */
static void test_buffer_smaller_than_allocation_length(void **state)
{
	struct disk_fixture fixture;
	uint8_t whole[ANSWER_BYTES];

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	memcpy(whole, standard_data(&fixture), ANSWER_BYTES);
	for (size_t bytes = 0; bytes < 40; bytes++) {
		expect_good(&fixture, disk_data_in(&fixture, inquiry(255), bytes, disk_cuts[4]));
		if (bytes)
			assert_memory_equal(fixture.data, whole, bytes);
	}
	disk_fixture_close(&fixture);
}

static bool page_listed(const uint8_t *list, size_t bytes, uint8_t page)
{
	return memchr(list + 4, page, bytes - 4) != NULL;
}

/*
 * What page 00h lists is what there is. 83h is answered by whoever names the LUN, and so is 80h
 * when the disk was given no serial number.
 */
static bool left_to_the_caller(int page, bool with_serial)
{
	return page == PAGE_DEVICE_IDENTIFICATION || (page == PAGE_SERIAL_NUMBER && !with_serial);
}

static void test_listed_pages_are_those_there_are(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	uint8_t list[ANSWER_BYTES];
	size_t bytes, page_bytes;

	(void)state;
	for (int with_serial = 0; with_serial < 2; with_serial++) {
		setup.disk.unit_serial_number = with_serial ? "serial" : NULL;
		disk_fixture_open(&fixture, &setup);
		memcpy(list, page_data(&fixture, PAGE_SUPPORTED, &bytes), ANSWER_BYTES);
		for (size_t i = 5; i < bytes; i++)
			assert_true(list[i - 1] < list[i]); /* ascending, SPC-4 7.8.10 */
		assert_true(page_listed(list, bytes, PAGE_SERIAL_NUMBER));
		assert_true(page_listed(list, bytes, PAGE_DEVICE_IDENTIFICATION));
		for (int page = 0; page < 256; page++) {
			struct cdb cdb = inquiry_page((uint8_t)page, ANSWER_BYTES);

			if (left_to_the_caller(page, with_serial))
				assert_int_equal(disk_data_in(&fixture, cdb, 64, disk_cuts[2]),
						 TCMU_EXT_STATUS_NOT_MINE);
			else if (page_listed(list, bytes, (uint8_t)page))
				page_data(&fixture, (uint8_t)page, &page_bytes);
			else
				expect_invalid_field(&fixture, disk_command(&fixture, cdb), 2, -1);
		}
		disk_fixture_close(&fixture);
	}
}

static void test_empty_serial_number_is_left_to_the_caller(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.disk.unit_serial_number = "";
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(disk_command(&fixture, inquiry_page(PAGE_SERIAL_NUMBER, 255)),
			 TCMU_EXT_STATUS_NOT_MINE);
	disk_fixture_close(&fixture);
}

/* SCSI-2 (7.2.3): the LUN in bits 7 to 5 of byte 1. Linux probes this way. */
static void test_lun_in_cdb_is_ignored(void **state)
{
	struct disk_fixture fixture;
	struct cdb cdb = cdb_with(inquiry(36), 1, 0xe0);

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	expect_good(&fixture, disk_data_in(&fixture, cdb, 36, disk_cuts[0]));
	cdb = cdb_with(cdb_make(TCMU_EXT_TEST_UNIT_READY), 1, 0x20);
	expect_good(&fixture, disk_command(&fixture, cdb));
	cdb = cdb_with(cdb_make(TCMU_EXT_TEST_UNIT_READY), 1, 0x30);
	expect_invalid_field(&fixture, disk_command(&fixture, cdb), 1, 4);
	disk_fixture_close(&fixture);
}

static void test_bad_fields_are_refused(void **state)
{
	struct disk_fixture fixture;
	struct cdb cdb = inquiry(255);

	(void)state;
	disk_fixture_open(&fixture, &disk_setup_default);
	cdb.bytes[2] = 0x80; /* a page code without EVPD */
	expect_invalid_field(&fixture, disk_command(&fixture, cdb), 2, -1);
	expect_invalid_field(&fixture, disk_command(&fixture, cdb_with(inquiry(255), 1, 0x02)), 1,
			     1);
	disk_fixture_close(&fixture);
}

/* SBC-3 6.6.4. */
static void test_block_limits(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	const uint8_t *data;
	size_t bytes;

	(void)state;
	setup.disk.maximum_transfer_blocks = 777;
	setup.memory.properties.optimal_transfer_bytes = 65536;
	setup.memory.properties.discard_granularity_bytes = 8192;
	setup.memory.properties.discard_alignment_bytes = 1024;
	disk_fixture_open(&fixture, &setup);
	data = page_data(&fixture, PAGE_BLOCK_LIMITS, &bytes);
	assert_int_equal(bytes, 4 + 0x3c);
	assert_int_equal(field_get(data + 8, 4), 777);
	assert_int_equal(field_get(data + 12, 4), 128);
	assert_true(field_get(data + 20, 4) > 0); /* MAXIMUM UNMAP LBA COUNT */
	assert_true(field_get(data + 24, 4) > 0);
	assert_int_equal(field_get(data + 28, 4), 16);
	assert_int_equal(field_get(data + 32, 4), 0x80000002);
	disk_fixture_close(&fixture);

	setup.block_bytes = 4096;
	disk_fixture_open(&fixture, &setup);
	data = page_data(&fixture, PAGE_BLOCK_LIMITS, &bytes);
	assert_int_equal(field_get(data + 12, 4), 16);
	assert_int_equal(field_get(data + 28, 4), 2);
	disk_fixture_close(&fixture);
}

static void test_block_limits_default_transfer_is_a_mebibyte(void **state)
{
	static const uint32_t block_sizes[] = { 512, 1024, 2048, 4096 };
	struct disk_setup setup = disk_setup_default;
	size_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(block_sizes); i++) {
		struct disk_fixture fixture;

		setup.block_bytes = block_sizes[i];
		disk_fixture_open(&fixture, &setup);
		assert_int_equal(field_get(page_data(&fixture, PAGE_BLOCK_LIMITS, &bytes) + 8, 4),
				 0x100000 / block_sizes[i]);
		disk_fixture_close(&fixture);
	}
}

/* OPTIMAL TRANSFER LENGTH GRANULARITY: physical blocks, in logical ones, if the field holds it. */
static void test_block_limits_granularity(void **state)
{
	static const struct {
		uint32_t logical, physical, granularity;
	} cases[] = { { 512, 512, 1 },
		      { 512, 4096, 8 },
		      { 4096, 512, 1 },
		      { 4096, 65536, 16 },
		      { 512, 0xffff * 512, 0xffff },
		      { 512, 0x10000 * 512, 0 } };
	size_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct disk_setup setup = disk_setup_default;
		struct disk_fixture fixture;

		setup.block_bytes = cases[i].logical;
		setup.memory.properties.physical_block_bytes = cases[i].physical;
		disk_fixture_open(&fixture, &setup);
		assert_int_equal(field_get(page_data(&fixture, PAGE_BLOCK_LIMITS, &bytes) + 6, 2),
				 cases[i].granularity);
		disk_fixture_close(&fixture);
	}
}

/* An optimum beyond the maximum would contradict itself (SBC-3 6.6.4). */
static void test_optimal_transfer_is_never_beyond_the_maximum(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	const uint8_t *data;
	size_t bytes;

	(void)state;
	setup.disk.maximum_transfer_blocks = 64;
	setup.memory.properties.optimal_transfer_bytes = 1 << 20;
	disk_fixture_open(&fixture, &setup);
	data = page_data(&fixture, PAGE_BLOCK_LIMITS, &bytes);
	assert_true(field_get(data + 12, 4) <= 64);
	disk_fixture_close(&fixture);
}

/* Without discard nothing is offered: no counts, no provisioning bits. */
static void test_no_discard_offers_no_unmap(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	const uint8_t *data;
	size_t bytes;

	(void)state;
	for (int without_operation = 0; without_operation < 2; without_operation++) {
		setup.memory.properties.discard_granularity_bytes = without_operation ? 512 : 0;
		setup.without = without_operation ? 1u << MEMORY_DISCARD : 0;
		disk_fixture_open(&fixture, &setup);
		data = page_data(&fixture, PAGE_BLOCK_LIMITS, &bytes);
		assert_int_equal(field_get(data + 20, 4), 0);
		assert_int_equal(field_get(data + 24, 4), 0);
		assert_int_equal(field_get(data + 28, 4), 0);
		assert_int_equal(field_get(data + 32, 4), 0);
		data = page_data(&fixture, PAGE_PROVISIONING, &bytes);
		assert_int_equal(data[5] & 0x80, 0); /* LBPU */
		disk_fixture_close(&fixture);
	}
}

/* SBC-3 6.6.3: rotation rate 0001h is a medium that does not rotate. */
static void test_rotation(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	size_t bytes;

	(void)state;
	disk_fixture_open(&fixture, &setup);
	assert_int_equal(field_get(page_data(&fixture, PAGE_CHARACTERISTICS, &bytes) + 4, 2), 1);
	assert_int_equal(bytes, 4 + 0x3c);
	disk_fixture_close(&fixture);
	setup.memory.properties.rotational = true;
	disk_fixture_open(&fixture, &setup);
	assert_int_not_equal(field_get(page_data(&fixture, PAGE_CHARACTERISTICS, &bytes) + 4, 2),
			     1);
	disk_fixture_close(&fixture);
}

/* SBC-3 6.6.5. */
static void test_provisioning(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;
	const uint8_t *data;
	size_t bytes;

	(void)state;
	disk_fixture_open(&fixture, &setup);
	data = page_data(&fixture, PAGE_PROVISIONING, &bytes);
	assert_true(bytes >= 8);
	assert_int_equal(data[5] & 0x80, 0x80); /* LBPU */
	assert_int_equal(data[5] & 0x1c, 0x04); /* LBPRZ: zeroes */
	assert_int_equal(data[6] & 0x07, 2);    /* thin */
	assert_int_equal(data[5] & 0x01, 0);    /* DP: no provisioning group descriptor */
	disk_fixture_close(&fixture);
	setup.memory.properties.discard_reads_zero = false;
	disk_fixture_open(&fixture, &setup);
	data = page_data(&fixture, PAGE_PROVISIONING, &bytes);
	assert_int_equal(data[5] & 0x9c, 0x80);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_standard_data),
		cmocka_unit_test(test_version_descriptors),
		cmocka_unit_test(test_identification_given_by_the_caller),
		cmocka_unit_test(test_target_port_group_support),
		cmocka_unit_test(test_third_party_copy),
		cmocka_unit_test(test_identification_is_copied),
		cmocka_unit_test(test_allocation_length_truncates),
		cmocka_unit_test(test_buffer_smaller_than_allocation_length),
		cmocka_unit_test(test_listed_pages_are_those_there_are),
		cmocka_unit_test(test_empty_serial_number_is_left_to_the_caller),
		cmocka_unit_test(test_lun_in_cdb_is_ignored),
		cmocka_unit_test(test_bad_fields_are_refused),
		cmocka_unit_test(test_block_limits),
		cmocka_unit_test(test_block_limits_default_transfer_is_a_mebibyte),
		cmocka_unit_test(test_block_limits_granularity),
		cmocka_unit_test(test_optimal_transfer_is_never_beyond_the_maximum),
		cmocka_unit_test(test_no_discard_offers_no_unmap),
		cmocka_unit_test(test_rotation),
		cmocka_unit_test(test_provisioning),
	};

	return run_unit_tests(tests);
}
