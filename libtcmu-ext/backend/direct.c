/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* cache=none: switching to O_DIRECT and learning what it needs. */
#include "backend/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plumbing/log.h"

/* The largest alignment that the buffers made here have. */
enum { ALIGNMENT_MAXIMUM_BYTES = 4096 };

static bool is_usable_alignment(uint32_t bytes)
{
	return bytes && bytes <= ALIGNMENT_MAXIMUM_BYTES && !(bytes & (bytes - 1));
}

/* Fills in what the kernel tells (statx(2), since 6.1). Returns whether it tells. */
static bool ask_alignment(int fd, uint32_t *memory_bytes, uint32_t *transfer_bytes)
{
#ifdef STATX_DIOALIGN
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) ||
	    !(status.stx_mask & STATX_DIOALIGN))
		return false;
	*memory_bytes = status.stx_dio_mem_align;
	*transfer_bytes = status.stx_dio_offset_align;
	return true;
#else
	(void)fd;
	(void)memory_bytes;
	(void)transfer_bytes;
	return false;
#endif
}

/*
 * Finds out by a read what older kernels and some file systems do not tell: whether the smallest
 * block will do.
 */
static uint32_t try_alignment(int fd, uint32_t least_bytes)
{
	_Alignas(ALIGNMENT_MAXIMUM_BYTES) char buffer[ALIGNMENT_MAXIMUM_BYTES];

	if (pread(fd, buffer, least_bytes, 0) < 0 && errno == EINVAL)
		return ALIGNMENT_MAXIMUM_BYTES;
	return least_bytes;
}

static int refuse_direct(const struct storage *storage, int error)
{
	log_message(
		&storage->log, TCMU_EXT_LOG_ERROR,
		"%s cannot be used with cache=none: the file system it is on does not do direct "
		"I/O (O_DIRECT) there; leave cache=none out, or move it to another file system",
		storage->name);
	return error;
}

static int refuse_block_size(const struct storage *storage)
{
	uint32_t needed = storage->transfer_alignment_bytes;

	log_message(
		&storage->log, TCMU_EXT_LOG_ERROR,
		"%s cannot be used with cache=none for a LUN with blocks of %u bytes: direct I/O "
		"there moves whole blocks of %u bytes; create the LUN with "
		"control=hw_block_size=%u, or "
		"use cache=writeback",
		storage->name, storage->lun_block_bytes, needed, needed);
	return -EINVAL;
}

int storage_set_direct(struct storage *storage, uint32_t least_block_bytes)
{
	int flags = fcntl(storage->fd, F_GETFL);

	if (flags < 0 || fcntl(storage->fd, F_SETFL, flags | O_DIRECT))
		return refuse_direct(storage, -errno);
	if (!ask_alignment(storage->fd, &storage->memory_alignment_bytes,
			   &storage->transfer_alignment_bytes)) {
		storage->transfer_alignment_bytes = try_alignment(storage->fd, least_block_bytes);
		storage->memory_alignment_bytes = storage->transfer_alignment_bytes;
	}
	if (!is_usable_alignment(storage->memory_alignment_bytes) ||
	    !is_usable_alignment(storage->transfer_alignment_bytes))
		return refuse_direct(storage, -EINVAL);
	if (storage->lun_block_bytes % storage->transfer_alignment_bytes)
		return refuse_block_size(storage);
	storage->direct = true;
	return 0;
}
