/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Scattered buffers: copying, clearing, comparing and walking arrays of struct iovec, whatever
 * their split. All lengths and offsets are bytes. None of these functions allocates; all may be
 * used on any thread as long as nobody else changes the same array or buffers.
 */
#ifndef TCMU_EXT_IOVEC_H
#define TCMU_EXT_IOVEC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include <tcmu-ext/visibility.h>

TCMU_EXT_BEGIN_DECLS

/* The bytes an array holds in all; SIZE_MAX if the sum does not fit a size_t. */
TCMU_EXT_API size_t tcmu_ext_iovec_bytes(const struct iovec *iov, size_t iov_count);

/*
 * Copies `bytes` bytes from `source` into the array, starting `offset` bytes into it.
 * Returns how many bytes were copied: fewer than asked when the array ends first.
 */
TCMU_EXT_API size_t tcmu_ext_iovec_scatter(const struct iovec *iov, size_t iov_count, size_t offset,
					   const void *source, size_t bytes);

/*
 * Copies `bytes` bytes from the array, starting `offset` bytes into it, to `destination`.
 * Returns how many bytes were copied: fewer than asked when the array ends first.
 */
TCMU_EXT_API size_t tcmu_ext_iovec_gather(const struct iovec *iov, size_t iov_count, size_t offset,
					  void *destination, size_t bytes);

/* Clears `bytes` bytes of the array from `offset` on. Returns how many were cleared. */
TCMU_EXT_API size_t tcmu_ext_iovec_clear(const struct iovec *iov, size_t iov_count, size_t offset,
					 size_t bytes);

/*
 * Compares `bytes` bytes of the array, from `offset` on, with `expected`. Returns the offset within
 * `expected` of the first byte that differs, or that lies beyond the array; `bytes` when all agree.
 */
TCMU_EXT_API size_t tcmu_ext_iovec_compare(const struct iovec *iov, size_t iov_count, size_t offset,
					   const void *expected, size_t bytes);

/* Whether `bytes` bytes of the array, from `offset` on, exist and are all zero. */
TCMU_EXT_API bool tcmu_ext_iovec_is_zero(const struct iovec *iov, size_t iov_count, size_t offset,
					 size_t bytes);

/*
 * Drops the first `bytes` bytes of an array that is being worked through: `*iov` and `*iov_count`
 * move past the entries used up, and the entry then first is changed in place. Dropping more than
 * there is leaves an empty array.
 */
TCMU_EXT_API void tcmu_ext_iovec_advance(struct iovec **iov, size_t *iov_count, size_t bytes);

/*
 * Shortens an array to its first `bytes` bytes, changing the last entry kept in place. Returns the
 * number of entries kept. An array that is shorter already is left alone.
 */
TCMU_EXT_API size_t tcmu_ext_iovec_truncate(struct iovec *iov, size_t iov_count, size_t bytes);

TCMU_EXT_END_DECLS

#endif
