/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* O_DIRECT through an aligned buffer, for the rare command whose own buffers are not. */
#include "backend/transfer.h"

#include <errno.h>
#include <stdlib.h>

#include <tcmu-ext/iovec.h>

enum {
	BOUNCE_MAXIMUM_BYTES = 256 * 1024,
	BOUNCE_ALIGNMENT_BYTES = 4096, /* covers every memory and transfer alignment accepted */
};

/* A buffer for the range, or for as much of it as goes through at a time. */
static void *make_buffer(uint64_t begin, uint64_t end, size_t *buffer_bytes)
{
	*buffer_bytes =
		minimum(round_up(end - begin, BOUNCE_ALIGNMENT_BYTES), BOUNCE_MAXIMUM_BYTES);
	return aligned_alloc(BOUNCE_ALIGNMENT_BYTES, *buffer_bytes);
}

int bounce_read(struct storage *storage, const struct iovec *iov, size_t iov_count, uint64_t offset,
		size_t bytes, size_t *done_bytes)
{
	uint64_t position = round_down(offset, storage->transfer_alignment_bytes);
	uint64_t end = round_up(offset + bytes, storage->transfer_alignment_bytes);
	size_t skip = (size_t)(offset - position);
	size_t buffer_bytes;
	char *buffer = make_buffer(position, end, &buffer_bytes);
	int error = buffer ? 0 : -ENOMEM;

	while (!error && *done_bytes < bytes) {
		struct iovec piece = { buffer, minimum((size_t)(end - position), buffer_bytes) };
		size_t count;

		error = storage_read(storage, &piece, 1, position, piece.iov_len, 0, &count);
		if (count > skip)
			*done_bytes +=
				tcmu_ext_iovec_scatter(iov, iov_count, *done_bytes, buffer + skip,
						       minimum(count - skip, bytes - *done_bytes));
		position += count;
		skip = 0;
	}
	free(buffer);
	return error;
}

int bounce_write(struct storage *storage, const struct iovec *iov, size_t iov_count,
		 uint64_t offset, size_t bytes, int call_flags, size_t *done_bytes)
{
	size_t buffer_bytes;
	char *buffer = make_buffer(offset, offset + bytes, &buffer_bytes);
	int error = buffer ? 0 : -ENOMEM;

	*done_bytes = 0;
	while (!error && *done_bytes < bytes) {
		struct iovec piece = { buffer, minimum(bytes - *done_bytes, buffer_bytes) };
		size_t count;

		tcmu_ext_iovec_gather(iov, iov_count, *done_bytes, buffer, piece.iov_len);
		error = transfer_write(storage, &piece, 1, offset + *done_bytes, piece.iov_len,
				       call_flags, &count);
		*done_bytes += count;
	}
	free(buffer);
	return error;
}
