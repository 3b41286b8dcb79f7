/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* UNMAP (SBC-3 5.28). */
#include "cmocka_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disk_fixture.h"

enum { HEADER_BYTES = 8, DESCRIPTOR_BYTES = 16, LIST_MAXIMUM_BYTES = 65535 };

struct unmap_range {
	uint64_t lba;
	uint32_t blocks;
};

/* A parameter list with the lengths that belong to it. */
static size_t make_list(uint8_t *list, const struct unmap_range *ranges, size_t count)
{
	size_t bytes = HEADER_BYTES + count * DESCRIPTOR_BYTES;

	memset(list, 0, bytes);
	field_put(list, 2, bytes - 2);
	field_put(list + 2, 2, bytes - HEADER_BYTES);
	for (size_t i = 0; i < count; i++) {
		uint8_t *descriptor = list + HEADER_BYTES + i * DESCRIPTOR_BYTES;

		field_put(descriptor, 8, ranges[i].lba);
		field_put(descriptor + 8, 4, ranges[i].blocks);
	}
	return bytes;
}

static enum tcmu_ext_status send_list(struct disk_fixture *fixture, const uint8_t *list,
				      size_t list_bytes, size_t buffer_bytes, size_t cut)
{
	struct cdb cdb = cdb_make(TCMU_EXT_UNMAP);

	field_put(cdb.bytes + 7, 2, list_bytes);
	return disk_data_out(fixture, cdb, list, buffer_bytes, disk_cuts[cut]);
}

static enum tcmu_ext_status unmap(struct disk_fixture *fixture, const struct unmap_range *ranges,
				  size_t count)
{
	uint8_t *list = malloc(LIST_MAXIMUM_BYTES);
	size_t bytes = make_list(list, ranges, count);
	enum tcmu_ext_status status = send_list(fixture, list, bytes, bytes, 4);

	free(list);
	return status;
}

static void open_filled(struct disk_fixture *fixture, const struct disk_setup *setup)
{
	disk_fixture_open(fixture, setup);
	disk_fixture_fill_medium(fixture);
}

/* The medium but for some ranges, which read as zeroes. */
static void expect_zeroed(const struct disk_fixture *fixture, const uint8_t *before,
			  const struct unmap_range *ranges, size_t count)
{
	size_t bytes = fixture->memory.window_bytes;
	uint8_t *model = malloc(bytes);

	memcpy(model, before, bytes);
	for (size_t i = 0; i < count; i++)
		memset(model + ranges[i].lba * fixture->block_bytes, 0,
		       (size_t)ranges[i].blocks * fixture->block_bytes);
	assert_memory_equal(fixture->memory.medium, model, bytes);
	free(model);
}

static void test_ranges_are_freed(void **state)
{
	static const struct unmap_range ranges[] = { { 3, 5 }, { 100, 28 }, { 50, 1 }, { 0, 1 } };
	struct disk_fixture fixture;
	uint8_t *before;

	(void)state;
	open_filled(&fixture, &disk_setup_default);
	before = malloc(fixture.memory.window_bytes);
	memcpy(before, fixture.memory.medium, fixture.memory.window_bytes);
	for (size_t count = 0; count <= ARRAY_COUNT(ranges); count++) {
		disk_fixture_fill_medium(&fixture);
		memory_backend_forget_calls(&fixture.memory);
		expect_good(&fixture, unmap(&fixture, ranges, count));
		expect_zeroed(&fixture, before, ranges, count);
		assert_int_equal(fixture.memory.counts[MEMORY_DISCARD], count);
		assert_int_equal(memory_backend_calls(&fixture.memory), count);
	}
	assert_false(fixture.memory.mapped[3]);
	assert_false(fixture.memory.mapped[127]);
	assert_true(fixture.memory.mapped[8]);
	free(before);
	disk_fixture_close(&fixture);
}

static void test_range_of_nothing_is_nothing(void **state)
{
	static const struct unmap_range ranges[] = { { 3, 0 }, { 127, 0 }, { 5, 1 } };
	struct disk_fixture fixture;

	(void)state;
	open_filled(&fixture, &disk_setup_default);
	expect_good(&fixture, unmap(&fixture, ranges, 3));
	assert_int_equal(fixture.memory.counts[MEMORY_DISCARD], 1);
	disk_fixture_close(&fixture);
}

/* One range off the medium: none is touched, wherever it stands in the list. */
static void test_range_off_the_medium_spoils_the_list(void **state)
{
	static const struct unmap_range bad[] = {
		{ 128, 1 },        { 127, 2 },        { 0, 129 },
		{ UINT64_MAX, 1 }, { UINT64_MAX, 2 }, { UINT64_C(1) << 55, 1 },
		{ 0, UINT32_MAX }, { 129, 0 },
	};
	struct disk_fixture fixture;

	(void)state;
	open_filled(&fixture, &disk_setup_default);
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		const struct unmap_range first[] = { bad[i], { 3, 1 } };
		const struct unmap_range last[] = { { 3, 1 }, bad[i] };

		expect_out_of_range(&fixture, unmap(&fixture, first, 2));
		expect_out_of_range(&fixture, unmap(&fixture, last, 2));
	}
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	disk_fixture_close(&fixture);
}

static void test_no_list_is_no_error(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	open_filled(&fixture, &disk_setup_default);
	expect_good(&fixture, send_list(&fixture, NULL, 0, 0, 0));
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	disk_fixture_close(&fixture);
}

/* SBC-3 5.28.2: a list that ends inside its header. */
static void test_list_without_a_whole_header_is_refused(void **state)
{
	static const struct unmap_range range = { 3, 1 };
	struct disk_fixture fixture;
	uint8_t list[64];

	(void)state;
	open_filled(&fixture, &disk_setup_default);
	make_list(list, &range, 1);
	for (size_t bytes = 1; bytes < HEADER_BYTES; bytes++)
		expect_sense(&fixture, send_list(&fixture, list, bytes, bytes, 0),
			     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_PARAMETER_LIST_LENGTH_ERROR);
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	disk_fixture_close(&fixture);
}

/* A descriptor that is cut off is ignored, those before it count. */
static void test_incomplete_descriptor_is_ignored(void **state)
{
	static const struct unmap_range ranges[] = { { 3, 1 }, { 5, 1 } };
	struct disk_fixture fixture;
	uint8_t list[64];

	(void)state;
	open_filled(&fixture, &disk_setup_default);
	make_list(list, ranges, 2);
	for (size_t cut_off = 1; cut_off <= DESCRIPTOR_BYTES; cut_off++) {
		/* By the CDB's length, and by the header's. */
		memory_backend_forget_calls(&fixture.memory);
		expect_good(&fixture, send_list(&fixture, list, HEADER_BYTES + 32 - cut_off,
						HEADER_BYTES + 32 - cut_off, 2));
		assert_int_equal(fixture.memory.counts[MEMORY_DISCARD], 1);
		assert_true(fixture.memory.calls[0].offset == 3 * 512);
		field_put(list + 2, 2, 32 - cut_off);
		memory_backend_forget_calls(&fixture.memory);
		expect_good(&fixture,
			    send_list(&fixture, list, HEADER_BYTES + 32, HEADER_BYTES + 32, 2));
		assert_int_equal(fixture.memory.counts[MEMORY_DISCARD], 1);
		field_put(list + 2, 2, 32);
	}
	disk_fixture_close(&fixture);
}

/* A header that claims more than was sent does not make the disk read beyond it. */
static void test_header_may_not_reach_beyond_the_list(void **state)
{
	static const struct unmap_range range = { 3, 1 };
	struct disk_fixture fixture;
	uint8_t list[64];
	size_t bytes;

	(void)state;
	open_filled(&fixture, &disk_setup_default);
	bytes = make_list(list, &range, 1);
	field_put(list, 2, UINT16_MAX);
	field_put(list + 2, 2, UINT16_MAX);
	send_list(&fixture, list, bytes, bytes, 0);
	assert_true(fixture.memory.counts[MEMORY_DISCARD] <= 1);
	disk_fixture_close(&fixture);
}

static void test_buffer_shorter_than_the_list_is_refused(void **state)
{
	static const struct unmap_range range = { 3, 1 };
	struct disk_fixture fixture;
	uint8_t list[64];
	size_t bytes;

	(void)state;
	open_filled(&fixture, &disk_setup_default);
	bytes = make_list(list, &range, 1);
	for (size_t buffer = 0; buffer < bytes; buffer++)
		assert_int_equal(send_list(&fixture, list, bytes, buffer, 4),
				 TCMU_EXT_STATUS_CHECK_CONDITION);
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	disk_fixture_close(&fixture);
}

struct limits {
	uint64_t blocks;
	uint64_t descriptors;
};

static struct limits block_limits(struct disk_fixture *fixture)
{
	struct cdb cdb = cdb_with(cdb_make(TCMU_EXT_INQUIRY), 1, 0x01);

	cdb.bytes[2] = 0xb0;
	cdb.bytes[4] = 64;
	expect_good(fixture, disk_data_in(fixture, cdb, 64, disk_cuts[0]));
	return (struct limits){ .blocks = field_get(fixture->data + 20, 4),
				.descriptors = field_get(fixture->data + 24, 4) };
}

/* MAXIMUM UNMAP LBA COUNT and MAXIMUM UNMAP BLOCK DESCRIPTOR COUNT hold, to the block. */
static void test_limits_are_those_of_the_block_limits_page(void **state)
{
	struct disk_setup setup = disk_setup_default;
	struct unmap_range *ranges = calloc(4094, sizeof(*ranges));
	struct disk_fixture fixture;
	struct limits limits;

	(void)state;
	setup.blocks = UINT64_C(1) << 33;
	setup.memory.window_bytes = 512;
	setup.memory.window_offset = (UINT64_C(1) << 32) * 512;
	disk_fixture_open(&fixture, &setup);
	limits = block_limits(&fixture);
	assert_true(limits.descriptors > 0 && limits.descriptors < 4094);
	assert_true(limits.blocks > 1 && limits.blocks < UINT32_MAX);
	memory_backend_forget_calls(&fixture.memory);
	ranges[0].blocks = (uint32_t)limits.blocks + 1;
	expect_sense(&fixture, unmap(&fixture, ranges, 1), TCMU_EXT_ILLEGAL_REQUEST,
		     TCMU_EXT_INVALID_FIELD_IN_PARAMETER_LIST);
	/* In all descriptors together. */
	ranges[0].blocks = (uint32_t)limits.blocks;
	ranges[1] = (struct unmap_range){ limits.blocks, 1 };
	expect_sense(&fixture, unmap(&fixture, ranges, 2), TCMU_EXT_ILLEGAL_REQUEST,
		     TCMU_EXT_INVALID_FIELD_IN_PARAMETER_LIST);
	for (size_t i = 0; i <= limits.descriptors; i++)
		ranges[i] = (struct unmap_range){ i, 1 };
	expect_sense(&fixture, unmap(&fixture, ranges, limits.descriptors + 1),
		     TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_PARAMETER_LIST);
	assert_int_equal(memory_backend_calls(&fixture.memory), 0);
	expect_good(&fixture, unmap(&fixture, ranges, limits.descriptors));
	assert_int_equal(fixture.memory.counts[MEMORY_DISCARD], limits.descriptors);
	memory_backend_forget_calls(&fixture.memory);
	ranges[0] = (struct unmap_range){ 5, (uint32_t)limits.blocks };
	expect_good(&fixture, unmap(&fixture, ranges, 1));
	assert_true(fixture.memory.calls[0].bytes == limits.blocks * 512);
	disk_fixture_close(&fixture);
	free(ranges);
}

static void test_without_write_cache_it_is_durable(void **state)
{
	static const struct unmap_range range = { 3, 50 };
	struct disk_setup setup = disk_setup_default;
	struct disk_fixture fixture;

	(void)state;
	setup.disk.write_cache = false;
	open_filled(&fixture, &setup);
	expect_good(&fixture, unmap(&fixture, &range, 1));
	assert_memory_equal(fixture.memory.medium, fixture.memory.durable,
			    fixture.memory.window_bytes);
	disk_fixture_close(&fixture);
}

static void test_errors(void **state)
{
	static const struct unmap_range ranges[] = { { 3, 5 }, { 20, 5 }, { 40, 5 } };
	struct disk_fixture fixture;

	(void)state;
	open_filled(&fixture, &disk_setup_default);
	fixture.memory.failures[MEMORY_DISCARD] =
		(struct memory_failure){ .countdown = 2, .error = -EIO };
	expect_sense(&fixture, unmap(&fixture, ranges, 3), TCMU_EXT_MEDIUM_ERROR,
		     TCMU_EXT_WRITE_ERROR);
	assert_int_equal(fixture.memory.counts[MEMORY_DISCARD], 2);
	memory_backend_fail(&fixture.memory, MEMORY_DISCARD, ENOSPC, 0);
	expect_sense(&fixture, unmap(&fixture, ranges, 3), TCMU_EXT_DATA_PROTECT,
		     TCMU_EXT_SPACE_ALLOCATION_FAILED_WRITE_PROTECT);
	disk_fixture_close(&fixture);
}

static void test_anchor_is_refused(void **state)
{
	struct disk_fixture fixture;

	(void)state;
	open_filled(&fixture, &disk_setup_default);
	expect_invalid_field(&fixture,
			     disk_command(&fixture, cdb_with(cdb_make(TCMU_EXT_UNMAP), 1, 0x01)), 1,
			     0);
	disk_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges_are_freed),
		cmocka_unit_test(test_range_of_nothing_is_nothing),
		cmocka_unit_test(test_range_off_the_medium_spoils_the_list),
		cmocka_unit_test(test_no_list_is_no_error),
		cmocka_unit_test(test_list_without_a_whole_header_is_refused),
		cmocka_unit_test(test_incomplete_descriptor_is_ignored),
		cmocka_unit_test(test_header_may_not_reach_beyond_the_list),
		cmocka_unit_test(test_buffer_shorter_than_the_list_is_refused),
		cmocka_unit_test(test_limits_are_those_of_the_block_limits_page),
		cmocka_unit_test(test_without_write_cache_it_is_durable),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_anchor_is_refused),
	};

	return run_unit_tests(tests);
}
