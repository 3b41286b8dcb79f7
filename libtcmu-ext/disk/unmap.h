/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* UNMAP: SBC-3 5.28. */
#ifndef DISK_UNMAP_H
#define DISK_UNMAP_H

#include "disk/disk.h"
#include "disk/range.h"

enum tcmu_ext_status execute_unmap(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command);

/* From the first block of any of its descriptors to the last. */
struct extent extent_of_unmap(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command);

#endif
