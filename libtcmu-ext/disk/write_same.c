/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/write_same.h"

#include <string.h>

#include <tcmu-ext/iovec.h>

#include "disk/medium.h"
#include "disk/outcome.h"
#include "disk/provisioning.h"
#include "disk/read_write.h"

enum {
	ANCHOR = 0x10,
	ANCHOR_BIT = 4,
	UNMAP = 0x08,
	UNMAP_BIT = 3,
	NDOB = 0x01,
	/* One write repeats the scratch memory this many times. */
	REPETITIONS = 8,
};

static bool has_no_data_out_buffer(const uint8_t *cdb)
{
	return cdb[0] == TCMU_EXT_WRITE_SAME_16 && (cdb[1] & NDOB);
}

static enum tcmu_ext_status check_flags(const struct tcmu_ext_disk *disk,
					struct tcmu_ext_command *command)
{
	uint8_t flags = command->cdb[1];

	/* ANC_SUP is 0: blocks cannot be anchored. */
	if (flags & ANCHOR)
		return invalid_field_in_cdb(disk, command, 1, ANCHOR_BIT);
	if ((flags & UNMAP) && !provisioning_can_unmap(disk))
		return invalid_field_in_cdb(disk, command, 1, UNMAP_BIT);
	return TCMU_EXT_STATUS_GOOD;
}

static enum tcmu_ext_status check_range(const struct tcmu_ext_disk *disk,
					struct tcmu_ext_command *command, struct range range)
{
	/* WSNZ is 1: a length of 0 does not mean the rest of the medium. */
	if (!range.blocks)
		return invalid_field_in_cdb(disk, command, range_length_byte(command->cdb), -1);
	if (!range_is_on_medium(disk, range))
		return address_out_of_range(disk, command);
	if (range.blocks > maximum_write_same_blocks(disk))
		return invalid_field_in_cdb(disk, command, range_length_byte(command->cdb), -1);
	if (has_no_data_out_buffer(command->cdb))
		return TCMU_EXT_STATUS_GOOD;
	/* More data than the one block says that the initiator meant another command. */
	if (tcmu_ext_iovec_bytes(command->iov, command->iov_count) > disk_block_bytes(disk))
		return invalid_field_in_cdb(disk, command, range_length_byte(command->cdb), -1);
	return buffer_exactly(disk, command, disk_block_bytes(disk));
}

/* Fills the scratch memory with the block to be written over and over. */
static void fill_scratch(const struct tcmu_ext_disk *disk, const struct tcmu_ext_command *command,
			 uint8_t *scratch)
{
	size_t filled = disk_block_bytes(disk);

	if (has_no_data_out_buffer(command->cdb)) {
		memset(scratch, 0, SCRATCH_BYTES);
		return;
	}
	tcmu_ext_iovec_gather(command->iov, command->iov_count, 0, scratch, filled);
	for (; filled < SCRATCH_BYTES; filled *= 2)
		memcpy(scratch + filled, scratch, filled);
}

/* Points entries at the scratch memory until they hold `bytes`, at most REPETITIONS of it. */
static size_t repeat_scratch(uint8_t *scratch, struct iovec *iov, size_t bytes, size_t *iov_count)
{
	size_t total = 0;

	for (*iov_count = 0; *iov_count < REPETITIONS && total < bytes; (*iov_count)++) {
		size_t part = bytes - total < SCRATCH_BYTES ? bytes - total : SCRATCH_BYTES;

		iov[*iov_count] = (struct iovec){ scratch, part };
		total += part;
	}
	return total;
}

static enum tcmu_ext_status write_repeatedly(struct tcmu_ext_disk *disk,
					     struct tcmu_ext_command *command, struct range range)
{
	uint8_t *scratch = scratch_first_half(disk, command);
	enum tcmu_ext_status status = TCMU_EXT_STATUS_GOOD;

	fill_scratch(disk, command, scratch);
	while (range.blocks && status == TCMU_EXT_STATUS_GOOD) {
		struct iovec iov[REPETITIONS];
		struct tcmu_ext_command inner = *command;
		struct range chunk = range;
		size_t bytes = repeat_scratch(
			scratch, iov, (size_t)range.blocks << disk->block_shift, &inner.iov_count);

		inner.iov = iov;
		chunk.blocks = (uint32_t)(bytes >> disk->block_shift);
		status = write_range(disk, &inner, chunk, false);
		range = range_after(range, chunk.blocks);
	}
	return status;
}

static enum tcmu_ext_status write_zeroes(struct tcmu_ext_disk *disk,
					 struct tcmu_ext_command *command, struct range range)
{
	struct tcmu_ext_backend *backend = disk->backend;
	unsigned int flags = command->cdb[1] & UNMAP ? TCMU_EXT_IO_UNMAP : 0;
	int error;

	if (!backend->operations.write_zeroes)
		return write_repeatedly(disk, command, range);
	error = backend->operations.write_zeroes(backend->instance, range.lba << disk->block_shift,
						 (uint64_t)range.blocks << disk->block_shift,
						 flags);
	if (error)
		return write_failure(disk, command, error, range.lba);
	return finish_change(disk, command, false);
}

enum tcmu_ext_status execute_write_same(struct tcmu_ext_disk *disk,
					struct tcmu_ext_command *command)
{
	struct range range = range_of_cdb(command->cdb);
	enum tcmu_ext_status status = check_flags(disk, command);

	if (status == TCMU_EXT_STATUS_GOOD)
		status = check_range(disk, command, range);
	if (status != TCMU_EXT_STATUS_GOOD)
		return status;
	if (has_no_data_out_buffer(command->cdb) ||
	    tcmu_ext_iovec_is_zero(command->iov, command->iov_count, 0, disk_block_bytes(disk)))
		return write_zeroes(disk, command, range);
	return write_repeatedly(disk, command, range);
}
