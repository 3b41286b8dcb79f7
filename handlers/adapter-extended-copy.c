/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "adapter.h"

#include <tcmu-ext/iovec.h>

/* What the runner answers to RECEIVE COPY RESULTS. */
static const struct tcmu_ext_copy_limits runner_limits = {
	.cscd_descriptors = 2,
	.segment_descriptors = 1,
	.descriptor_bytes = 1024,
};

enum { LIST_ID_USAGE = 0x18 };

/*
 * The runner takes only lists without identifier. What an identifier is for, asking for the state
 * of the copy, nobody offers; so a list loses it on the way.
 */
static void remove_list_identifier(const struct tcmu_ext_command *command)
{
	uint8_t header[2];

	tcmu_ext_iovec_gather(command->iov, command->iov_count, 0, header, sizeof(header));
	header[0] = 0;
	header[1] |= LIST_ID_USAGE;
	tcmu_ext_iovec_scatter(command->iov, command->iov_count, 0, header, sizeof(header));
}

enum tcmu_ext_status adapter_check_extended_copy(const struct tcmu_ext_disk *disk,
						 struct tcmu_ext_command *command)
{
	enum tcmu_ext_status status =
		tcmu_ext_disk_check_extended_copy(disk, command, &runner_limits);

	if (status == TCMU_EXT_STATUS_NOT_MINE)
		remove_list_identifier(command);
	return status;
}
