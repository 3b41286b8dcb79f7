/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The disk: a direct-access block device (SBC-3, SPC-4) on a backend. It takes a CDB, a scattered
 * data buffer and room for sense data, executes the command and answers a SAM status. It knows
 * nothing of tcmu-runner, of TCMU, or of any loop.
 *
 * tcmu_ext_disk_execute() ends a command before it returns. A disk made with
 * TCMU_EXT_IO_MODE_AUTO or TCMU_EXT_IO_MODE_ASYNC leaves those that would wait for the storage to
 * its engine: they are handed to tcmu_ext_disk_submit(), which returns at once, and a thread of the
 * engine calls their completion function. Commands on overlapping blocks then still take effect in
 * the order they came, unless both only read.
 *
 * What it advertises (mode pages, vital product data, REPORT SUPPORTED OPERATION CODES) is what it
 * does: one table of commands drives dispatch, the field checks and the report.
 *
 * Threads: the commands of one disk are executed and submitted by one thread at a time.
 * tcmu_ext_disk_resize(), tcmu_ext_disk_set_write_cache(), tcmu_ext_disk_get_counters() and, where
 * there is an engine, tcmu_ext_disk_submit_read() and tcmu_ext_disk_submit_write() may be called by
 * other threads meanwhile. COMPARE AND WRITE and whatever else reads and writes the same blocks in
 * one command is atomic against all other commands, on the engine too. Different disks are
 * independent of one another: the library has no global state.
 *
 * The threads of an engine inherit what the thread that makes the disk, or later submits to it,
 * passes on to its children (PR_SET_IO_FLUSHER, scheduling, a mount namespace). They block all
 * signals.
 */
#ifndef TCMU_EXT_DISK_H
#define TCMU_EXT_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <tcmu-ext/backend.h>
#include <tcmu-ext/log.h>
#include <tcmu-ext/scsi.h>
#include <tcmu-ext/sense.h>
#include <tcmu-ext/visibility.h>

TCMU_EXT_BEGIN_DECLS

struct tcmu_ext_disk;

/* One command, as REPORT SUPPORTED OPERATION CODES describes it (SPC-4 6.35). */
struct tcmu_ext_command_description {
	uint8_t operation_code;
	bool has_service_action; /* in the low five bits of CDB byte 1 */
	uint8_t service_action;
	uint8_t cdb_bytes;
	/* CDB USAGE DATA: the bits that mean something, from byte 1 on. */
	uint8_t usage[16];
};

struct tcmu_ext_disk_config {
	size_t struct_bytes;               /* sizeof(struct tcmu_ext_disk_config) */
	uint64_t size_bytes;               /* rounded down to whole logical blocks */
	uint32_t logical_block_bytes;      /* 512, 1024, 2048 or 4096 */
	uint32_t maximum_transfer_blocks;  /* of one READ or WRITE; 0: 1 MiB worth */
	bool write_cache;                  /* initial WCE; false makes every write durable (FUA) */
	bool write_protect;                /* besides what the backend says */
	uint8_t target_port_group_support; /* TPGS of standard INQUIRY data, 0 to 3 (SPC-4 6.4.2) */
	/*
	 * Byte 0 of what REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS returns: which of them whoever
	 * delivers commands to this disk carries out (ABORT TASK 80h, LOGICAL UNIT RESET 08h, …).
	 */
	uint8_t task_management_functions;
	/*
	 * Commands that somebody else answers for this LUN, to be reported with the disk's own.
	 * With EXTENDED COPY (83h) among them, INQUIRY data has 3PC set.
	 */
	const struct tcmu_ext_command_description *other_commands;
	size_t other_command_count;
	const char *vendor_identification;  /* at most 8 characters; NULL: "TCMU-EXT" */
	const char *product_identification; /* at most 16 characters; NULL: the backend's name */
	const char *product_revision_level; /* at most 4 characters; NULL: the library's version */
	const char *unit_serial_number;     /* NULL or empty: VPD page 80h is NOT_MINE */
	/* Other than INLINE only with a backend that has the operation `describe_queue`. */
	enum tcmu_ext_io_mode io;
	struct tcmu_ext_log log;
};

/*
 * Whether a disk can be made so at all: what tcmu_ext_disk_create() checks that does not depend on
 * the backend. To be called before a backend is opened that would make a file. Returns 0, or
 * -EINVAL (the log says why). Any thread.
 */
TCMU_EXT_API int tcmu_ext_disk_config_check(const struct tcmu_ext_disk_config *config);

/*
 * Makes a disk on `backend`, which must outlive it. Strings are copied. Returns 0; -EINVAL when the
 * configuration is wrong or does not fit the backend (the log says why) or when its struct_bytes is
 * smaller than this library's (nothing is said); -ENOMEM.
 */
TCMU_EXT_API int tcmu_ext_disk_create(struct tcmu_ext_backend *backend,
				      const struct tcmu_ext_disk_config *config,
				      struct tcmu_ext_disk **disk);

/*
 * Frees a disk, after the commands that were submitted to it have ended and their completion
 * functions have returned; NULL is allowed. No other command may be running. Flushes nothing:
 * writes that were not followed by SYNCHRONIZE CACHE are as durable as the cache mode says.
 */
TCMU_EXT_API void tcmu_ext_disk_destroy(struct tcmu_ext_disk *disk);

/*
 * Waits until the commands that were submitted have ended and their completion functions have
 * returned. Called by one thread at a time, while none submits another command, and by no
 * completion function.
 */
TCMU_EXT_API void tcmu_ext_disk_drain(struct tcmu_ext_disk *disk);

/* Flags of a command. */
enum {
	/*
	 * No other command is waiting, and none is likely to come while this one executes: then a
	 * transfer that waits for the storage keeps nobody waiting, and is quicker without the
	 * engine.
	 */
	TCMU_EXT_COMMAND_ALONE = 1 << 0,
};

struct tcmu_ext_lane;

/*
 * One command. The caller owns the memory it points to. The disk may change the entries of `iov`
 * while it executes and leaves them in no particular state, unless it returns NOT_MINE or
 * WOULD_BLOCK: then what the array holds is as it was, up to the length the command uses. What the
 * caller does not set is 0. Unlike the other structs it carries no size, which nobody would want to
 * be looked at for each command: it grows only together with the library's soname.
 */
struct tcmu_ext_command {
	const uint8_t *cdb;
	size_t cdb_bytes;  /* bytes readable at cdb */
	struct iovec *iov; /* data-in or data-out buffer */
	size_t iov_count;
	uint8_t *sense;     /* written in full on CHECK CONDITION */
	size_t sense_bytes; /* TCMU_EXT_SENSE_BYTES holds every sense */
	unsigned int flags; /* TCMU_EXT_COMMAND_… */
	/*
	 * How a submitted command ends: called once, on any thread, also before the function that
	 * submits returns. From then on the library touches nothing of the caller's. It may submit
	 * reads and writes, but must not destroy the disk. `context` and `caller_command` are the
	 * caller's own.
	 */
	void (*complete)(void *context, void *caller_command, enum tcmu_ext_status status);
	void *context;
	void *caller_command;
	struct tcmu_ext_lane *lane; /* the library's own: NULL */
	/*
	 * Set to 0 by the caller. When tcmu_ext_disk_execute() returns GOOD: how many bytes at the
	 * beginning of a data-in buffer are the answer, for the residual count (SAM-5 5.1); 0: the
	 * whole buffer, or none is needed.
	 */
	size_t data_in_bytes;
};

/*
 * Executes one command and returns its status (SAM-5 5.3.1): GOOD; CHECK CONDITION with sense data;
 * BUSY or TASK SET FULL when it should be tried again; TCMU_EXT_STATUS_NOT_MINE for an operation
 * code the disk leaves to its caller (VPD page 83h is one: the identity belongs to whoever names
 * the LUN); or, from a disk with an engine, TCMU_EXT_STATUS_WOULD_BLOCK for a command that is to be
 * submitted.
 *
 * A data-in buffer longer than the answer is cleared beyond it. The CDB and the buffers may hold
 * anything: nothing outside `iov` is written.
 *
 * On a READ or WRITE that succeeds nothing is logged and no clock is read; nothing is allocated,
 * unless a backend with O_DIRECT must align the buffer first. What must be durable (FUA, or the
 * write cache is off) takes the lock of flushes, and waits for one under way. Where there is an
 * engine with unfinished commands that may be in the way (changes for a READ, any for a WRITE), its
 * mutex is locked once, which no thread holds while it executes or completes a command. Nothing
 * else is locked.
 */
TCMU_EXT_API enum tcmu_ext_status tcmu_ext_disk_execute(struct tcmu_ext_disk *disk,
							struct tcmu_ext_command *command);

/*
 * Has the engine execute a command for which tcmu_ext_disk_execute() returned WOULD_BLOCK, and
 * returns; the command's completion function gets the status. The struct is copied, what it points
 * to must stay until then. Waits only while more commands are under way than the engine holds
 * (1024). On a disk without an engine the command is executed and completed before this returns.
 */
TCMU_EXT_API void tcmu_ext_disk_submit(struct tcmu_ext_disk *disk,
				       const struct tcmu_ext_command *command);

/* Whether the disk has an engine, so that tcmu_ext_disk_execute() may return WOULD_BLOCK. */
TCMU_EXT_API bool tcmu_ext_disk_has_engine(const struct tcmu_ext_disk *disk);

/* Whether TCMU_EXT_COMMAND_ALONE makes a difference to this disk. */
TCMU_EXT_API bool tcmu_ext_disk_heeds_alone(const struct tcmu_ext_disk *disk);

/*
 * Ends a command nobody implements: writes ILLEGAL REQUEST, INVALID COMMAND OPERATION CODE and
 * returns CHECK CONDITION.
 */
TCMU_EXT_API enum tcmu_ext_status tcmu_ext_command_refuse_opcode(const struct tcmu_ext_disk *disk,
								 struct tcmu_ext_command *command);

/* What a caller that carries out EXTENDED COPY says it can (RECEIVE COPY RESULTS, SPC-4 6.20.4). */
struct tcmu_ext_copy_limits {
	unsigned int cscd_descriptors;
	unsigned int segment_descriptors;
	size_t descriptor_bytes; /* of both kinds together */
};

/* The most that descriptor_bytes may be. */
#define TCMU_EXT_COPY_DESCRIPTORS_MAXIMUM_BYTES 1024

/*
 * Checks an EXTENDED COPY with a LID1 parameter list (SPC-4 6.4), for a caller that copies from
 * block device to block device, with identification descriptors, and within this disk only. Returns
 * CHECK CONDITION with sense data for what is wrong with it; GOOD when nothing is to be copied;
 * else NOT_MINE: then the list is whole, the indexes of its segment descriptors are those of CSCD
 * descriptors, and all blocks they name are on the medium. What the CSCD descriptors identify, the
 * caller finds out. On any thread; changes nothing.
 */
TCMU_EXT_API enum tcmu_ext_status tcmu_ext_disk_check_extended_copy(
	const struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
	const struct tcmu_ext_copy_limits *limits);

/*
 * Plain access for a caller that emulates further commands (EXTENDED COPY, say) on the disk. The
 * same rules as READ, WRITE and SYNCHRONIZE CACHE: range checks, write protection, write cache,
 * errors as sense data in `command` (whose cdb is not looked at). `offset` and `bytes` are bytes.
 * With an engine, reads and writes are submitted by the functions further below.
 */
TCMU_EXT_API enum tcmu_ext_status tcmu_ext_disk_read(struct tcmu_ext_disk *disk,
						     struct tcmu_ext_command *command,
						     uint64_t offset, size_t bytes);
TCMU_EXT_API enum tcmu_ext_status tcmu_ext_disk_write(struct tcmu_ext_disk *disk,
						      struct tcmu_ext_command *command,
						      uint64_t offset, size_t bytes);
TCMU_EXT_API enum tcmu_ext_status tcmu_ext_disk_flush(struct tcmu_ext_disk *disk,
						      struct tcmu_ext_command *command);

/*
 * The same reads and writes on the engine, by any thread; `command` as for tcmu_ext_disk_submit().
 * While one has not ended, or its completion function has not returned, tcmu_ext_disk_execute()
 * leaves every READ and WRITE to the engine, which keeps all of them in order: also with those of a
 * chain that begins on the thread that executes commands and goes on from completion functions.
 * These allocate memory; TASK SET FULL when there is none.
 */
TCMU_EXT_API void tcmu_ext_disk_submit_read(struct tcmu_ext_disk *disk,
					    const struct tcmu_ext_command *command, uint64_t offset,
					    size_t bytes);
TCMU_EXT_API void tcmu_ext_disk_submit_write(struct tcmu_ext_disk *disk,
					     const struct tcmu_ext_command *command,
					     uint64_t offset, size_t bytes);

/*
 * Grows the disk to `size_bytes`, after the backend has made sure of the room. The same size is
 * accepted and does nothing. Returns 0, -EINVAL for a smaller size, or the backend's error, be
 * it that of the flush after it; on failure the disk keeps its size. Raising the unit attention
 * (SBC-3 4.10) is the caller's part.
 */
TCMU_EXT_API int tcmu_ext_disk_resize(struct tcmu_ext_disk *disk, uint64_t size_bytes);

/*
 * Turns the write cache on or off, as MODE SELECT of the caching page would. Turning it off flushes
 * first and fails with that error; every write after it is durable when it completes.
 */
TCMU_EXT_API int tcmu_ext_disk_set_write_cache(struct tcmu_ext_disk *disk, bool enabled);
TCMU_EXT_API bool tcmu_ext_disk_get_write_cache(const struct tcmu_ext_disk *disk);

/* What a disk has done since it was made. Commands count when they end. */
struct tcmu_ext_disk_counters {
	uint64_t commands; /* of every kind */
	uint64_t check_conditions;
	uint64_t read_commands;
	uint64_t read_bytes;
	uint64_t write_commands;
	uint64_t write_bytes;
	uint64_t flush_commands;
};

/* Copies the counters; `counters_bytes` is sizeof(struct tcmu_ext_disk_counters). Those that this
 * library does not know are 0. */
TCMU_EXT_API void tcmu_ext_disk_get_counters(const struct tcmu_ext_disk *disk,
					     struct tcmu_ext_disk_counters *counters,
					     size_t counters_bytes);

TCMU_EXT_END_DECLS

#endif
