/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* ORWRITE (16): SBC-3 5.6. Writes the OR of the medium and the data-out buffer. */
#ifndef DISK_ORWRITE_H
#define DISK_ORWRITE_H

#include "disk/disk.h"

enum tcmu_ext_status execute_orwrite(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command);

#endif
