/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Commands that read the medium back: VERIFY (10), (12), (16), SBC-3 5.29 to 5.31; WRITE AND VERIFY
 * (10), (12), (16), SBC-3 5.37 to 5.39; COMPARE AND WRITE, SBC-3 5.2.
 */
#ifndef DISK_VERIFY_H
#define DISK_VERIFY_H

#include "disk/disk.h"

enum tcmu_ext_status execute_verify(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command);

/* The data is on the medium, not only in a cache, before it is verified. */
enum tcmu_ext_status execute_write_and_verify(struct tcmu_ext_disk *disk,
					      struct tcmu_ext_command *command);

/*
 * Atomic because one thread executes the commands of a disk, and because the engine keeps others
 * off the blocks meanwhile. A difference changes nothing.
 */
enum tcmu_ext_status execute_compare_and_write(struct tcmu_ext_disk *disk,
					       struct tcmu_ext_command *command);

#endif
