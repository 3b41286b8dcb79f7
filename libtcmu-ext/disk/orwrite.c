/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/orwrite.h"

#include <tcmu-ext/iovec.h>

#include "disk/medium.h"
#include "disk/outcome.h"
#include "disk/read_write.h"

static enum tcmu_ext_status or_chunk(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				     struct range chunk, size_t offset)
{
	size_t bytes = (size_t)chunk.blocks << disk->block_shift;
	uint8_t *memory = scratch_first_half(disk, command);
	uint8_t *operand = scratch_second_half(disk, command);
	enum tcmu_ext_status status = medium_read(disk, command, chunk, memory);

	if (status != TCMU_EXT_STATUS_GOOD)
		return status;
	tcmu_ext_iovec_gather(command->iov, command->iov_count, offset, operand, bytes);
	for (size_t i = 0; i < bytes; i++)
		memory[i] |= operand[i];
	return medium_write(disk, command, chunk, memory, wants_unit_access(command->cdb));
}

enum tcmu_ext_status execute_orwrite(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command)
{
	struct range range = range_of_cdb(command->cdb);
	enum tcmu_ext_status status = range_check_data_out(disk, command, range);
	size_t offset = 0;

	while (range.blocks && status == TCMU_EXT_STATUS_GOOD) {
		struct range chunk = scratch_chunk(disk, range);

		status = or_chunk(disk, command, chunk, offset);
		offset += (size_t)chunk.blocks << disk->block_shift;
		range = range_after(range, chunk.blocks);
	}
	return status;
}
