/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Making ranges read as zeroes and giving their space back: from the cheapest way that keeps what
 * was asked down to writing zeroes.
 */
#include "backend/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "plumbing/log.h"

enum {
	ZERO_PAGE_BYTES = 4096, /* covers every alignment of O_DIRECT accepted */
	ZERO_PAGES_PER_CALL = 256,
};

static const unsigned char zero_page[ZERO_PAGE_BYTES]
	__attribute__((aligned(ZERO_PAGE_BYTES))) = { 0 };

static void count_one(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static int punch_hole(const struct storage *storage, uint64_t offset, uint64_t bytes)
{
	return fallocate(storage->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
			 (off_t)bytes);
}

/* Without FALLOC_FL_KEEP_SIZE: past the end, a file grows as it would by a write, and a device says
 * that it ends. */
static int zero_range(const struct storage *storage, uint64_t offset, uint64_t bytes)
{
	return fallocate(storage->fd, FALLOC_FL_ZERO_RANGE, (off_t)offset, (off_t)bytes);
}

static int device_request(const struct storage *storage, unsigned long request, uint64_t offset,
			  uint64_t bytes)
{
	uint64_t range[2] = { offset, bytes };

	if (!storage->is_device) {
		errno = ENOTTY;
		return -1;
	}
	return ioctl(storage->fd, request, range);
}

static int blkzeroout(const struct storage *storage, uint64_t offset, uint64_t bytes)
{
	return device_request(storage, BLKZEROOUT, offset, bytes);
}

typedef int (*range_function)(const struct storage *storage, uint64_t offset, uint64_t bytes);

static int call_range(range_function function, const struct storage *storage, uint64_t offset,
		      uint64_t bytes)
{
	int error;

	do
		error = function(storage, offset, bytes) ? -errno : 0;
	while (error == -EINTR);
	return error;
}

/* Some devices take back what they said of themselves: loop on tmpfs, when zeroes were to stay. */
static void set_unsupported(struct storage *storage, enum zero_method method)
{
	bool known = atomic_exchange(&storage->zero_unsupported[method], true);

	if (!known && method == ZERO_PUNCH_HOLE && storage->discard_method == DISCARD_ZERO)
		log_message(&storage->log, TCMU_EXT_LOG_WARNING,
			    "%s no longer gives space back: what initiators discard is overwritten "
			    "with zeroes instead; making the LUN anew tries again",
			    storage->name);
}

/* Returns whether that settles it: the range is zero, or fails in a way nothing else would mend. */
static bool try_method(struct storage *storage, enum zero_method method, uint64_t offset,
		       uint64_t bytes, int *error)
{
	static const range_function functions[ZERO_METHODS] = {
		[ZERO_PUNCH_HOLE] = punch_hole,
		[ZERO_ZERO_RANGE] = zero_range,
		[ZERO_BLKZEROOUT] = blkzeroout,
	};
	uint64_t *counters[ZERO_METHODS] = {
		[ZERO_PUNCH_HOLE] = &storage->counters.punch_hole,
		[ZERO_ZERO_RANGE] = &storage->counters.zero_range,
		[ZERO_BLKZEROOUT] = &storage->counters.blkzeroout,
	};

	if (storage->zero_unsupported[method])
		return false;
	*error = call_range(functions[method], storage, offset, bytes);
	switch (*error) {
	case 0:
		count_one(counters[method]);
		return true;
	case -EOPNOTSUPP:
	case -ENOSYS:
	case -ENOTTY:
		set_unsupported(storage, method);
		return false;
	case -EINVAL:    /* some file systems say this of a range they cannot do */
	case -EBUSY:     /* pages of a device that another program has in use */
	case -EREMOTEIO: /* the device refused the command */
		return false;
	default:
		return true;
	}
}

static int write_zero_pages(struct storage *storage, uint64_t offset, uint64_t bytes)
{
	struct iovec iov[ZERO_PAGES_PER_CALL];
	int error = 0;

	while (bytes && !error) {
		size_t now = bytes < sizeof(iov) / sizeof(iov[0]) * ZERO_PAGE_BYTES
				     ? (size_t)bytes
				     : sizeof(iov) / sizeof(iov[0]) * ZERO_PAGE_BYTES;
		size_t filled = 0;
		size_t count = 0;
		size_t done;

		while (filled < now) {
			size_t length =
				now - filled < ZERO_PAGE_BYTES ? now - filled : ZERO_PAGE_BYTES;

			/* Only read from: struct iovec knows no const. */
			iov[count++] = (struct iovec){ (void *)zero_page, length };
			filled += length;
		}
		error = transfer_write(storage, iov, count, offset, now, 0, &done);
		offset += now;
		bytes -= now;
	}
	return error;
}

/* The range is aligned as methods other than writing need it. */
static int zero_aligned(struct storage *storage, uint64_t offset, uint64_t bytes, bool unmap)
{
	int first = unmap ? ZERO_PUNCH_HOLE : ZERO_ZERO_RANGE;
	int error = 0;

	for (int method = first; method < ZERO_METHODS; method++)
		if (try_method(storage, (enum zero_method)method, offset, bytes, &error))
			return error;
	error = write_zero_pages(storage, offset, bytes);
	if (!error)
		count_one(&storage->counters.written);
	return error;
}

static int zero_any(struct storage *storage, uint64_t offset, uint64_t bytes, bool unmap)
{
	uint64_t end = offset + bytes;
	uint64_t aligned = round_up(offset, storage->range_alignment_bytes);
	uint64_t aligned_end = round_down(end, storage->range_alignment_bytes);
	int error;

	if (aligned >= aligned_end) {
		error = write_zero_pages(storage, offset, bytes);
		if (!error)
			count_one(&storage->counters.written);
		return error;
	}
	error = write_zero_pages(storage, offset, aligned - offset);
	if (!error)
		error = write_zero_pages(storage, aligned_end, end - aligned_end);
	if (!error)
		error = zero_aligned(storage, aligned, aligned_end - aligned, unmap);
	return error;
}

int storage_write_zeroes(void *instance, uint64_t offset, uint64_t bytes, unsigned int flags)
{
	struct storage *storage = instance;
	int error;

	if (storage->read_only)
		return -EROFS;
	if (!bytes)
		return 0;
	/* The kernel cuts a hole short, without a word, where a device has shrunk. */
	error = storage_device_error(storage, 0, offset + bytes);
	if (!error)
		error = zero_any(storage, offset, bytes, flags & TCMU_EXT_IO_UNMAP);
	return error ? storage_device_error(storage, error, offset + bytes) : 0;
}

static int blkdiscard(const struct storage *storage, uint64_t offset, uint64_t bytes)
{
	return device_request(storage, BLKDISCARD, offset, bytes);
}

/* Blocks at the edges that are discarded in part only keep what they hold. */
static int discard_inside(struct storage *storage, uint64_t offset, uint64_t bytes)
{
	uint64_t aligned = round_up(offset, storage->range_alignment_bytes);
	uint64_t aligned_end = round_down(offset + bytes, storage->range_alignment_bytes);
	int error;

	if (aligned >= aligned_end)
		return 0;
	error = call_range(blkdiscard, storage, aligned, aligned_end - aligned);
	if (!error)
		count_one(&storage->counters.blkdiscard);
	return storage_device_error(storage, error, offset + bytes);
}

int storage_discard(void *instance, uint64_t offset, uint64_t bytes)
{
	struct storage *storage = instance;

	if (storage->read_only)
		return -EROFS;
	switch (storage->discard_method) {
	case DISCARD_ZERO:
		return storage_write_zeroes(storage, offset, bytes, TCMU_EXT_IO_UNMAP);
	case DISCARD_BLKDISCARD:
		return discard_inside(storage, offset, bytes);
	case DISCARD_NONE:
		break;
	}
	return -EOPNOTSUPP;
}
