/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The parameter list of EXTENDED COPY (SPC-4 6.4). */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "disk_fixture.h"

enum { HEADER_BYTES = 16, CSCD_BYTES = 32, SEGMENT_BYTES = 28, LIST_MAXIMUM_BYTES = 4096 };

static const struct tcmu_ext_copy_limits limits = { .cscd_descriptors = 2,
						    .segment_descriptors = 1,
						    .descriptor_bytes = 1024 };

struct list {
	uint8_t bytes[LIST_MAXIMUM_BYTES];
	size_t cscd_count;
	size_t segment_count;
};

static size_t list_bytes(const struct list *list)
{
	return HEADER_BYTES + list->cscd_count * CSCD_BYTES + list->segment_count * SEGMENT_BYTES;
}

static uint8_t *segment_of(struct list *list, size_t number)
{
	return list->bytes + HEADER_BYTES + list->cscd_count * CSCD_BYTES + number * SEGMENT_BYTES;
}

/* Segments that copy 8 blocks from 0 to 64, from and to the first CSCD. */
static struct list list_make(size_t cscd_count, size_t segment_count)
{
	struct list list = { .cscd_count = cscd_count, .segment_count = segment_count };

	field_put(list.bytes + 2, 2, cscd_count * CSCD_BYTES);
	field_put(list.bytes + 8, 4, segment_count * SEGMENT_BYTES);
	for (size_t i = 0; i < cscd_count; i++)
		list.bytes[HEADER_BYTES + i * CSCD_BYTES] = 0xe4;
	for (size_t i = 0; i < segment_count; i++) {
		uint8_t *segment = segment_of(&list, i);

		segment[0] = 0x02;
		field_put(segment + 2, 2, SEGMENT_BYTES - 4);
		field_put(segment + 10, 2, 8);
		field_put(segment + 20, 8, 64);
	}
	return list;
}

static struct cdb cdb_for(size_t bytes)
{
	struct cdb cdb = cdb_make(TCMU_EXT_EXTENDED_COPY);

	field_put(cdb.bytes + 10, 4, bytes);
	return cdb;
}

/* As disk_command(), for what is no command of the disk's own. */
static enum tcmu_ext_status send_cut(struct disk_fixture *fixture, struct cdb cdb, const void *data,
				     size_t bytes, const size_t *cut)
{
	struct iovec_split buffer;
	struct tcmu_ext_command command = { .cdb = cdb.bytes,
					    .cdb_bytes = cdb.count,
					    .sense = fixture->sense,
					    .sense_bytes = sizeof(fixture->sense) };
	enum tcmu_ext_status status;

	iovec_split_make(&buffer, bytes, cut);
	if (bytes)
		iovec_split_set(&buffer, data);
	command.iov = buffer.iov;
	command.iov_count = buffer.iov_count;
	memset(fixture->sense, 0xa5, sizeof(fixture->sense));
	status = tcmu_ext_disk_check_extended_copy(fixture->disk, &command, &limits);
	if (status == TCMU_EXT_STATUS_CHECK_CONDITION)
		fixture->seen = sense_decode(fixture->sense);
	iovec_split_free(&buffer);
	return status;
}

static enum tcmu_ext_status send_list(struct disk_fixture *fixture, const struct list *list)
{
	size_t bytes = list_bytes(list);

	return send_cut(fixture, cdb_for(bytes), list->bytes, bytes, disk_cuts[0]);
}

static int open_disk(void **state)
{
	struct disk_fixture *fixture = calloc(1, sizeof(*fixture));

	disk_fixture_open(fixture, &disk_setup_default);
	*state = fixture;
	return 0;
}

static int close_disk(void **state)
{
	disk_fixture_close(*state);
	free(*state);
	return 0;
}

static void test_whole_list_is_left_to_the_caller(void **state)
{
	struct list list = list_make(1, 1);

	for (size_t cut = 0; cut < disk_cut_count; cut++)
		assert_int_equal(send_cut(*state, cdb_for(list_bytes(&list)), list.bytes,
					  list_bytes(&list), disk_cuts[cut]),
				 TCMU_EXT_STATUS_NOT_MINE);
	list = list_make(2, 1);
	segment_of(&list, 0)[7] = 1;
	assert_int_equal(send_list(*state, &list), TCMU_EXT_STATUS_NOT_MINE);
	/* What follows the descriptors, and is not said to be inline data, means nothing. */
	assert_int_equal(send_cut(*state, cdb_for(LIST_MAXIMUM_BYTES), list.bytes,
				  LIST_MAXIMUM_BYTES, disk_cuts[0]),
			 TCMU_EXT_STATUS_NOT_MINE);
}

static void test_nothing_to_copy(void **state)
{
	struct list list = list_make(1, 0);

	expect_good(*state, send_list(*state, &list));
	list = list_make(0, 0);
	expect_good(*state, send_list(*state, &list));
	expect_good(*state, send_cut(*state, cdb_for(0), NULL, 0, disk_cuts[0]));
}

static void test_cdb(void **state)
{
	struct list list = list_make(1, 1);

	for (unsigned int bit = 0; bit < 16 * 8; bit++) {
		unsigned int byte = bit / 8;
		struct cdb cdb = cdb_for(list_bytes(&list));
		bool is_field =
			byte == 0 || (byte == 1 && bit % 8 < 5) || (byte >= 10 && byte <= 13);

		if (is_field)
			continue;
		cdb.bytes[byte] ^= (uint8_t)(1u << bit % 8);
		expect_invalid_field(
			*state, send_cut(*state, cdb, list.bytes, list_bytes(&list), disk_cuts[0]),
			(int)byte, (int)(bit % 8));
	}
}

#define expect_length_error(fixture, status)                    \
	expect_sense(fixture, status, TCMU_EXT_ILLEGAL_REQUEST, \
		     TCMU_EXT_PARAMETER_LIST_LENGTH_ERROR)

static void test_list_cut_off(void **state)
{
	struct list list = list_make(2, 1);
	size_t whole = list_bytes(&list);

	for (size_t bytes = 1; bytes < whole; bytes++) {
		expect_length_error(
			*state, send_cut(*state, cdb_for(bytes), list.bytes, bytes, disk_cuts[0]));
		expect_length_error(
			*state, send_cut(*state, cdb_for(whole), list.bytes, bytes, disk_cuts[0]));
	}
}

static void test_lengths_at_their_bounds(void **state)
{
	static const uint32_t lengths[] = { 1025, 65536, 65536 + SEGMENT_BYTES, UINT32_MAX };
	struct list list = list_make(1, 1);

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		field_put(list.bytes + 8, 4, lengths[i]);
		expect_length_error(*state, send_cut(*state, cdb_for(LIST_MAXIMUM_BYTES),
						     list.bytes, LIST_MAXIMUM_BYTES, disk_cuts[0]));
	}
	list = list_make(1, 1);
	field_put(list.bytes + 2, 2, UINT16_MAX);
	expect_length_error(*state, send_cut(*state, cdb_for(LIST_MAXIMUM_BYTES), list.bytes,
					     LIST_MAXIMUM_BYTES, disk_cuts[0]));
	list = list_make(1, 1);
	list.bytes[15] = 1;
	expect_sense(*state, send_list(*state, &list), TCMU_EXT_ILLEGAL_REQUEST,
		     TCMU_EXT_INLINE_DATA_LENGTH_EXCEEDED);
}

static void expect_invalid_list_field(const struct disk_fixture *fixture,
				      enum tcmu_ext_status status, int byte)
{
	expect_sense(fixture, status, TCMU_EXT_ILLEGAL_REQUEST,
		     TCMU_EXT_INVALID_FIELD_IN_PARAMETER_LIST);
	assert_int_equal(fixture->seen.field_in, TCMU_EXT_FIELD_IN_PARAMETER_LIST);
	assert_int_equal(fixture->seen.field_byte, byte);
}

static void test_list_identifier(void **state)
{
	struct list list = list_make(1, 1);

	list.bytes[0] = 7;
	assert_int_equal(send_list(*state, &list), TCMU_EXT_STATUS_NOT_MINE);
	list.bytes[1] = 2 << 3;
	assert_int_equal(send_list(*state, &list), TCMU_EXT_STATUS_NOT_MINE);
	list.bytes[1] = 1 << 3;
	expect_invalid_list_field(*state, send_list(*state, &list), 1);
	list.bytes[1] = 3 << 3;
	expect_invalid_list_field(*state, send_list(*state, &list), 0);
	list.bytes[0] = 0;
	assert_int_equal(send_list(*state, &list), TCMU_EXT_STATUS_NOT_MINE);
}

static void test_too_many_descriptors(void **state)
{
	struct list list = list_make(3, 1);

	expect_sense(*state, send_list(*state, &list), TCMU_EXT_ILLEGAL_REQUEST,
		     TCMU_EXT_TOO_MANY_TARGET_DESCRIPTORS);
	list = list_make(1, 2);
	expect_sense(*state, send_list(*state, &list), TCMU_EXT_ILLEGAL_REQUEST,
		     TCMU_EXT_TOO_MANY_SEGMENT_DESCRIPTORS);
	list = list_make(3, 40);
	expect_length_error(*state, send_list(*state, &list));
}

static void test_descriptor_types(void **state)
{
	for (unsigned int type = 0; type < 256; type++) {
		struct list list = list_make(2, 1);

		list.bytes[HEADER_BYTES + CSCD_BYTES] = (uint8_t)type;
		if (type != 0xe4)
			expect_sense(*state, send_list(*state, &list), TCMU_EXT_ILLEGAL_REQUEST,
				     TCMU_EXT_UNSUPPORTED_TARGET_DESCRIPTOR_TYPE_CODE);
		list = list_make(2, 1);
		segment_of(&list, 0)[0] = (uint8_t)type;
		if (type != 0x02)
			expect_sense(*state, send_list(*state, &list), TCMU_EXT_ILLEGAL_REQUEST,
				     TCMU_EXT_UNSUPPORTED_SEGMENT_DESCRIPTOR_TYPE_CODE);
	}
}

static void test_descriptors_cut_off(void **state)
{
	struct list list = list_make(2, 1);

	field_put(list.bytes + 2, 2, 2 * CSCD_BYTES - 1);
	expect_invalid_list_field(*state, send_list(*state, &list), 2);
	list = list_make(1, 1);
	for (unsigned int bytes = 1; bytes < SEGMENT_BYTES; bytes++) {
		field_put(list.bytes + 8, 4, bytes);
		expect_invalid_list_field(*state, send_list(*state, &list), 8);
	}
	list = list_make(1, 1);
	field_put(segment_of(&list, 0) + 2, 2, 23);
	expect_invalid_list_field(*state, send_list(*state, &list), HEADER_BYTES + CSCD_BYTES + 2);
}

static void test_no_such_copy_target(void **state)
{
	for (size_t field = 4; field <= 6; field += 2) {
		static const uint16_t indexes[] = { 1, 2, 0x100, UINT16_MAX };

		for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
			struct list list = list_make(1, 1);

			field_put(segment_of(&list, 0) + field, 2, indexes[i]);
			expect_sense(*state, send_list(*state, &list), TCMU_EXT_COPY_ABORTED,
				     TCMU_EXT_UNREACHABLE_COPY_TARGET);
		}
	}
	struct list none = list_make(0, 1);

	expect_sense(*state, send_list(*state, &none), TCMU_EXT_COPY_ABORTED,
		     TCMU_EXT_UNREACHABLE_COPY_TARGET);
}

static void test_copy_targets_that_are_no_disks(void **state)
{
	for (size_t number = 0; number < 2; number++) {
		struct list list = list_make(2, 1);
		uint8_t *type = list.bytes + HEADER_BYTES + number * CSCD_BYTES + 1;

		*type = 0xe0; /* LU ID TYPE and a bit that is obsolete */
		assert_int_equal(send_list(*state, &list), TCMU_EXT_STATUS_NOT_MINE);
		*type = 0x01; /* a tape */
		expect_sense(*state, send_list(*state, &list), TCMU_EXT_COPY_ABORTED,
			     TCMU_EXT_INCORRECT_COPY_TARGET_DEVICE_TYPE);
	}
}

/* The disk has 128 blocks. */
static void test_beyond_the_medium(void **state)
{
	for (size_t field = 12; field <= 20; field += 8) {
		static const uint64_t lbas[] = { 121, 128, UINT64_MAX - 7, UINT64_MAX };
		struct list list = list_make(1, 1);

		field_put(segment_of(&list, 0) + field, 8, 120);
		assert_int_equal(send_list(*state, &list), TCMU_EXT_STATUS_NOT_MINE);
		for (size_t i = 0; i < sizeof(lbas) / sizeof(lbas[0]); i++) {
			field_put(segment_of(&list, 0) + field, 8, lbas[i]);
			expect_sense(*state, send_list(*state, &list), TCMU_EXT_COPY_ABORTED,
				     TCMU_EXT_NO_ADDITIONAL_SENSE);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_list_is_left_to_the_caller),
		cmocka_unit_test(test_nothing_to_copy),
		cmocka_unit_test(test_cdb),
		cmocka_unit_test(test_list_cut_off),
		cmocka_unit_test(test_lengths_at_their_bounds),
		cmocka_unit_test(test_list_identifier),
		cmocka_unit_test(test_too_many_descriptors),
		cmocka_unit_test(test_descriptor_types),
		cmocka_unit_test(test_descriptors_cut_off),
		cmocka_unit_test(test_no_such_copy_target),
		cmocka_unit_test(test_copy_targets_that_are_no_disks),
		cmocka_unit_test(test_beyond_the_medium),
	};

	return cmocka_run_group_tests(tests, open_disk, close_disk);
}
