/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Backends: the bytes under a disk. A backend is one table of operations on an instance of its own;
 * `file`, `block` and `null` are built in, and a handler author can add another by filling a table.
 *
 * Offsets and lengths are bytes. Errors are negative errno. A backend knows nothing of SCSI.
 *
 * Threads: open, close, resize and the data operations of one instance are called by one thread at
 * a time, with two exceptions. `resize` may run beside data operations (it grows only, and what
 * lies beyond the old end is not touched until it has returned). `flush` may run beside any of
 * them, also beside another flush (when the disk's write cache is turned off by another thread). An
 * instance that has the operation `describe_queue` takes data operations on several threads at
 * once.
 */
#ifndef TCMU_EXT_BACKEND_H
#define TCMU_EXT_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <tcmu-ext/log.h>
#include <tcmu-ext/options.h>
#include <tcmu-ext/visibility.h>

TCMU_EXT_BEGIN_DECLS

/*
 * Option `cache`: what holds written data before it is durable. To a backend, write-back and
 * write-through are the same: whoever writes asks for durability with TCMU_EXT_IO_DURABLE.
 */
enum tcmu_ext_cache {
	TCMU_EXT_CACHE_WRITEBACK,    /* page cache; a flush makes writes durable */
	TCMU_EXT_CACHE_WRITETHROUGH, /* page cache; each write is durable when it completes */
	TCMU_EXT_CACHE_NONE,         /* O_DIRECT; a flush empties the device's own cache */
};

/* Option `create`: make the file when it does not exist. Never touches one that does. */
enum tcmu_ext_create {
	TCMU_EXT_CREATE_NO,
	TCMU_EXT_CREATE_SPARSE, /* no space allocated */
	TCMU_EXT_CREATE_FULL,   /* all space allocated at once */
};

/* Option `io`: who waits for the storage. It is the disk on a backend that goes by it. */
enum tcmu_ext_io_mode {
	TCMU_EXT_IO_MODE_INLINE, /* whoever executes a command: each ends before the next begins */
	TCMU_EXT_IO_MODE_AUTO,   /* the disk's engine, for commands that would wait */
	TCMU_EXT_IO_MODE_ASYNC,  /* the disk's engine, for everything on the medium */
};

/*
 * What the administrator asked for. Filled by tcmu_ext_backend_config_parse(); the fields below
 * the line are set by the caller afterwards.
 */
struct tcmu_ext_backend_config {
	size_t struct_bytes; /* sizeof(struct tcmu_ext_backend_config) */
	char *path;          /* unescaped, absolute (of `null`: any text); owned by the config */
	int cache;           /* enum tcmu_ext_cache */
	int read_only;       /* 0 or 1 */
	int lock;            /* 0 or 1: keep others from opening it */
	int create;          /* enum tcmu_ext_create */
	int io;              /* enum tcmu_ext_io_mode, for whoever makes the disk */
	/* -- set by the caller -- */
	uint64_t size_bytes;          /* what the LUN needs; the backing may be larger */
	uint32_t logical_block_bytes; /* of the LUN */
	/*
	 * 0 or 1: it was open in a process that may have been killed, and transfers that this
	 * process had queued may still be under way. They keep the backing locked although no
	 * process has it open. To open waits for them, up to ten seconds for each backend that
	 * is opened, and then fails with -EBUSY: it can be opened once the storage has carried them
	 * out. Without a lock nothing is waited for.
	 */
	int succeeds;
	struct tcmu_ext_log log;
};

/*
 * What an open instance is and can do. Read once after open; after a resize only the size is taken
 * anew. The library clears it and sets struct_bytes before it asks; a backend fills what it knows.
 */
struct tcmu_ext_backend_properties {
	size_t struct_bytes;                /* sizeof(struct tcmu_ext_backend_properties) */
	uint64_t size_bytes;                /* bytes there are now, never less than the LUN needs */
	uint32_t logical_block_bytes;       /* of which transfers must be multiples; 0, 1: any */
	uint32_t physical_block_bytes;      /* what the medium writes at once without a read */
	uint32_t physical_alignment_bytes;  /* offset of the first physical block */
	uint32_t optimal_transfer_bytes;    /* 0: nothing known */
	uint32_t discard_granularity_bytes; /* smallest range a discard frees; 0: no discard */
	uint32_t discard_alignment_bytes;   /* offset of the first such range */
	bool discard_reads_zero;            /* a discarded range reads as zeroes, always */
	bool read_only;                     /* writes are refused */
	bool rotational;                    /* seeks cost */
};

/* Flags of read, write and write_zeroes. */
enum {
	TCMU_EXT_IO_DURABLE = 1 << 0, /* write: on stable storage before it completes (FUA) */
	TCMU_EXT_IO_UNMAP = 1 << 1, /* write_zeroes may free the range if it then reads as zeroes */
	/*
	 * Read or write without waiting for a device: all of it and 0, or -EAGAIN when that is not
	 * possible right now, or -EOPNOTSUPP when the backing cannot tell. In both cases the
	 * buffers or the medium may hold part of it, but `iov` is as it was: the same call without
	 * the flag makes it whole. Given only to instances with the operation `describe_queue`, and
	 * never together with TCMU_EXT_IO_DURABLE.
	 */
	TCMU_EXT_IO_NOWAIT = 1 << 2,
};

/*
 * What a disk must know of an instance to have transfers of it queued in the kernel instead of
 * waiting for each. The library clears it and sets struct_bytes before it asks.
 */
struct tcmu_ext_backend_queue {
	size_t struct_bytes; /* sizeof(struct tcmu_ext_backend_queue) */
	/*
	 * A transfer of the same bytes at the same offset of this descriptor is what `read` and
	 * `write` do when nothing goes wrong. Negative: there is none.
	 */
	int descriptor;
	bool never_waits; /* memory: no read or write ever waits for a device */
	bool direct;      /* O_DIRECT: every read and write waits for the device */
	/*
	 * Nobody, not even a successor of this process, opens the backing while a transfer queued
	 * on the descriptor is under way: a lock or an exclusive claim goes with it.
	 */
	bool exclusive;
};

/* Allocation of a range, for GET LBA STATUS. */
enum tcmu_ext_allocation {
	TCMU_EXT_MAPPED,      /* holds data, or it is not known */
	TCMU_EXT_DEALLOCATED, /* holds none and reads as zeroes */
};

/* Which way zeroes were made, by number of write_zeroes and discard operations that ended that way.
 */
struct tcmu_ext_backend_counters {
	uint64_t punch_hole; /* fallocate(FALLOC_FL_PUNCH_HOLE) */
	uint64_t zero_range; /* fallocate(FALLOC_FL_ZERO_RANGE) */
	uint64_t blkzeroout; /* ioctl(BLKZEROOUT) */
	uint64_t blkdiscard; /* ioctl(BLKDISCARD) */
	uint64_t written;    /* zeroes were written */
};

/*
 * The operations. Those marked optional may be NULL. A table carries its size, so that a table
 * compiled against an older header stays valid: operations it does not know count as NULL.
 *
 * `iov` arrays handed to an operation hold exactly `bytes` bytes; the operation may change their
 * entries. `*done_bytes` is set in all cases, to the bytes transferred before an error.
 */
struct tcmu_ext_backend_operations {
	size_t struct_bytes; /* sizeof(struct tcmu_ext_backend_operations) */
	const char *name;

	/*
	 * Checks a configuration without opening or changing anything. May be called by any local
	 * user's request in a process that runs as root: stat at most, and never tell more than
	 * needed. Returns 0, or -errno with `*reason` set: a sentence the caller frees, NULL if
	 * memory ran out. Optional.
	 */
	int (*check)(const struct tcmu_ext_backend_config *config, char **reason);

	/*
	 * Opens. Returns 0 and sets `*instance`, or -errno after logging what is wrong and what to
	 * do. Must not take long (but see `succeeds`) and must leave nothing behind on failure.
	 */
	int (*open)(const struct tcmu_ext_backend_config *config, void **instance);
	void (*close)(void *instance);

	void (*describe)(void *instance, struct tcmu_ext_backend_properties *properties);

	/*
	 * Reads all of it; where a file ends early, zeroes. Takes no lock, and allocates nothing
	 * unless the buffer is not as the backing needs it. `flags`: TCMU_EXT_IO_NOWAIT.
	 */
	int (*read)(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
		    size_t bytes, unsigned int flags, size_t *done_bytes);
	/*
	 * Writes all of it; likewise. `flags`: TCMU_EXT_IO_DURABLE or TCMU_EXT_IO_NOWAIT. An error
	 * with all bytes done says that the data was written but could not be made durable: what
	 * was acknowledged before it may be lost too, so the disk treats that as a failed flush.
	 */
	int (*write)(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
		     size_t bytes, unsigned int flags, size_t *done_bytes);
	/* Makes every write completed before the call durable. */
	int (*flush)(void *instance);

	/*
	 * Makes the range read as zeroes. Without TCMU_EXT_IO_UNMAP its space stays allocated.
	 * Never -EOPNOTSUPP: where nothing better works, zeroes are written. Like a write they are
	 * durable after a flush. Optional: the disk then writes zeroes itself.
	 */
	int (*write_zeroes)(void *instance, uint64_t offset, uint64_t bytes, unsigned int flags);
	/*
	 * Gives back the space of a range, as far as the granularity allows. Afterwards all of the
	 * range reads as zeroes if discard_reads_zero, else as anything. Optional.
	 */
	int (*discard)(void *instance, uint64_t offset, uint64_t bytes);
	/*
	 * Says how the range that begins at `offset` is allocated and sets `*run_bytes` to how many
	 * of `bytes` bytes from there are the same: whole blocks of the LUN, at least one. Bounded
	 * time. Optional: all is then MAPPED.
	 */
	int (*allocation)(void *instance, uint64_t offset, uint64_t bytes, uint64_t *run_bytes,
			  enum tcmu_ext_allocation *allocation);
	/* Starts reading a range into the cache, without waiting. Optional. */
	int (*prefetch)(void *instance, uint64_t offset, uint64_t bytes);
	/*
	 * Makes room for `size_bytes`: checks that a device has grown, extends a file. The disk
	 * calls flush afterwards. Returns -EINVAL for less than there is in use, -ENOSPC when the
	 * backing is too small. On failure the size is as it was. Optional: the size found at open
	 * is then all there is.
	 */
	int (*resize)(void *instance, uint64_t size_bytes);
	/* Copies the counters. May run beside data operations. Optional. */
	void (*get_counters)(void *instance, struct tcmu_ext_backend_counters *counters);
	/*
	 * Says how transfers can be queued, and by being there that data operations may run on
	 * several threads at once. Optional: every command is then executed by its caller.
	 */
	void (*describe_queue)(void *instance, struct tcmu_ext_backend_queue *queue);
};

/* The built-in backends. */
TCMU_EXT_API extern const struct tcmu_ext_backend_operations tcmu_ext_backend_file;
TCMU_EXT_API extern const struct tcmu_ext_backend_operations tcmu_ext_backend_block;
TCMU_EXT_API extern const struct tcmu_ext_backend_operations tcmu_ext_backend_null;

/*
 * The options each built-in backend takes, for tcmu_ext_options_describe(). Value offsets are in
 * struct tcmu_ext_backend_config. `*count` is set to the number of options.
 */
TCMU_EXT_API const struct tcmu_ext_option *tcmu_ext_backend_options(
	const struct tcmu_ext_backend_operations *operations, size_t *count);

/*
 * Parses a configuration string for a built-in backend into `config`, which the caller later
 * releases with tcmu_ext_backend_config_clear(). Returns what tcmu_ext_options_parse() returns.
 */
TCMU_EXT_API int tcmu_ext_backend_config_parse(const struct tcmu_ext_backend_operations *operations,
					       const char *text,
					       struct tcmu_ext_backend_config *config,
					       char **reason);

/* Frees what a config owns and clears it. */
TCMU_EXT_API void tcmu_ext_backend_config_clear(struct tcmu_ext_backend_config *config);

/*
 * Whether a table has all that a backend needs: a name, open, close, describe, read, write and
 * flush. Returns 0, or -EINVAL when one is missing or `operations` is NULL. Calls none of them. Any
 * thread.
 */
TCMU_EXT_API int tcmu_ext_backend_operations_check(
	const struct tcmu_ext_backend_operations *operations);

struct tcmu_ext_backend;

/*
 * Opens a backend. `operations` and `config` are copied as far as they are needed. Returns 0 and an
 * instance that the caller closes (after the disk on it is destroyed), or -errno: what `open`
 * returned, -EINVAL when the table lacks a required operation, -ENOMEM.
 */
TCMU_EXT_API int tcmu_ext_backend_open(const struct tcmu_ext_backend_operations *operations,
				       const struct tcmu_ext_backend_config *config,
				       struct tcmu_ext_backend **backend);

/* Closes; NULL is allowed. No command may be running. */
TCMU_EXT_API void tcmu_ext_backend_close(struct tcmu_ext_backend *backend);

/* The properties, as they were at open but for the size, which follows resizes. Valid until close.
 */
TCMU_EXT_API const struct tcmu_ext_backend_properties *tcmu_ext_backend_properties(
	const struct tcmu_ext_backend *backend);

/* Copies the counters of an instance; all zero where the backend keeps none. `counters_bytes` is
 * sizeof(struct tcmu_ext_backend_counters). */
TCMU_EXT_API void tcmu_ext_backend_get_counters(const struct tcmu_ext_backend *backend,
						struct tcmu_ext_backend_counters *counters,
						size_t counters_bytes);

TCMU_EXT_END_DECLS

#endif
