/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <tcmu-ext/iovec.h>

#include <stdint.h>
#include <string.h>

/* A stretch of one entry: what the walk below visits. */
struct piece {
	unsigned char *base;
	size_t bytes;
};

/*
 * A walk over the part of an array that begins `offset` bytes into it and is at most `bytes` long.
 * Entries without length are passed over.
 */
struct walk {
	const struct iovec *iov;
	size_t iov_count;
	size_t skip;
	size_t remaining;
};

static bool walk_next(struct walk *walk, struct piece *piece)
{
	while (walk->iov_count && walk->remaining) {
		const struct iovec *entry = walk->iov++;

		walk->iov_count--;
		if (walk->skip >= entry->iov_len) {
			walk->skip -= entry->iov_len;
			continue;
		}
		piece->base = (unsigned char *)entry->iov_base + walk->skip;
		piece->bytes = entry->iov_len - walk->skip;
		if (piece->bytes > walk->remaining)
			piece->bytes = walk->remaining;
		walk->skip = 0;
		walk->remaining -= piece->bytes;
		return true;
	}
	return false;
}

size_t tcmu_ext_iovec_bytes(const struct iovec *iov, size_t iov_count)
{
	size_t total = 0;

	for (size_t i = 0; i < iov_count; i++)
		if (__builtin_add_overflow(total, iov[i].iov_len, &total))
			return SIZE_MAX;
	return total;
}

size_t tcmu_ext_iovec_scatter(const struct iovec *iov, size_t iov_count, size_t offset,
			      const void *source, size_t bytes)
{
	struct walk walk = { iov, iov_count, offset, bytes };
	const unsigned char *from = source;
	struct piece piece;

	while (walk_next(&walk, &piece)) {
		memcpy(piece.base, from, piece.bytes);
		from += piece.bytes;
	}
	return bytes - walk.remaining;
}

size_t tcmu_ext_iovec_gather(const struct iovec *iov, size_t iov_count, size_t offset,
			     void *destination, size_t bytes)
{
	struct walk walk = { iov, iov_count, offset, bytes };
	unsigned char *to = destination;
	struct piece piece;

	while (walk_next(&walk, &piece)) {
		memcpy(to, piece.base, piece.bytes);
		to += piece.bytes;
	}
	return bytes - walk.remaining;
}

size_t tcmu_ext_iovec_clear(const struct iovec *iov, size_t iov_count, size_t offset, size_t bytes)
{
	struct walk walk = { iov, iov_count, offset, bytes };
	struct piece piece;

	while (walk_next(&walk, &piece))
		memset(piece.base, 0, piece.bytes);
	return bytes - walk.remaining;
}

/* The first byte at which two buffers differ; `bytes` when they do not. */
static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t bytes)
{
	size_t i = 0;

	if (!memcmp(a, b, bytes))
		return bytes;
	while (a[i] == b[i])
		i++;
	return i;
}

size_t tcmu_ext_iovec_compare(const struct iovec *iov, size_t iov_count, size_t offset,
			      const void *expected, size_t bytes)
{
	struct walk walk = { iov, iov_count, offset, bytes };
	const unsigned char *reference = expected;
	size_t compared = 0;
	struct piece piece;

	while (walk_next(&walk, &piece)) {
		size_t same = first_difference(piece.base, reference + compared, piece.bytes);

		compared += same;
		if (same < piece.bytes)
			break;
	}
	return compared;
}

bool tcmu_ext_iovec_is_zero(const struct iovec *iov, size_t iov_count, size_t offset, size_t bytes)
{
	struct walk walk = { iov, iov_count, offset, bytes };
	struct piece piece;

	while (walk_next(&walk, &piece))
		/* All bytes equal the first, and the first is zero. */
		if (piece.base[0] || memcmp(piece.base, piece.base + 1, piece.bytes - 1) != 0)
			return false;
	return walk.remaining == 0;
}

void tcmu_ext_iovec_advance(struct iovec **iov, size_t *iov_count, size_t bytes)
{
	while (*iov_count && bytes >= (*iov)->iov_len) {
		bytes -= (*iov)->iov_len;
		(*iov)++;
		(*iov_count)--;
	}
	if (*iov_count) {
		(*iov)->iov_base = (unsigned char *)(*iov)->iov_base + bytes;
		(*iov)->iov_len -= bytes;
	}
}

size_t tcmu_ext_iovec_truncate(struct iovec *iov, size_t iov_count, size_t bytes)
{
	if (!bytes)
		return 0;
	for (size_t i = 0; i < iov_count; i++) {
		if (bytes <= iov[i].iov_len) {
			iov[i].iov_len = bytes;
			return i + 1;
		}
		bytes -= iov[i].iov_len;
	}
	return iov_count;
}
