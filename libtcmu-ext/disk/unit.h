/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Commands about the logical unit as such: TEST UNIT READY, REQUEST SENSE, START STOP UNIT. */
#ifndef DISK_UNIT_H
#define DISK_UNIT_H

#include "disk/disk.h"

/* SPC-4 6.47. */
enum tcmu_ext_status execute_test_unit_ready(struct tcmu_ext_disk *disk,
					     struct tcmu_ext_command *command);

/* SPC-4 6.39. Sense data goes out with the status it belongs to, so there is never any left to ask
 * for. */
enum tcmu_ext_status execute_request_sense(struct tcmu_ext_disk *disk,
					   struct tcmu_ext_command *command);

/* SBC-3 5.23. The unit is always started; it refuses to stop and to load. Changing the power
 * condition is no field of its row. */
enum tcmu_ext_status execute_start_stop_unit(struct tcmu_ext_disk *disk,
					     struct tcmu_ext_command *command);

#endif
