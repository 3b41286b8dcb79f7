/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The LOGICAL BLOCK ADDRESS and length fields of a CDB, and the checks every command on blocks
 * makes. */
#ifndef DISK_RANGE_H
#define DISK_RANGE_H

#include "disk/disk.h"

struct range {
	uint64_t lba;
	uint32_t blocks;
};

/* The blocks a command may touch, for telling whether two get in each other's way. */
struct extent {
	uint64_t lba;
	uint64_t blocks; /* 0: none */
};

/* The least extent that holds both. */
struct extent extent_with(const struct tcmu_ext_disk *disk, struct extent extent,
			  struct range range);

/* What the address and length fields of the CDB say. */
struct extent extent_of_cdb(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command);

/*
 * Reads both fields where the CDB of this length has them (SBC-3 table 3). In a 6-byte CDB a length
 * of 0 means 256 blocks.
 */
struct range range_of_cdb(const uint8_t *cdb);

/* The byte at which the length field of a CDB begins, for field pointers. */
unsigned int range_length_byte(const uint8_t *cdb);

/* Whether the whole range lies on the medium. */
bool range_is_on_medium(const struct tcmu_ext_disk *disk, struct range range);

/*
 * Check a range that is transferred through the command's buffer: on the medium, no longer than
 * MAXIMUM TRANSFER LENGTH, and all of it in the buffer, which is shortened to just that. A data-in
 * buffer is cleared beyond it. Return GOOD, or CHECK CONDITION with sense data.
 */
enum tcmu_ext_status range_check_data_out(const struct tcmu_ext_disk *disk,
					  struct tcmu_ext_command *command, struct range range);
enum tcmu_ext_status range_check_data_in(const struct tcmu_ext_disk *disk,
					 struct tcmu_ext_command *command, struct range range);

/*
 * Shortens a data-out buffer to `bytes`; INVALID FIELD IN CDB, with a pointer to the length field,
 * when it holds less.
 */
enum tcmu_ext_status buffer_exactly(const struct tcmu_ext_disk *disk,
				    struct tcmu_ext_command *command, size_t bytes);

#endif
