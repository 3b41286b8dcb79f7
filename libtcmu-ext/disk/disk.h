/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What the disk's own files share. The interface to others is tcmu-ext/disk.h. */
#ifndef DISK_DISK_H
#define DISK_DISK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tcmu-ext/disk.h>

#include "backend/backend.h"
#include "plumbing/log.h"

enum {
	VENDOR_IDENTIFICATION_BYTES = 8,
	PRODUCT_IDENTIFICATION_BYTES = 16,
	PRODUCT_REVISION_LEVEL_BYTES = 4,
	UNIT_SERIAL_NUMBER_MAXIMUM_BYTES = 252,
	/* Working memory of commands that compare or rewrite; a multiple of every block size. */
	SCRATCH_BYTES = 128 * 1024,
};

/* The kinds of failure that are logged once and then sparingly. */
enum failure_kind {
	FAILURE_READ,
	FAILURE_WRITE,
	FAILURE_SPACE,
	FAILURE_WRITE_PROTECTED,
	FAILURE_FLUSH,
	FAILURE_GONE,
	FAILURE_BUSY,
	FAILURE_INTERNAL,
	FAILURE_KINDS,
};

struct tcmu_ext_lane {
	struct tcmu_ext_disk_counters counters; /* stored by the lane's thread only */
	uint8_t *scratch;
	/* How the durable write that is executed now failed in the engine's queue; 0: it did not.
	 */
	int durable_write_error;
};

/* When a transfer may be executed by the disk's caller, where there is an engine; see admission.h.
 */
enum admission {
	ADMIT_ALWAYS,   /* it waits for nothing */
	ADMIT_NOWAIT,   /* when the backend finds that it need not wait */
	ADMIT_UNLIKELY, /* the same, but the backend cannot tell: when it hardly will */
	ADMIT_ALONE,    /* when it keeps no other command waiting */
	ADMIT_NEVER,
};

struct engine;

struct tcmu_ext_disk {
	struct tcmu_ext_backend *backend;
	struct engine *engine; /* NULL: every command is executed by the caller */
	enum admission read_admission;
	enum admission write_admission;
	bool direct; /* the backend bypasses the page cache */
	unsigned int block_shift;
	uint32_t maximum_transfer_blocks;
	bool write_protect;
	uint8_t target_port_group_support;
	uint8_t task_management_functions;
	struct tcmu_ext_command_description *other_commands;
	size_t other_command_count;
	_Atomic uint64_t block_count;
	atomic_bool write_cache;            /* WCE */
	bool default_write_cache;           /* WCE of the default page */
	atomic_bool flush_failed;           /* stays until the backend is opened anew */
	atomic_bool software_write_protect; /* SWP */
	atomic_bool descriptor_sense;       /* D_SENSE */
	uint8_t first_row[256];             /* of each operation code in the command table */
	struct tcmu_ext_lane lane;          /* of the disk's caller */
	struct tcmu_ext_lane *engine_lanes; /* of the engine's threads */
	/*
	 * The page cache tells of a write it lost to one caller only, whichever asks first: no
	 * flush and no durable write may end well while another thread has been told and has not
	 * yet latched it. Held during each of them.
	 */
	pthread_mutex_t flush_lock;
	atomic_uint flush_waiters;
	_Atomic uint64_t flushes_begun;
	uint64_t last_good_flush; /* its number; with flush_lock held */
	struct log_limiter limiters[FAILURE_KINDS];
	struct tcmu_ext_log log;
	char vendor_identification[VENDOR_IDENTIFICATION_BYTES];
	char product_identification[PRODUCT_IDENTIFICATION_BYTES];
	char product_revision_level[PRODUCT_REVISION_LEVEL_BYTES];
	char unit_serial_number[UNIT_SERIAL_NUMBER_MAXIMUM_BYTES + 1];
};

static inline uint32_t disk_block_bytes(const struct tcmu_ext_disk *disk)
{
	return UINT32_C(1) << disk->block_shift;
}

static inline uint64_t disk_block_count(const struct tcmu_ext_disk *disk)
{
	return atomic_load_explicit(&disk->block_count, memory_order_acquire);
}

/* Whether writes are refused: by the backing, the configuration or the SWP bit. */
static inline bool disk_is_write_protected(const struct tcmu_ext_disk *disk)
{
	return disk->write_protect ||
	       atomic_load_explicit(&disk->software_write_protect, memory_order_relaxed);
}

/*
 * Makes completed writes durable, or repeats the failure of an earlier flush: once data that was
 * acknowledged may be lost, no later flush may say otherwise. Returns 0 or -errno.
 */
int disk_flush(struct tcmu_ext_disk *disk);

/* Makes every flush fail from now on, and says so once, because of `error`. */
void disk_flush_failed(struct tcmu_ext_disk *disk, int error);

#endif
