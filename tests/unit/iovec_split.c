/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "iovec_split.h"

#include <stdlib.h>
#include <string.h>

#include "test_failure.h"

enum { GUARD_BYTE = 0xa7 };

/* Cuts `bytes` bytes; `segments` may be NULL to count only. Returns the number of segments. */
static size_t cut(const size_t *wanted, size_t bytes, struct iovec *segments)
{
	size_t count = 0, next = 0;

	while (bytes) {
		size_t length = wanted[next++];

		if (length == SPLIT_END) {
			next = 0;
			continue;
		}
		if (length > bytes)
			length = bytes;
		if (segments)
			segments[count].iov_len = length;
		count++;
		bytes -= length;
	}
	return count;
}

void iovec_split_make(struct iovec_split *split, size_t bytes, const size_t *segment_bytes)
{
	size_t count = cut(segment_bytes, bytes, NULL);
	uint8_t *next;

	split->bytes = bytes;
	split->kept_count = count;
	split->kept = calloc(count + 1, sizeof(*split->kept));
	cut(segment_bytes, bytes, split->kept);
	/* Without spare room: AddressSanitizer sees an access beyond the last entry. */
	split->array = malloc(count ? count * sizeof(*split->array) : 1);
	split->arena_bytes = bytes + (count + 1) * SPLIT_GUARD_BYTES;
	split->arena = malloc(split->arena_bytes);
	memset(split->arena, GUARD_BYTE, split->arena_bytes);
	next = split->arena + SPLIT_GUARD_BYTES;
	for (size_t i = 0; i < count; i++) {
		split->kept[i].iov_base = next;
		next += split->kept[i].iov_len + SPLIT_GUARD_BYTES;
	}
	iovec_split_rewind(split);
}

static void check_guard(const struct iovec_split *split, const uint8_t *guard, size_t segment)
{
	static const uint8_t untouched[SPLIT_GUARD_BYTES] = { [0 ... SPLIT_GUARD_BYTES - 1] =
								      GUARD_BYTE };

	check(!memcmp(guard, untouched, sizeof(untouched)),
	      "a byte before segment %zu of %zu was changed", segment, split->kept_count);
}

void iovec_split_check_guards(const struct iovec_split *split)
{
	const uint8_t *position = split->arena;

	for (size_t i = 0; i < split->kept_count; i++) {
		check_guard(split, position, i);
		position += SPLIT_GUARD_BYTES + split->kept[i].iov_len;
	}
	check_guard(split, position, split->kept_count);
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
