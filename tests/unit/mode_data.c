/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "mode_data.h"

#include <string.h>

#include "cmocka_test.h"

enum { PF = 0x10, DBD = 0x08 };

struct cdb mode_sense_6(uint8_t page, uint8_t allocation_length)
{
	struct cdb cdb = cdb_make(TCMU_EXT_MODE_SENSE_6);

	cdb.bytes[2] = page;
	cdb.bytes[4] = allocation_length;
	return cdb;
}

struct cdb mode_sense_10(uint8_t page, uint16_t allocation_length)
{
	struct cdb cdb = cdb_make(TCMU_EXT_MODE_SENSE_10);

	cdb.bytes[2] = page;
	field_put(cdb.bytes + 7, 2, allocation_length);
	return cdb;
}

static void take_apart(struct mode_answer *answer, bool ten)
{
	const uint8_t *bytes = answer->bytes;
	size_t header_bytes = ten ? 8 : 4;

	answer->length = ten ? field_get(bytes, 2) + 2 : bytes[0] + 1u;
	assert_int_equal(ten ? bytes[2] : bytes[1], 0); /* MEDIUM TYPE */
	answer->device_specific_parameter = ten ? bytes[3] : bytes[2];
	answer->descriptor = bytes + header_bytes;
	answer->descriptor_bytes = ten ? field_get(bytes + 6, 2) : bytes[3];
	answer->pages = answer->descriptor + answer->descriptor_bytes;
	assert_true(answer->length >= header_bytes + answer->descriptor_bytes);
	assert_true(answer->length <= MODE_BUFFER_BYTES);
	answer->pages_bytes = answer->length - header_bytes - answer->descriptor_bytes;
}

void mode_sense(struct disk_fixture *fixture, struct cdb cdb, struct mode_answer *answer)
{
	expect_good(fixture, disk_data_in(fixture, cdb, MODE_BUFFER_BYTES, disk_cuts[2]));
	memcpy(answer->bytes, fixture->data, MODE_BUFFER_BYTES);
	take_apart(answer, cdb.count == 10);
	for (size_t i = answer->length; i < MODE_BUFFER_BYTES; i++)
		assert_int_equal(answer->bytes[i], 0);
}

size_t mode_page(struct disk_fixture *fixture, uint8_t page, uint8_t *bytes)
{
	struct mode_answer answer;

	mode_sense(fixture, cdb_with(mode_sense_6(page, MODE_BUFFER_BYTES), 1, DBD), &answer);
	assert_int_equal(answer.descriptor_bytes, 0);
	assert_int_equal(answer.pages[0] & 0x3f, page & 0x3f);
	assert_int_equal(answer.pages_bytes, answer.pages[1] + 2);
	memcpy(bytes, answer.pages, answer.pages_bytes);
	return answer.pages_bytes;
}

enum tcmu_ext_status mode_select(struct disk_fixture *fixture, uint8_t operation_code,
				 const uint8_t *list, size_t bytes)
{
	struct cdb cdb = cdb_with(cdb_make(operation_code), 1, PF);

	if (cdb.count == 6)
		cdb.bytes[4] = (uint8_t)bytes;
	else
		field_put(cdb.bytes + 7, 2, bytes);
	return disk_data_out(fixture, cdb, list, bytes, disk_cuts[4]);
}

enum tcmu_ext_status mode_select_pages(struct disk_fixture *fixture, const uint8_t *pages,
				       size_t bytes)
{
	uint8_t list[MODE_BUFFER_BYTES] = { 0 };

	memcpy(list + 4, pages, bytes);
	return mode_select(fixture, TCMU_EXT_MODE_SELECT_6, list, 4 + bytes);
}

enum tcmu_ext_status mode_change(struct disk_fixture *fixture, uint8_t page, size_t byte,
				 uint8_t bits, bool set)
{
	uint8_t bytes[MODE_BUFFER_BYTES];
	size_t length = mode_page(fixture, page, bytes);

	bytes[byte] = (uint8_t)(set ? bytes[byte] | bits : bytes[byte] & ~bits);
	return mode_select_pages(fixture, bytes, length);
}
