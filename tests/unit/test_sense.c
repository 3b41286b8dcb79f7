/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Sense data in fixed (SPC-4 4.5.3) and descriptor format (SPC-4 4.5.2), byte by byte. */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include <tcmu-ext/sense.h>

static void expect_sense(const struct tcmu_ext_sense *sense, bool descriptor_format,
			 const uint8_t *expected, size_t expected_bytes)
{
	uint8_t buffer[TCMU_EXT_SENSE_BYTES];
	size_t written;

	memset(buffer, 0xee, sizeof(buffer));
	written = tcmu_ext_sense_write(sense, descriptor_format, buffer, sizeof(buffer));
	assert_int_equal(written, expected_bytes);
	assert_memory_equal(buffer, expected, expected_bytes);
	/* Cleared in its whole length. */
	for (size_t i = expected_bytes; i < sizeof(buffer); i++)
		assert_int_equal(buffer[i], 0);
}

static void expect_fixed(struct tcmu_ext_sense sense, const uint8_t expected[18])
{
	expect_sense(&sense, false, expected, 18);
}

static void test_fixed_key_and_code(void **state)
{
	(void)state;
	expect_fixed(
		(struct tcmu_ext_sense){ .key = TCMU_EXT_NOT_READY, .additional_sense = 0x04a5 },
		(const uint8_t[18]){ 0x70, 0, 0x02, [7] = 10, [12] = 0x04, 0xa5 });
	expect_fixed((struct tcmu_ext_sense){ .key = TCMU_EXT_NO_SENSE },
		     (const uint8_t[18]){ 0x70, [7] = 10 });
	expect_fixed(
		(struct tcmu_ext_sense){ .key = TCMU_EXT_MISCOMPARE, .additional_sense = 0x1d00 },
		(const uint8_t[18]){ 0x70, 0, 0x0e, [7] = 10, [12] = 0x1d });
}

static void test_fixed_information(void **state)
{
	struct tcmu_ext_sense sense = { .key = TCMU_EXT_MEDIUM_ERROR,
					.additional_sense = TCMU_EXT_UNRECOVERED_READ_ERROR,
					.information_valid = true,
					.information = 0x12345678 };

	(void)state;
	expect_fixed(sense, (const uint8_t[18]){ 0xf0, 0, 0x03, 0x12, 0x34, 0x56, 0x78,
						 10, [12] = 0x11, 0x00 });
	sense.information = 0;
	expect_fixed(sense, (const uint8_t[18]){ 0xf0, 0, 0x03, [7] = 10, [12] = 0x11 });
	sense.information = UINT32_MAX;
	expect_fixed(sense, (const uint8_t[18]){ 0xf0, 0, 0x03, 0xff, 0xff, 0xff, 0xff,
						 10, [12] = 0x11, 0x00 });
	/* Not marked valid: not there, whatever the number is. */
	sense.information_valid = false;
	expect_fixed(sense, (const uint8_t[18]){ 0x70, 0, 0x03, [7] = 10, [12] = 0x11 });
}

static void test_fixed_information_that_does_not_fit_is_left_out(void **state)
{
	struct tcmu_ext_sense sense = { .key = TCMU_EXT_MEDIUM_ERROR,
					.additional_sense = TCMU_EXT_WRITE_ERROR,
					.information_valid = true,
					.information = UINT64_C(0x100000000) };

	(void)state;
	expect_fixed(sense, (const uint8_t[18]){ 0x70, 0, 0x03, [7] = 10, [12] = 0x0c });
	sense.information = UINT64_MAX;
	expect_fixed(sense, (const uint8_t[18]){ 0x70, 0, 0x03, [7] = 10, [12] = 0x0c });
}

static void test_fixed_field_pointer(void **state)
{
	struct tcmu_ext_sense sense = { .key = TCMU_EXT_ILLEGAL_REQUEST,
					.additional_sense = TCMU_EXT_INVALID_FIELD_IN_CDB,
					.field_in = TCMU_EXT_FIELD_IN_CDB,
					.field_byte = 0x0203,
					.field_bit = 5 };

	(void)state;
	/* SKSV, C/D (the CDB), BPV and bit pointer 5. */
	expect_fixed(sense, (const uint8_t[18]){ 0x70, 0, 0x05, [7] = 10, [12] = 0x24,
						 0x00, [15] = 0xcd, 0x02, 0x03 });
	sense.field_bit = 0;
	expect_fixed(sense, (const uint8_t[18]){ 0x70, 0, 0x05, [7] = 10, [12] = 0x24,
						 0x00, [15] = 0xc8, 0x02, 0x03 });
	sense.field_bit = 7;
	expect_fixed(sense, (const uint8_t[18]){ 0x70, 0, 0x05, [7] = 10, [12] = 0x24,
						 0x00, [15] = 0xcf, 0x02, 0x03 });
	/* Without a bit BPV is zero and so is the bit pointer. */
	sense.field_bit = -1;
	expect_fixed(sense, (const uint8_t[18]){ 0x70, 0, 0x05, [7] = 10, [12] = 0x24,
						 0x00, [15] = 0xc0, 0x02, 0x03 });
	/* In the parameter list C/D is zero. */
	sense.field_in = TCMU_EXT_FIELD_IN_PARAMETER_LIST;
	sense.additional_sense = TCMU_EXT_INVALID_FIELD_IN_PARAMETER_LIST;
	sense.field_bit = 3;
	expect_fixed(sense, (const uint8_t[18]){ 0x70, 0, 0x05, [7] = 10, [12] = 0x26,
						 0x00, [15] = 0x8b, 0x02, 0x03 });
	sense.field_in = TCMU_EXT_FIELD_NONE;
	expect_fixed(sense, (const uint8_t[18]){ 0x70, 0, 0x05, [7] = 10, [12] = 0x26 });
}

static void test_descriptor_key_and_code(void **state)
{
	struct tcmu_ext_sense sense = { .key = TCMU_EXT_DATA_PROTECT, .additional_sense = 0x2707 };

	(void)state;
	expect_sense(&sense, true, (const uint8_t[]){ 0x72, 0x07, 0x27, 0x07, 0, 0, 0, 0 }, 8);
}

static void test_descriptor_information(void **state)
{
	struct tcmu_ext_sense sense = { .key = TCMU_EXT_MEDIUM_ERROR,
					.additional_sense = TCMU_EXT_WRITE_ERROR,
					.information_valid = true,
					.information = UINT64_C(0x0123456789abcdef) };

	(void)state;
	expect_sense(&sense, true,
		     (const uint8_t[]){ 0x72, 0x03, 0x0c, 0x00, 0, 0, 0, 12,
					/* information descriptor */
					0x00, 0x0a, 0x80, 0, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab,
					0xcd, 0xef },
		     20);
	sense.information = 7;
	expect_sense(&sense, true,
		     (const uint8_t[]){ 0x72, 0x03, 0x0c, 0x00, 0, 0, 0, 12, 0x00, 0x0a,
					0x80, 0,    0,    0,    0, 0, 0, 0,  0,    7 },
		     20);
}

static void test_descriptor_field_pointer(void **state)
{
	struct tcmu_ext_sense sense = { .key = TCMU_EXT_ILLEGAL_REQUEST,
					.additional_sense = TCMU_EXT_INVALID_FIELD_IN_CDB,
					.field_in = TCMU_EXT_FIELD_IN_CDB,
					.field_byte = 0x0102,
					.field_bit = 4 };

	(void)state;
	expect_sense(&sense, true,
		     (const uint8_t[]){ 0x72, 0x05, 0x24, 0x00, 0, 0, 0, 8,
					/* sense key specific descriptor */
					0x02, 0x06, 0, 0, 0xcc, 0x01, 0x02, 0 },
		     16);
	sense.field_in = TCMU_EXT_FIELD_IN_PARAMETER_LIST;
	sense.field_bit = -1;
	expect_sense(&sense, true,
		     (const uint8_t[]){ 0x72, 0x05, 0x24, 0x00, 0, 0, 0, 8, 0x02, 0x06, 0, 0, 0x80,
					0x01, 0x02, 0 },
		     16);
}

/* Both descriptors, in whichever order: the standard prescribes none. */
static void test_descriptor_information_and_field_pointer(void **state)
{
	static const uint8_t information[12] = { 0x00, 0x0a, 0x80, [11] = 9 };
	static const uint8_t field_pointer[8] = { 0x02, 0x06, 0, 0, 0xc0, 0, 7, 0 };
	struct tcmu_ext_sense sense = { .key = TCMU_EXT_ILLEGAL_REQUEST,
					.additional_sense = 0x2100,
					.information_valid = true,
					.information = 9,
					.field_in = TCMU_EXT_FIELD_IN_CDB,
					.field_byte = 7,
					.field_bit = -1 };
	uint8_t buffer[TCMU_EXT_SENSE_BYTES];
	const uint8_t *first, *second;

	(void)state;
	assert_int_equal(tcmu_ext_sense_write(&sense, true, buffer, sizeof(buffer)), 28);
	assert_memory_equal(buffer, ((const uint8_t[]){ 0x72, 5, 0x21, 0, 0, 0, 0, 20 }), 8);
	first = buffer[8] == 0x00 ? buffer + 8 : buffer + 16;
	second = buffer[8] == 0x00 ? buffer + 20 : buffer + 8;
	assert_memory_equal(first, information, sizeof(information));
	assert_memory_equal(second, field_pointer, sizeof(field_pointer));
}

/* Each length from nothing to full: the leading part, and no byte behind the buffer. */
static void expect_leading_parts(const struct tcmu_ext_sense *sense, bool descriptor_format)
{
	uint8_t whole[TCMU_EXT_SENSE_BYTES];
	size_t whole_bytes = tcmu_ext_sense_write(sense, descriptor_format, whole, sizeof(whole));

	assert_int_equal(whole_bytes, 8 + whole[7]);
	for (size_t bytes = 0; bytes <= sizeof(whole); bytes++) {
		/* Of the exact size, so that AddressSanitizer sees what guard bytes would not. */
		uint8_t *buffer = malloc(bytes ? bytes : 1);
		size_t written;

		memset(buffer, 0xee, bytes ? bytes : 1);
		written = tcmu_ext_sense_write(sense, descriptor_format, buffer, bytes);
		assert_int_equal(written, bytes < whole_bytes ? bytes : whole_bytes);
		if (bytes)
			assert_memory_equal(buffer, whole, bytes);
		else
			assert_int_equal(buffer[0], 0xee);
		free(buffer);
	}
}

static void test_small_buffer_gets_the_leading_part(void **state)
{
	const struct tcmu_ext_sense sense = { .key = TCMU_EXT_ILLEGAL_REQUEST,
					      .additional_sense = 0x2400,
					      .information_valid = true,
					      .information = 0x11223344,
					      .field_in = TCMU_EXT_FIELD_IN_CDB,
					      .field_byte = 0x5566,
					      .field_bit = 6 };

	(void)state;
	expect_leading_parts(&sense, false);
	expect_leading_parts(&sense, true);
}

static void test_large_buffer_is_cleared_whole(void **state)
{
	const struct tcmu_ext_sense sense = { .key = TCMU_EXT_NOT_READY };
	uint8_t buffer[400];

	(void)state;
	for (int descriptor_format = 0; descriptor_format < 2; descriptor_format++) {
		size_t written;

		memset(buffer, 0xee, sizeof(buffer));
		written = tcmu_ext_sense_write(&sense, descriptor_format, buffer, sizeof(buffer));
		for (size_t i = written; i < sizeof(buffer); i++)
			assert_int_equal(buffer[i], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_key_and_code),
		cmocka_unit_test(test_fixed_information),
		cmocka_unit_test(test_fixed_information_that_does_not_fit_is_left_out),
		cmocka_unit_test(test_fixed_field_pointer),
		cmocka_unit_test(test_descriptor_key_and_code),
		cmocka_unit_test(test_descriptor_information),
		cmocka_unit_test(test_descriptor_field_pointer),
		cmocka_unit_test(test_descriptor_information_and_field_pointer),
		cmocka_unit_test(test_small_buffer_gets_the_leading_part),
		cmocka_unit_test(test_large_buffer_is_cleared_whole),
	};

	return run_unit_tests(tests);
}
