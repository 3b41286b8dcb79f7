/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* GET LBA STATUS: SBC-3 5.3, from the backend's allocation map. */
#ifndef DISK_LBA_STATUS_H
#define DISK_LBA_STATUS_H

#include "disk/disk.h"

enum tcmu_ext_status execute_get_lba_status(struct tcmu_ext_disk *disk,
					    struct tcmu_ext_command *command);

#endif
