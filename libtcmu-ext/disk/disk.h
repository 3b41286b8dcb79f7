/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What the disk's own files share. The interface to others is tcmu-ext/disk.h. */
#ifndef DISK_DISK_H
#define DISK_DISK_H

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

struct tcmu_ext_disk {
	struct tcmu_ext_backend *backend;
	unsigned int block_shift;
	uint32_t maximum_transfer_blocks;
	bool write_protect;
	uint8_t target_port_group_support;
	uint8_t task_management_functions;
	struct tcmu_ext_command_description *other_commands;
	size_t other_command_count;
	_Atomic uint64_t block_count;
	atomic_bool write_cache;                /* WCE */
	bool default_write_cache;               /* WCE of the default page */
	atomic_bool flush_failed;               /* stays until the backend is opened anew */
	bool software_write_protect;            /* SWP */
	bool descriptor_sense;                  /* D_SENSE */
	uint8_t first_row[256];                 /* of each operation code in the command table */
	struct tcmu_ext_disk_counters counters; /* stored by the executing thread only */
	struct log_limiter limiters[FAILURE_KINDS];
	struct tcmu_ext_log log;
	char vendor_identification[VENDOR_IDENTIFICATION_BYTES];
	char product_identification[PRODUCT_IDENTIFICATION_BYTES];
	char product_revision_level[PRODUCT_REVISION_LEVEL_BYTES];
	char unit_serial_number[UNIT_SERIAL_NUMBER_MAXIMUM_BYTES + 1];
	uint8_t *scratch;
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
	return disk->write_protect || disk->software_write_protect;
}

/* One thread stores, others may read: a plain load and store, but never torn. */
static inline void counter_add(uint64_t *counter, uint64_t amount)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + amount,
			 __ATOMIC_RELAXED);
}

/*
 * Makes completed writes durable, or repeats the failure of an earlier flush: once data that was
 * acknowledged may be lost, no later flush may say otherwise. Returns 0 or -errno.
 */
int disk_flush(struct tcmu_ext_disk *disk);

/* Makes every flush fail from now on, and says so once, because of `error`. */
void disk_flush_failed(struct tcmu_ext_disk *disk, int error);

#endif
