/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Read, write and flush: one system call each when the kernel does all of it at once. */
#include "backend/transfer.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <tcmu-ext/iovec.h>

static int entries_per_call(size_t iov_count)
{
	return iov_count < IOV_MAX ? (int)iov_count : IOV_MAX;
}

/* Whether O_DIRECT can use the buffers as they are. */
static bool is_aligned(const struct storage *storage, const struct iovec *iov, size_t iov_count,
		       uint64_t offset)
{
	uintptr_t addresses = 0;
	uint64_t transfers = offset;

	for (size_t i = 0; i < iov_count; i++) {
		addresses |= (uintptr_t)iov[i].iov_base;
		transfers |= iov[i].iov_len;
	}
	return !(addresses & (storage->memory_alignment_bytes - 1)) &&
	       !(transfers & (storage->transfer_alignment_bytes - 1));
}

/*
 * A call that moved nothing has met the end, unless it got no more than entries without length: it
 * takes only so many at a time. Those are dropped; returns whether there were any.
 */
static bool drop_empty_entries(struct iovec **iov, size_t *iov_count)
{
	size_t before = *iov_count;

	tcmu_ext_iovec_advance(iov, iov_count, 0);
	return *iov_count < before;
}

static bool file_ends_before(const struct storage *storage, uint64_t offset)
{
	struct stat status;

	return !storage->is_device && !fstat(storage->fd, &status) &&
	       (uint64_t)status.st_size <= offset;
}

/* One system call. Returns the bytes read, 0 at the end, or -errno. */
static ssize_t read_once(const struct storage *storage, const struct iovec *iov, size_t iov_count,
			 uint64_t offset)
{
	ssize_t count;

	do
		count = preadv(storage->fd, iov, entries_per_call(iov_count), (off_t)offset);
	while (count < 0 && errno == EINTR);
	if (count >= 0)
		return count;
	count = -errno;
	/* O_DIRECT may refuse to go on from within a block, even to say that the file ends there.
	 */
	if (count == -EINVAL && storage->direct && file_ends_before(storage, offset))
		return 0;
	return count;
}

/*
 * Of a transfer past the page cache the kernel says that something in it failed, not what. Goes on
 * block by block, so that it ends at the block that cannot be read. `*blockwise` says that it does.
 */
static ssize_t read_some(const struct storage *storage, struct iovec **iov, size_t *iov_count,
			 uint64_t offset, bool *blockwise)
{
	ssize_t count = *blockwise ? -EIO : read_once(storage, *iov, *iov_count, offset);
	struct iovec block;

	if (count != -EIO || !storage->direct)
		return count;
	*blockwise = true;
	tcmu_ext_iovec_advance(iov, iov_count, 0);
	block = (struct iovec){ (*iov)->iov_base, storage->transfer_alignment_bytes };
	if (block.iov_len > (*iov)->iov_len)
		block.iov_len = (*iov)->iov_len;
	return read_once(storage, &block, 1, offset);
}

/*
 * A file that ends early reads as zeroes beyond, as if it were sparse there. A device that ends
 * early has lost its data.
 */
static int read_beyond_end(const struct storage *storage, const struct iovec *iov, size_t iov_count,
			   uint64_t end, size_t remaining)
{
	if (storage->is_device)
		return storage_device_error(storage, -EIO, end);
	tcmu_ext_iovec_clear(iov, iov_count, 0, remaining);
	return 0;
}

/*
 * What one call that may not wait came to. Anything but all of it, the end of the file and errors
 * included, is left to the same transfer without that condition.
 */
static int outcome_without_waiting(ssize_t count, size_t bytes, size_t *done_bytes)
{
	if (count < 0 && errno == EOPNOTSUPP)
		return -EOPNOTSUPP;
	if (count < 0 || (size_t)count < bytes)
		return -EAGAIN;
	*done_bytes = bytes;
	return 0;
}

int storage_read(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset, size_t bytes,
		 unsigned int flags, size_t *done_bytes)
{
	struct storage *storage = instance;
	bool blockwise = false;
	int error;

	*done_bytes = 0;
	if (flags & TCMU_EXT_IO_NOWAIT)
		return outcome_without_waiting(preadv2(storage->fd, iov,
						       entries_per_call(iov_count), (off_t)offset,
						       RWF_NOWAIT),
					       bytes, done_bytes);
	if (storage->direct && !is_aligned(storage, iov, iov_count, offset))
		return bounce_read(storage, iov, iov_count, offset, bytes, done_bytes);
	while (*done_bytes < bytes) {
		ssize_t count =
			read_some(storage, &iov, &iov_count, offset + *done_bytes, &blockwise);

		if (count < 0)
			return storage_device_error(storage, (int)count, offset + bytes);
		if (!count && drop_empty_entries(&iov, &iov_count))
			continue;
		if (!count) {
			error = read_beyond_end(storage, iov, iov_count, offset + bytes,
						bytes - *done_bytes);
			if (!error)
				*done_bytes = bytes;
			return error;
		}
		*done_bytes += (size_t)count;
		if (*done_bytes < bytes)
			tcmu_ext_iovec_advance(&iov, &iov_count, (size_t)count);
	}
	return 0;
}

/* What write-back lost for lack of memory does not come back when there is some. */
static int lasting_error(int error)
{
	return error == -ENOMEM || error == -EAGAIN ? -EIO : error;
}

/*
 * What fails with RWF_DSYNC may be an earlier write, of which a flush would then not hear again.
 * In the page cache EIO counts as that. Otherwise the same write without the flush tells: it only
 * succeeds where the flush was at fault.
 */
static bool has_lost_write(const struct storage *storage, const struct iovec *iov, size_t iov_count,
			   uint64_t offset, int error)
{
	ssize_t count;

	if (error == -EOPNOTSUPP)
		return false;
	if (storage->direct && (error == -ENOMEM || error == -EAGAIN || error == -EINVAL))
		return false; /* nothing was begun */
	if (!storage->direct && error == -EIO)
		return true;
	do
		count = pwritev2(storage->fd, iov, entries_per_call(iov_count), (off_t)offset, 0);
	while (count < 0 && errno == EINTR);
	return count > 0;
}

static int write_error(struct storage *storage, const struct iovec *iov, size_t iov_count,
		       uint64_t offset, int call_flags)
{
	int error = -errno;

	if ((call_flags & RWF_DSYNC) && has_lost_write(storage, iov, iov_count, offset, error))
		storage->lost_write_error = lasting_error(error);
	return error;
}

int transfer_write(struct storage *storage, struct iovec *iov, size_t iov_count, uint64_t offset,
		   size_t bytes, int call_flags, size_t *done_bytes)
{
	*done_bytes = 0;
	while (*done_bytes < bytes) {
		ssize_t count = pwritev2(storage->fd, iov, entries_per_call(iov_count),
					 (off_t)(offset + *done_bytes), call_flags);
		size_t progress;

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return write_error(storage, iov, iov_count, offset + *done_bytes,
					   call_flags);
		if (!count && drop_empty_entries(&iov, &iov_count))
			continue;
		/* From within a block O_DIRECT cannot go on: that block is written again. */
		progress = round_down((size_t)count, storage->transfer_alignment_bytes);
		if (!progress)
			return -EIO;
		*done_bytes += progress;
		if (*done_bytes < bytes)
			tcmu_ext_iovec_advance(&iov, &iov_count, progress);
	}
	return 0;
}

static int write_all(struct storage *storage, struct iovec *iov, size_t iov_count, uint64_t offset,
		     size_t bytes, int call_flags, size_t *done_bytes)
{
	if (storage->direct && !is_aligned(storage, iov, iov_count, offset))
		return bounce_write(storage, iov, iov_count, offset, bytes, call_flags, done_bytes);
	return transfer_write(storage, iov, iov_count, offset, bytes, call_flags, done_bytes);
}

/* A kernel or file system that does not know RWF_DSYNC refuses it before it writes anything. */
static int write_durably(struct storage *storage, struct iovec *iov, size_t iov_count,
			 uint64_t offset, size_t bytes, size_t *done_bytes)
{
	int error;

	if (!storage->durable_write_unsupported) {
		error = write_all(storage, iov, iov_count, offset, bytes, RWF_DSYNC, done_bytes);
		if (error != -EOPNOTSUPP || *done_bytes)
			return error;
		storage->durable_write_unsupported = true;
	}
	error = write_all(storage, iov, iov_count, offset, bytes, 0, done_bytes);
	return error ? error : storage_flush(storage);
}

int storage_write(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
		  size_t bytes, unsigned int flags, size_t *done_bytes)
{
	struct storage *storage = instance;
	bool durable = flags & TCMU_EXT_IO_DURABLE;
	int error;

	*done_bytes = 0;
	if (flags & TCMU_EXT_IO_NOWAIT)
		return outcome_without_waiting(pwritev2(storage->fd, iov,
							entries_per_call(iov_count), (off_t)offset,
							RWF_NOWAIT),
					       bytes, done_bytes);
	if (durable)
		error = write_durably(storage, iov, iov_count, offset, bytes, done_bytes);
	else
		error = write_all(storage, iov, iov_count, offset, bytes, 0, done_bytes);
	if (!error)
		return 0;
	if (error == -EBADF && storage->read_only)
		return -EROFS;
	return storage_device_error(storage, error, offset + bytes);
}

int storage_flush(void *instance)
{
	struct storage *storage = instance;
	int error;

	do
		error = fdatasync(storage->fd) ? -errno : 0;
	while (error == -EINTR);
	if (!error || storage->direct)
		return error ? error : storage->lost_write_error;
	/* The page cache reports a failed write once and then takes its pages for clean. */
	error = lasting_error(error);
	if (!storage->lost_write_error)
		storage->lost_write_error = error;
	return error;
}
