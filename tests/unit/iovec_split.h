/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Scattered buffers for tests: every segment lies in memory of its own between guard bytes, so that
 * a byte written outside any of them is noticed, also without AddressSanitizer.
 */
#ifndef IOVEC_SPLIT_H
#define IOVEC_SPLIT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { SPLIT_GUARD_BYTES = 16 };

struct iovec_split {
	struct iovec *iov;  /* as handed to the code under test, which may change it */
	size_t iov_count;   /* likewise */
	struct iovec *kept; /* the segments as they were made */
	size_t kept_count;
	struct iovec *array; /* owns what `iov` points to */
	uint8_t *arena;
	size_t arena_bytes;
	size_t bytes;
};

/*
 * Makes a buffer of `bytes` bytes. The first segments have the lengths in `segment_bytes` (zero is
 * allowed), ended by SPLIT_END; the list is used again and again, SPLIT_REST takes what is left.
 */
#define SPLIT_END  SIZE_MAX
#define SPLIT_REST (SIZE_MAX - 1)
void iovec_split_make(struct iovec_split *split, size_t bytes, const size_t *segment_bytes);

/* Frees it. Fails the test when a byte outside the segments has changed. */
void iovec_split_free(struct iovec_split *split);

/* Fails the test when a byte outside the segments has changed. */
void iovec_split_check_guards(const struct iovec_split *split);

/* Restores `iov` and `iov_count` to the whole buffer. */
void iovec_split_rewind(struct iovec_split *split);

/* Whole contents from and to flat memory of `bytes` bytes. */
void iovec_split_set(struct iovec_split *split, const void *source);
void iovec_split_get(const struct iovec_split *split, void *destination);
void iovec_split_fill(struct iovec_split *split, uint8_t byte);

#endif
