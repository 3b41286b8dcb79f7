/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Logical block provisioning (SBC-3 4.7): what the backend can do, in the standard's terms, and the
 * limits on one command that keep the LUN responsive.
 */
#ifndef DISK_PROVISIONING_H
#define DISK_PROVISIONING_H

#include "disk/disk.h"

enum { MAXIMUM_UNMAP_DESCRIPTORS = 256 };

/* The block limits below bound the time of one command, whatever is under the backend. */

static inline uint32_t maximum_unmap_blocks(const struct tcmu_ext_disk *disk)
{
	return (UINT32_C(1) << 29) >> disk->block_shift;
}

/* Where the backing cannot zero a range by itself, all of it is written. */
static inline uint32_t maximum_write_same_blocks(const struct tcmu_ext_disk *disk)
{
	return (UINT32_C(1) << 24) >> disk->block_shift;
}

/* Of a VERIFY that transfers no data; the standard has no field that would tell the initiator. */
static inline uint32_t maximum_verify_blocks(const struct tcmu_ext_disk *disk)
{
	return (UINT32_C(1) << 28) >> disk->block_shift;
}

static inline uint8_t maximum_compare_and_write_blocks(const struct tcmu_ext_disk *disk)
{
	return (uint8_t)((SCRATCH_BYTES / 4) >> disk->block_shift);
}

static inline bool provisioning_can_unmap(const struct tcmu_ext_disk *disk)
{
	const struct tcmu_ext_backend *backend = disk->backend;

	return backend->operations.discard && backend->properties.discard_granularity_bytes &&
	       !backend->properties.read_only;
}

static inline bool provisioning_unmapped_reads_zero(const struct tcmu_ext_disk *disk)
{
	return provisioning_can_unmap(disk) && disk->backend->properties.discard_reads_zero;
}

#endif
