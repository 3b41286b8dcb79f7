/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* INQUIRY: SPC-4 6.4, and the vital product data pages of SPC-4 7.8 and SBC-3 6.6. */
#ifndef DISK_INQUIRY_H
#define DISK_INQUIRY_H

#include "disk/disk.h"

/* Page 83h ends as NOT_MINE: whoever names the LUN knows its designators. */
enum tcmu_ext_status execute_inquiry(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command);

/* A vital product data page: the parts of execute_inquiry() that vital_product_data.c answers. */
enum tcmu_ext_status answer_vital_product_data(struct tcmu_ext_disk *disk,
					       struct tcmu_ext_command *command);

#endif
