/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* WRITE SAME (10) and (16): SBC-3 5.43 and 5.44. */
#ifndef DISK_WRITE_SAME_H
#define DISK_WRITE_SAME_H

#include "disk/disk.h"

/*
 * The blocks hold the given data afterwards whatever their alignment. With UNMAP and zeroes their
 * space is given back where that makes them read as zeroes; without UNMAP it stays allocated.
 */
enum tcmu_ext_status execute_write_same(struct tcmu_ext_disk *disk,
					struct tcmu_ext_command *command);

#endif
