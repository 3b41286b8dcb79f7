/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* PRE-FETCH (10) and (16): SBC-3 5.7 and 5.8. */
#ifndef DISK_PRE_FETCH_H
#define DISK_PRE_FETCH_H

#include "disk/disk.h"

/*
 * Begins to read the blocks into the cache. Answers GOOD rather than CONDITION MET, which would
 * promise that they all are there.
 */
enum tcmu_ext_status execute_pre_fetch(struct tcmu_ext_disk *disk,
				       struct tcmu_ext_command *command);

#endif
