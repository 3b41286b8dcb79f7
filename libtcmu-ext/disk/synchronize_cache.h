/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* SYNCHRONIZE CACHE (10) and (16): SBC-3 5.24 and 5.25. */
#ifndef DISK_SYNCHRONIZE_CACHE_H
#define DISK_SYNCHRONIZE_CACHE_H

#include "disk/disk.h"

/*
 * The whole cache is flushed whatever the range, and before status is returned even with IMMED: the
 * standard allows both, and a status sent early could not report the failure.
 */
enum tcmu_ext_status execute_synchronize_cache(struct tcmu_ext_disk *disk,
					       struct tcmu_ext_command *command);

#endif
