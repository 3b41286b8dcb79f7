/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/pre_fetch.h"

#include "disk/outcome.h"
#include "disk/range.h"

enum tcmu_ext_status execute_pre_fetch(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command)
{
	struct tcmu_ext_backend *backend = disk->backend;
	struct range range = range_of_cdb(command->cdb);

	if (!range_is_on_medium(disk, range))
		return address_out_of_range(disk, command);
	/* A length of 0 means the rest of the medium (SBC-3 5.7). */
	if (!range.blocks) {
		uint64_t rest = disk_block_count(disk) - range.lba;

		range.blocks = rest > UINT32_MAX ? UINT32_MAX : (uint32_t)rest;
	}
	/* A hint: when it cannot be followed, the read that comes later will tell why. */
	if (range.blocks && backend->operations.prefetch)
		backend->operations.prefetch(backend->instance, range.lba << disk->block_shift,
					     (uint64_t)range.blocks << disk->block_shift);
	return TCMU_EXT_STATUS_GOOD;
}
