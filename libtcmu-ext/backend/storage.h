/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What `file` and `block` share: an open file descriptor that bytes are moved to and from. The
 * functions below named like operations of a backend are just that, with a struct storage as the
 * instance.
 */
#ifndef BACKEND_STORAGE_H
#define BACKEND_STORAGE_H

#include <stdatomic.h>

#include <tcmu-ext/backend.h>

/* The ways to make a range read as zeroes without sending the zeroes; see zero.c. */
enum zero_method {
	ZERO_PUNCH_HOLE,
	ZERO_ZERO_RANGE,
	ZERO_BLKZEROOUT,
	ZERO_METHODS,
};

/* How ranges are given back. */
enum discard_method {
	DISCARD_NONE,
	DISCARD_ZERO, /* by what makes zeroes and frees: afterwards the range reads as zeroes */
	DISCARD_BLKDISCARD,
};

struct storage {
	int fd;
	bool is_device;
	bool direct; /* O_DIRECT */
	bool read_only;
	/* Of buffers in memory, and of offsets and buffer lengths; both 1 unless direct. */
	uint32_t memory_alignment_bytes;
	uint32_t transfer_alignment_bytes;
	/* What ranges to zero or discard must be aligned to: a device's logical block, or 1. */
	uint32_t range_alignment_bytes;
	uint32_t lun_block_bytes;
	enum discard_method discard_method;
	bool locked;   /* nobody else opens it while this descriptor exists */
	bool succeeds; /* a process that was killed may have left transfers that are under way */
	/* Learned from the first attempt; true stays true. */
	atomic_bool zero_unsupported[ZERO_METHODS];
	atomic_bool durable_write_unsupported;
	atomic_int lost_write_error; /* -errno: a write failed after it had been reported as done */
	struct tcmu_ext_backend_counters counters;
	uint64_t lun_bytes; /* changed by resize only */
	char *path;
	char *name;       /* the path as messages show it, and as a configuration string has it */
	char *shell_name; /* the path as commands in messages have it */
	struct tcmu_ext_log log;
};

/* Fills the fields that come from the configuration. Returns 0, -EINVAL without a path, or
 * -ENOMEM. The storage may be released in each case. */
int storage_init(struct storage *storage, const struct tcmu_ext_backend_config *config);

/*
 * To be called when somebody else has the backing: waits a moment and returns true when it may be a
 * process this one succeeds, false when it is not, or has been for too long. `*waits` is 0 at
 * first.
 */
bool storage_wait_for_predecessor(const struct storage *storage, unsigned int *waits);

/* What to say, after that it is in use, when such a wait was in vain. */
#define PREDECESSOR_ADVICE                                                                      \
	"; transfers that a killed daemon has left under way may hold it, which lsof does not"  \
	" show, or another LUN or program does: wait until the storage has ended them, or stop" \
	" using it there, then restart the daemon"

/* Closes the descriptor, if any, and frees what the fields own. */
void storage_release(struct storage *storage);

/*
 * Switches the open descriptor to O_DIRECT and learns what alignment that needs.
 * `least_block_bytes` is what to try where the kernel does not tell. Returns 0, or -errno after
 * saying why the file or the LUN's block size cannot be used so.
 */
int storage_set_direct(struct storage *storage, uint32_t least_block_bytes);

/* Replaces an error of a device by what is behind it: -ENXIO when the device is gone, -EIO when it
 * ends before `end`. */
int storage_device_error(const struct storage *storage, int error, uint64_t end);

/* Operations; see tcmu-ext/backend.h. */
int storage_read(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset, size_t bytes,
		 unsigned int flags, size_t *done_bytes);
int storage_write(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
		  size_t bytes, unsigned int flags, size_t *done_bytes);
int storage_flush(void *instance);
int storage_write_zeroes(void *instance, uint64_t offset, uint64_t bytes, unsigned int flags);
int storage_discard(void *instance, uint64_t offset, uint64_t bytes);
int storage_prefetch(void *instance, uint64_t offset, uint64_t bytes);
void storage_get_counters(void *instance, struct tcmu_ext_backend_counters *counters);
void storage_describe_queue(void *instance, struct tcmu_ext_backend_queue *queue);

#endif
