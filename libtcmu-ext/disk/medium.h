/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Transfers between the medium and the disk's scratch memory, for commands that compare data with
 * the medium or compute what they write. The scratch memory is used in two halves.
 */
#ifndef DISK_MEDIUM_H
#define DISK_MEDIUM_H

#include "disk/lane.h"
#include "disk/range.h"

enum { SCRATCH_HALF_BYTES = SCRATCH_BYTES / 2 };

static inline uint8_t *scratch_first_half(struct tcmu_ext_disk *disk,
					  const struct tcmu_ext_command *command)
{
	return lane_of(disk, command)->scratch;
}

static inline uint8_t *scratch_second_half(struct tcmu_ext_disk *disk,
					   const struct tcmu_ext_command *command)
{
	return lane_of(disk, command)->scratch + SCRATCH_HALF_BYTES;
}

/* The first blocks of a range that fit half the scratch memory. */
struct range scratch_chunk(const struct tcmu_ext_disk *disk, struct range range);

/* What is left of a range without its first `blocks` blocks. */
struct range range_after(struct range range, uint32_t blocks);

/*
 * Reads a chunk into `memory`, or writes it from there, durably if so asked. Returns GOOD, or the
 * status with sense data for the block that failed.
 */
enum tcmu_ext_status medium_read(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				 struct range chunk, uint8_t *memory);
enum tcmu_ext_status medium_write(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				  struct range chunk, uint8_t *memory, bool force_unit_access);

#endif
