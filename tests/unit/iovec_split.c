/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "iovec_split.h"

#include <stdlib.h>
#include <string.h>

#include "test_failure.h"

static const uint8_t guard_byte = 0xa7;

static size_t segment_lengths(const size_t *wanted, size_t bytes, size_t *lengths)
{
	size_t count = 0, next = 0;

	while (bytes) {
		size_t length = wanted[next++];

		if (length == SPLIT_END) {
			next = 0;
			continue;
		}
		check(count < SPLIT_MAXIMUM_SEGMENTS, "%zu segments", count);
		if (length > bytes)
			length = bytes;
		lengths[count++] = length;
		bytes -= length;
	}
	return count;
}

void iovec_split_make(struct iovec_split *split, size_t bytes, const size_t *segment_bytes)
{
	size_t *lengths = calloc(SPLIT_MAXIMUM_SEGMENTS, sizeof(*lengths));
	size_t count = segment_lengths(segment_bytes, bytes, lengths);
	uint8_t *next;

	split->bytes = bytes;
	split->kept_count = count;
	split->kept = calloc(count + 1, sizeof(*split->kept));
	/* Without spare room: AddressSanitizer sees an access beyond the last entry. */
	split->array = malloc(count ? count * sizeof(*split->array) : 1);
	split->arena_bytes = bytes + (count + 1) * SPLIT_GUARD_BYTES;
	split->arena = malloc(split->arena_bytes);
	memset(split->arena, guard_byte, split->arena_bytes);
	next = split->arena + SPLIT_GUARD_BYTES;
	for (size_t i = 0; i < count; i++) {
		split->kept[i] = (struct iovec){ .iov_base = next, .iov_len = lengths[i] };
		next += lengths[i] + SPLIT_GUARD_BYTES;
	}
	iovec_split_rewind(split);
	free(lengths);
}

void iovec_split_check_guards(const struct iovec_split *split)
{
	const uint8_t *position = split->arena;

	for (size_t i = 0; i <= split->kept_count; i++) {
		for (size_t guard = 0; guard < SPLIT_GUARD_BYTES; guard++)
			check(position[guard] == guard_byte,
			      "byte %zu behind segment %zd of %zu was changed", guard,
			      (ssize_t)i - 1, split->kept_count);
		position += SPLIT_GUARD_BYTES;
		if (i < split->kept_count)
			position += split->kept[i].iov_len;
	}
}

void iovec_split_free(struct iovec_split *split)
{
	iovec_split_check_guards(split);
	free(split->arena);
	free(split->array);
	free(split->kept);
	memset(split, 0, sizeof(*split));
}

void iovec_split_rewind(struct iovec_split *split)
{
	split->iov = split->array;
	split->iov_count = split->kept_count;
	if (split->kept_count)
		memcpy(split->array, split->kept, split->kept_count * sizeof(*split->kept));
}

void iovec_split_set(struct iovec_split *split, const void *source)
{
	const uint8_t *next = source;

	for (size_t i = 0; i < split->kept_count; i++) {
		memcpy(split->kept[i].iov_base, next, split->kept[i].iov_len);
		next += split->kept[i].iov_len;
	}
}

void iovec_split_get(const struct iovec_split *split, void *destination)
{
	uint8_t *next = destination;

	for (size_t i = 0; i < split->kept_count; i++) {
		memcpy(next, split->kept[i].iov_base, split->kept[i].iov_len);
		next += split->kept[i].iov_len;
	}
}

void iovec_split_fill(struct iovec_split *split, uint8_t byte)
{
	for (size_t i = 0; i < split->kept_count; i++)
		memset(split->kept[i].iov_base, byte, split->kept[i].iov_len);
}
