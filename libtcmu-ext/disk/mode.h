/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* MODE SENSE (6) and (10): SPC-4 6.13, 6.14. MODE SELECT (6) and (10): SPC-4 6.11, 6.12. */
#ifndef DISK_MODE_H
#define DISK_MODE_H

#include "disk/disk.h"

enum tcmu_ext_status execute_mode_sense(struct tcmu_ext_disk *disk,
					struct tcmu_ext_command *command);
enum tcmu_ext_status execute_mode_select(struct tcmu_ext_disk *disk,
					 struct tcmu_ext_command *command);

/* The mode parameter header (SPC-4 7.5.5) of a 6-byte or a 10-byte command. */
enum {
	MODE_HEADER_6_BYTES = 4,
	MODE_HEADER_10_BYTES = 8,
	SHORT_BLOCK_DESCRIPTOR_BYTES = 8,
	LONG_BLOCK_DESCRIPTOR_BYTES = 16,
	LONGLBA = 0x01,
};

static inline bool is_10_byte_mode_command(const struct tcmu_ext_command *command)
{
	return command->cdb[0] == TCMU_EXT_MODE_SENSE_10 ||
	       command->cdb[0] == TCMU_EXT_MODE_SELECT_10;
}

#endif
