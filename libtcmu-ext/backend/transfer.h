/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Moving bytes between buffers and a descriptor, within what O_DIRECT asks of both. */
#ifndef BACKEND_TRANSFER_H
#define BACKEND_TRANSFER_H

#include "backend/storage.h"

/* `alignment` is a power of two. */
static inline uint64_t round_down(uint64_t value, uint64_t alignment)
{
	return value & ~(alignment - 1);
}

/* Likewise; the result must fit. */
static inline uint64_t round_up(uint64_t value, uint64_t alignment)
{
	return round_down(value + alignment - 1, alignment);
}

static inline uint64_t minimum(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Writes all of buffers that are aligned. `call_flags` are those of pwritev2(). Returns 0 or
 * -errno. The entries of `iov` may change.
 */
int transfer_write(struct storage *storage, struct iovec *iov, size_t iov_count, uint64_t offset,
		   size_t bytes, int call_flags, size_t *done_bytes);

/* As storage_read() and transfer_write(), for buffers of any alignment. These allocate. */
int bounce_read(struct storage *storage, const struct iovec *iov, size_t iov_count, uint64_t offset,
		size_t bytes, size_t *done_bytes);
int bounce_write(struct storage *storage, const struct iovec *iov, size_t iov_count,
		 uint64_t offset, size_t bytes, int call_flags, size_t *done_bytes);

#endif
