/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* READ CAPACITY (10) and (16): SBC-3 5.15 and 5.16. */
#ifndef DISK_CAPACITY_H
#define DISK_CAPACITY_H

#include "disk/disk.h"

enum tcmu_ext_status execute_read_capacity_10(struct tcmu_ext_disk *disk,
					      struct tcmu_ext_command *command);
enum tcmu_ext_status execute_read_capacity_16(struct tcmu_ext_disk *disk,
					      struct tcmu_ext_command *command);

#endif
