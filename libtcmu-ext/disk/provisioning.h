/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Logical block provisioning (SBC-3 4.7): what the backend can do, in the standard's terms, and the
 * limits on one command that keep the LUN responsive.
 */
#ifndef DISK_PROVISIONING_H
#define DISK_PROVISIONING_H

#include "disk/disk.h"

enum {
	/* Bound the time of one command: the bytes one of them may unmap or write in all. */
	MAXIMUM_UNMAP_BYTES = 1024 * 1024 * 1024,
	MAXIMUM_WRITE_SAME_BYTES = 256 * 1024 * 1024,
	MAXIMUM_UNMAP_DESCRIPTORS = 256,
	/* Both halves of the data of a COMPARE AND WRITE fit the scratch memory several times over.
	 */
	MAXIMUM_COMPARE_AND_WRITE_BYTES = 32 * 1024,
};

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
