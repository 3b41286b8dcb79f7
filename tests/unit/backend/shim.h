/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A shim between the backends and the kernel: it makes system calls fail or fall short as scripted,
 * records how they were called, and can stand in for a block device or for the rules of O_DIRECT.
 * What no script speaks of reaches the kernel.
 */
#ifndef SHIM_H
#define SHIM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum shim_call {
	SHIM_PREADV, /* and preadv2() */
	SHIM_PWRITEV2,
	SHIM_PREAD,
	SHIM_FDATASYNC,
	SHIM_FSYNC,
	SHIM_FTRUNCATE,
	SHIM_PUNCH_HOLE, /* fallocate(), by mode */
	SHIM_ZERO_RANGE,
	SHIM_ALLOCATE,
	SHIM_BLKZEROOUT, /* ioctl(), by request */
	SHIM_BLKDISCARD,
	SHIM_OTHER_IOCTL,
	SHIM_OPEN_PATH, /* open(), by what for */
	SHIM_REOPEN,
	SHIM_OPEN_OTHER,
	SHIM_OPENAT,
	SHIM_FCNTL,
	SHIM_FSTAT,
	SHIM_STAT,
	SHIM_STATX,
	SHIM_LSEEK,
	SHIM_FADVISE,
	SHIM_SLEEP,           /* nanosleep(), which only seems to sleep: `bytes` nanoseconds */
	SHIM_ALLOCATE_MEMORY, /* aligned_alloc(), calloc(), malloc(), strdup(), strndup() */
	SHIM_CALLS,
};

/* What a scripted call does: a negative errno, or at most so many bytes (lseek() returns the number
 * instead), or one of these. */
#define SHIM_PASS    LONG_MAX
#define SHIM_NOTHING 0L /* returns 0 and has no effect */

/* The next calls, in order; those after them pass. */
#define shim_script(call, ...)                               \
	shim_set_script(call, (const long[]){ __VA_ARGS__ }, \
			sizeof((const long[]){ __VA_ARGS__ }) / sizeof(long))
void shim_set_script(enum shim_call call, const long *actions, size_t count);

/* All calls from now on. */
void shim_always(enum shim_call call, long action);

/* Something to happen just before each such call. */
void shim_before(enum shim_call call, void (*hook)(void *context), void *context);

/* Forgets scripts, hooks, records, the device and the rules. */
void shim_reset(void);

/* How a call was made. */
struct shim_record {
	int flags; /* of preadv2(), pwritev2(), open(), fallocate() */
	uint64_t offset;
	size_t bytes;
	size_t iov_count;
};

size_t shim_count(enum shim_call call);
size_t shim_count_all(void);
const struct shim_record *shim_record(enum shim_call call, size_t number);
void shim_forget_records(void);

/* O_DIRECT as a strict kernel does it, on any file system. */
struct shim_direct {
	uint32_t memory_alignment_bytes;
	uint32_t transfer_alignment_bytes; /* 0: O_DIRECT is what the file system makes of it */
	bool untold;                       /* statx() does not tell */
	bool refused;                      /* a file system without O_DIRECT */
};
extern struct shim_direct shim_direct;

/* What fstat() says of the block size of files; 0: what the file system says. */
extern blksize_t shim_file_block_bytes;

/* A regular file that passes for a block device. */
struct shim_device {
	ino_t inode;        /* 0: none */
	unsigned int major; /* 0: one for local use */
	uint64_t bytes;
	int logical_block_bytes;
	unsigned int physical_block_bytes;
	unsigned int optimal_transfer_bytes;
	int read_only;
	unsigned short rotational;
	bool gone;         /* it has been unplugged */
	const char *sysfs; /* a directory in the place of the device's */
};
extern struct shim_device shim_device;

#endif
