/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * REPORT SUPPORTED OPERATION CODES: SPC-4 6.35, from the command table and the caller's own
 * commands. REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS: SPC-4 6.36.
 */
#ifndef DISK_REPORT_SUPPORTED_H
#define DISK_REPORT_SUPPORTED_H

#include "disk/disk.h"

enum tcmu_ext_status execute_report_supported_operation_codes(struct tcmu_ext_disk *disk,
							      struct tcmu_ext_command *command);
enum tcmu_ext_status execute_report_supported_task_management_functions(
	struct tcmu_ext_disk *disk, struct tcmu_ext_command *command);

#endif
