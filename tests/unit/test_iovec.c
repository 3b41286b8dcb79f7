/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Scattered buffers against flat memory: each function, on each way of cutting, with each offset
 * and length.
 */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include <tcmu-ext/iovec.h>

#include "iovec_split.h"

enum { BYTES = 23, BEYOND = BYTES + 3 };

static const size_t whole[] = { SPLIT_REST, SPLIT_END };
static const size_t single[] = { 1, SPLIT_END };
static const size_t halves[] = { 11, 12, SPLIT_END };
static const size_t uneven[] = { 1, 7, 2, 13, SPLIT_END };
static const size_t with_empty[] = { 0, 3, 0, 0, 5, 15, 0, SPLIT_END };
static const size_t *const cuts[] = { whole, single, halves, uneven, with_empty };

/* The bytes of the model: none is zero and no two neighbours are alike. */
static void fill_model(uint8_t model[BYTES])
{
	for (int i = 0; i < BYTES; i++)
		model[i] = (uint8_t)(0x20 + i);
}

/* How many of `bytes` bytes from `offset` on the buffer has. */
static size_t available(size_t offset, size_t bytes)
{
	if (offset >= BYTES)
		return 0;
	return bytes < BYTES - offset ? bytes : BYTES - offset;
}

typedef void (*case_function)(struct iovec_split *split, uint8_t model[BYTES], size_t offset,
			      size_t bytes);

static void for_all_cases(case_function run)
{
	uint8_t model[BYTES], after[BYTES];
	struct iovec_split split;

	for (size_t cut = 0; cut < ARRAY_COUNT(cuts); cut++) {
		iovec_split_make(&split, BYTES, cuts[cut]);
		for (size_t offset = 0; offset <= BEYOND; offset++)
			for (size_t bytes = 0; bytes <= BEYOND; bytes++) {
				fill_model(model);
				iovec_split_set(&split, model);
				iovec_split_rewind(&split);
				run(&split, model, offset, bytes);
				iovec_split_get(&split, after);
				check(!memcmp(after, model, BYTES),
				      "cut %zu, offset %zu, bytes %zu", cut, offset, bytes);
				iovec_split_check_guards(&split);
			}
		iovec_split_free(&split);
	}
}

/* An array given as const is left as it was. */
static void check_entries_unchanged(const struct iovec_split *split)
{
	assert_memory_equal(split->iov, split->kept, split->kept_count * sizeof(*split->kept));
}

static void scatter_case(struct iovec_split *split, uint8_t model[BYTES], size_t offset,
			 size_t bytes)
{
	uint8_t *source = calloc(1, bytes + 1);
	size_t expected = available(offset, bytes), done;

	for (size_t i = 0; i < bytes; i++)
		source[i] = (uint8_t)(0x80 + i);
	done = tcmu_ext_iovec_scatter(split->iov, split->iov_count, offset, source, bytes);
	assert_int_equal(done, expected);
	if (expected)
		memcpy(model + offset, source, expected);
	check_entries_unchanged(split);
	free(source);
}

static void test_scatter(void **state)
{
	(void)state;
	for_all_cases(scatter_case);
}

static void gather_case(struct iovec_split *split, uint8_t model[BYTES], size_t offset,
			size_t bytes)
{
	uint8_t *destination = malloc(bytes + 1);
	size_t expected = available(offset, bytes), done;

	memset(destination, 0xee, bytes + 1);
	done = tcmu_ext_iovec_gather(split->iov, split->iov_count, offset, destination, bytes);
	assert_int_equal(done, expected);
	if (expected)
		assert_memory_equal(destination, model + offset, expected);
	for (size_t i = expected; i <= bytes; i++)
		assert_int_equal(destination[i], 0xee);
	check_entries_unchanged(split);
	free(destination);
}

static void test_gather(void **state)
{
	(void)state;
	for_all_cases(gather_case);
}

static void clear_case(struct iovec_split *split, uint8_t model[BYTES], size_t offset, size_t bytes)
{
	size_t expected = available(offset, bytes);

	assert_int_equal(tcmu_ext_iovec_clear(split->iov, split->iov_count, offset, bytes),
			 expected);
	if (expected)
		memset(model + offset, 0, expected);
	check_entries_unchanged(split);
}

static void test_clear(void **state)
{
	(void)state;
	for_all_cases(clear_case);
}

static void compare_case(struct iovec_split *split, uint8_t model[BYTES], size_t offset,
			 size_t bytes)
{
	size_t there = available(offset, bytes);
	uint8_t *expected = malloc(bytes + 1);

	memset(expected, 0x7b, bytes + 1);
	if (there)
		memcpy(expected, model + offset, there);
	assert_int_equal(
		tcmu_ext_iovec_compare(split->iov, split->iov_count, offset, expected, bytes),
		there);
	/* One difference, and a second one behind it that must not matter. */
	for (size_t different = 0; different < there; different++) {
		expected[different] ^= 0x80;
		expected[there - 1] ^= 0x40;
		assert_int_equal(tcmu_ext_iovec_compare(split->iov, split->iov_count, offset,
							expected, bytes),
				 different);
		expected[there - 1] ^= 0x40;
		expected[different] ^= 0x80;
	}
	check_entries_unchanged(split);
	free(expected);
}

static void test_compare(void **state)
{
	(void)state;
	for_all_cases(compare_case);
}

static void is_zero_case(struct iovec_split *split, uint8_t model[BYTES], size_t offset,
			 size_t bytes)
{
	size_t there = available(offset, bytes);

	if (!bytes)
		return;
	assert_false(tcmu_ext_iovec_is_zero(split->iov, split->iov_count, offset, bytes));
	if (!there)
		return;
	memset(model + offset, 0, there);
	iovec_split_set(split, model);
	assert_int_equal(tcmu_ext_iovec_is_zero(split->iov, split->iov_count, offset, bytes),
			 there == bytes);
	for (size_t i = offset; i < offset + there; i++)
		for (int bit = 0; bit < 8; bit += 7) {
			model[i] = (uint8_t)(1 << bit);
			iovec_split_set(split, model);
			assert_false(tcmu_ext_iovec_is_zero(split->iov, split->iov_count, offset,
							    bytes));
			model[i] = 0;
		}
	iovec_split_set(split, model);
	check_entries_unchanged(split);
}

static void test_is_zero(void **state)
{
	(void)state;
	for_all_cases(is_zero_case);
}

/* A long buffer, since a comparison may go word by word: each single byte must count. */
static void test_is_zero_sees_every_byte_of_a_long_buffer(void **state)
{
	static const size_t cut[] = { 4095, 1, 4097, SPLIT_REST, SPLIT_END };
	struct iovec_split split;
	uint8_t *model = calloc(1, 10000);

	(void)state;
	iovec_split_make(&split, 10000, cut);
	for (size_t i = 0; i < 10000; i++) {
		model[i] = 1;
		iovec_split_set(&split, model);
		assert_false(tcmu_ext_iovec_is_zero(split.iov, split.iov_count, 0, 10000));
		assert_int_equal(
			tcmu_ext_iovec_is_zero(split.iov, split.iov_count, i + 1, 10000 - i - 1),
			true);
		model[i] = 0;
	}
	iovec_split_set(&split, model);
	assert_true(tcmu_ext_iovec_is_zero(split.iov, split.iov_count, 0, 10000));
	assert_false(tcmu_ext_iovec_is_zero(split.iov, split.iov_count, 0, 10001));
	iovec_split_free(&split);
	free(model);
}

/* What an array holds now, byte by byte, against the expected part of the model. */
static void check_holds(const struct iovec *iov, size_t iov_count, const uint8_t *expected,
			size_t bytes)
{
	size_t position = 0;

	for (size_t i = 0; i < iov_count; i++)
		for (size_t j = 0; j < iov[i].iov_len; j++, position++) {
			assert_true(position < bytes);
			assert_int_equal(((uint8_t *)iov[i].iov_base)[j], expected[position]);
		}
	assert_int_equal(position, bytes);
}

static void advance_case(struct iovec_split *split, uint8_t model[BYTES], size_t offset,
			 size_t bytes)
{
	size_t dropped = available(0, offset);

	tcmu_ext_iovec_advance(&split->iov, &split->iov_count, offset);
	assert_true(split->iov >= split->array);
	assert_true(split->iov + split->iov_count <= split->array + split->kept_count);
	check_holds(split->iov, split->iov_count, model + dropped, BYTES - dropped);
	if (offset > BYTES)
		assert_int_equal(split->iov_count, 0);
	/* And on from there. */
	tcmu_ext_iovec_advance(&split->iov, &split->iov_count, bytes);
	dropped += available(dropped, bytes);
	check_holds(split->iov, split->iov_count, model + dropped, BYTES - dropped);
}

static void test_advance(void **state)
{
	(void)state;
	for_all_cases(advance_case);
}

static void truncate_case(struct iovec_split *split, uint8_t model[BYTES], size_t offset,
			  size_t bytes)
{
	size_t kept = tcmu_ext_iovec_truncate(split->iov, split->iov_count, bytes);

	(void)offset;
	assert_true(kept <= split->iov_count);
	check_holds(split->iov, kept, model, available(0, bytes));
	if (bytes > BYTES) {
		assert_int_equal(kept, split->iov_count);
		check_entries_unchanged(split);
	}
	/* No more entries than hold something. */
	if (kept && bytes <= BYTES)
		assert_true(split->iov[kept - 1].iov_len > 0);
	/* Only the last entry kept is changed. */
	if (kept > 1)
		assert_memory_equal(split->iov, split->kept, (kept - 1) * sizeof(*split->kept));
	if (kept < split->kept_count)
		assert_memory_equal(split->iov + kept, split->kept + kept,
				    (split->kept_count - kept) * sizeof(*split->kept));
}

static void test_truncate(void **state)
{
	(void)state;
	for_all_cases(truncate_case);
}

static void test_bytes_adds_up(void **state)
{
	struct iovec_split split;

	(void)state;
	for (size_t cut = 0; cut < ARRAY_COUNT(cuts); cut++) {
		iovec_split_make(&split, BYTES, cuts[cut]);
		assert_int_equal(tcmu_ext_iovec_bytes(split.iov, split.iov_count), BYTES);
		iovec_split_free(&split);
	}
}

static void test_bytes_that_do_not_fit_are_the_maximum(void **state)
{
	struct iovec iov[3] = { { .iov_len = SIZE_MAX / 2 },
				{ .iov_len = SIZE_MAX / 2 },
				{ .iov_len = 1 } };

	(void)state;
	assert_true(tcmu_ext_iovec_bytes(iov, 2) == SIZE_MAX - 1);
	assert_true(tcmu_ext_iovec_bytes(iov, 3) == SIZE_MAX);
	iov[2].iov_len = 2;
	assert_true(tcmu_ext_iovec_bytes(iov, 3) == SIZE_MAX);
	iov[0].iov_len = iov[1].iov_len = SIZE_MAX;
	assert_true(tcmu_ext_iovec_bytes(iov, 3) == SIZE_MAX);
	iov[1].iov_len = 5; /* the sum comes out small again if it wraps */
	iov[2].iov_len = SIZE_MAX;
	assert_true(tcmu_ext_iovec_bytes(iov, 3) == SIZE_MAX);
}

static void test_empty_array(void **state)
{
	struct iovec *iov = NULL;
	size_t iov_count = 0;
	uint8_t byte = 0xee;

	(void)state;
	assert_int_equal(tcmu_ext_iovec_bytes(NULL, 0), 0);
	assert_int_equal(tcmu_ext_iovec_scatter(NULL, 0, 0, &byte, 1), 0);
	assert_int_equal(tcmu_ext_iovec_gather(NULL, 0, 0, &byte, 1), 0);
	assert_int_equal(tcmu_ext_iovec_clear(NULL, 0, 0, 1), 0);
	assert_int_equal(tcmu_ext_iovec_compare(NULL, 0, 0, &byte, 1), 0);
	assert_false(tcmu_ext_iovec_is_zero(NULL, 0, 0, 1));
	assert_true(tcmu_ext_iovec_is_zero(NULL, 0, 0, 0));
	assert_int_equal(tcmu_ext_iovec_truncate(NULL, 0, 1), 0);
	tcmu_ext_iovec_advance(&iov, &iov_count, 5);
	assert_int_equal(iov_count, 0);
	assert_int_equal(byte, 0xee);
}

/* Offsets and lengths at the top of the range: their sum must not wrap to something small. */
static void test_huge_offsets_and_lengths(void **state)
{
	uint8_t model[BYTES], buffer[BYTES];
	struct iovec_split split;

	(void)state;
	fill_model(model);
	iovec_split_make(&split, BYTES, uneven);
	iovec_split_set(&split, model);
	assert_int_equal(tcmu_ext_iovec_gather(split.iov, split.iov_count, SIZE_MAX, buffer, 5), 0);
	assert_int_equal(tcmu_ext_iovec_scatter(split.iov, split.iov_count, SIZE_MAX - 2, model, 5),
			 0);
	assert_int_equal(tcmu_ext_iovec_clear(split.iov, split.iov_count, SIZE_MAX - 1, 9), 0);
	assert_int_equal(tcmu_ext_iovec_clear(split.iov, split.iov_count, SIZE_MAX, SIZE_MAX), 0);
	assert_false(tcmu_ext_iovec_is_zero(split.iov, split.iov_count, 3, SIZE_MAX));
	iovec_split_get(&split, buffer);
	assert_memory_equal(buffer, model, BYTES);
	assert_int_equal(tcmu_ext_iovec_clear(split.iov, split.iov_count, 3, SIZE_MAX), BYTES - 3);
	assert_false(tcmu_ext_iovec_is_zero(split.iov, split.iov_count, 3, SIZE_MAX));
	tcmu_ext_iovec_advance(&split.iov, &split.iov_count, 5);
	tcmu_ext_iovec_advance(&split.iov, &split.iov_count, SIZE_MAX);
	assert_int_equal(split.iov_count, 0);
	iovec_split_free(&split);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scatter),
		cmocka_unit_test(test_gather),
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_is_zero),
		cmocka_unit_test(test_is_zero_sees_every_byte_of_a_long_buffer),
		cmocka_unit_test(test_advance),
		cmocka_unit_test(test_truncate),
		cmocka_unit_test(test_bytes_adds_up),
		cmocka_unit_test(test_bytes_that_do_not_fit_are_the_maximum),
		cmocka_unit_test(test_empty_array),
		cmocka_unit_test(test_huge_offsets_and_lengths),
	};

	return run_unit_tests(tests);
}
