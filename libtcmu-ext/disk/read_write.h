/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* READ and WRITE of all lengths, and the transfers other commands make of. */
#ifndef DISK_READ_WRITE_H
#define DISK_READ_WRITE_H

#include "disk/disk.h"
#include "disk/range.h"

/* READ (6), (10), (12), (16): SBC-3 5.10 to 5.13. */
enum tcmu_ext_status execute_read(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command);

/* WRITE (6), (10), (12), (16): SBC-3 5.32 to 5.35. */
enum tcmu_ext_status execute_write(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command);

/* FUA. The 6-byte commands have no such bit. */
bool wants_unit_access(const uint8_t *cdb);

/*
 * Transfers a range that has been checked between the backend and the command's buffer, which holds
 * just that much. `force_unit_access`: on the medium, not only in a cache. WOULD_BLOCK when it is
 * for the engine.
 */
enum tcmu_ext_status read_range(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				struct range range);
enum tcmu_ext_status write_range(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				 struct range range, bool force_unit_access);

/* Count a READ or WRITE that ended with `status`. */
void count_read(struct tcmu_ext_disk *disk, const struct tcmu_ext_command *command,
		struct range range, enum tcmu_ext_status status);
void count_write(struct tcmu_ext_disk *disk, const struct tcmu_ext_command *command,
		 struct range range, enum tcmu_ext_status status);

/*
 * Ends a command that changed the medium by other means than a WRITE: with the write cache off (or
 * FUA) it must be durable first.
 */
enum tcmu_ext_status finish_change(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				   bool force_unit_access);

#endif
