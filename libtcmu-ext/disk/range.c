/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/range.h"

#include <tcmu-ext/iovec.h>

#include "disk/outcome.h"
#include "plumbing/byte_order.h"

/* The group code (SPC-4 4.2.5.1) tells the length of the CDB and so where its fields are. */
static unsigned int group_code(const uint8_t *cdb)
{
	return cdb[0] >> 5;
}

struct range range_of_cdb(const uint8_t *cdb)
{
	struct range range;

	switch (group_code(cdb)) {
	case 0:
		range.lba = get_be32(cdb) & 0x1fffff;
		range.blocks = cdb[4] ? cdb[4] : 256;
		break;
	case 4:
		range.lba = get_be64(cdb + 2);
		range.blocks = get_be32(cdb + 10);
		break;
	case 5:
		range.lba = get_be32(cdb + 2);
		range.blocks = get_be32(cdb + 6);
		break;
	default:
		range.lba = get_be32(cdb + 2);
		range.blocks = get_be16(cdb + 7);
		break;
	}
	return range;
}

/*
 * As far as any medium reaches: the disk may have grown by the time the command is executed. What
 * begins beyond will be refused and touches nothing.
 */
static struct extent extent_of_range(const struct tcmu_ext_disk *disk, struct range range)
{
	uint64_t end = (uint64_t)INT64_MAX >> disk->block_shift;

	if (range.lba >= end)
		return (struct extent){ 0 };
	if (range.blocks > end - range.lba)
		return (struct extent){ range.lba, end - range.lba };
	return (struct extent){ range.lba, range.blocks };
}

struct extent extent_with(const struct tcmu_ext_disk *disk, struct extent extent,
			  struct range range)
{
	struct extent other = extent_of_range(disk, range);
	uint64_t end = extent.lba + extent.blocks;

	if (!other.blocks)
		return extent;
	if (!extent.blocks)
		return other;
	if (other.lba + other.blocks > end)
		end = other.lba + other.blocks;
	if (other.lba < extent.lba)
		extent.lba = other.lba;
	extent.blocks = end - extent.lba;
	return extent;
}

struct extent extent_of_cdb(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command)
{
	return extent_of_range(disk, range_of_cdb(command->cdb));
}

unsigned int range_length_byte(const uint8_t *cdb)
{
	switch (group_code(cdb)) {
	case 0:
		return 4;
	case 4:
		return cdb[0] == TCMU_EXT_COMPARE_AND_WRITE ? 13 : 10;
	case 5:
		return 6;
	default:
		return 7;
	}
}

bool range_is_on_medium(const struct tcmu_ext_disk *disk, struct range range)
{
	uint64_t block_count = disk_block_count(disk);

	return range.lba <= block_count && range.blocks <= block_count - range.lba;
}

/* What of a data-in buffer lies beyond the answer must not show what the memory held before. */
static enum tcmu_ext_status fit_buffer(const struct tcmu_ext_disk *disk,
				       struct tcmu_ext_command *command, size_t bytes,
				       bool clear_rest)
{
	size_t buffer_bytes = tcmu_ext_iovec_bytes(command->iov, command->iov_count);

	if (buffer_bytes == bytes)
		return TCMU_EXT_STATUS_GOOD;
	if (buffer_bytes < bytes)
		return invalid_field_in_cdb(disk, command, range_length_byte(command->cdb), -1);
	if (clear_rest) {
		tcmu_ext_iovec_clear(command->iov, command->iov_count, bytes, SIZE_MAX);
		command->data_in_bytes = bytes;
	}
	command->iov_count = tcmu_ext_iovec_truncate(command->iov, command->iov_count, bytes);
	return TCMU_EXT_STATUS_GOOD;
}

enum tcmu_ext_status buffer_exactly(const struct tcmu_ext_disk *disk,
				    struct tcmu_ext_command *command, size_t bytes)
{
	return fit_buffer(disk, command, bytes, false);
}

static enum tcmu_ext_status check_transfer(const struct tcmu_ext_disk *disk,
					   struct tcmu_ext_command *command, struct range range,
					   bool data_in)
{
	if (!range_is_on_medium(disk, range))
		return address_out_of_range(disk, command);
	if (range.blocks > disk->maximum_transfer_blocks)
		return invalid_field_in_cdb(disk, command, range_length_byte(command->cdb), -1);
	return fit_buffer(disk, command, (size_t)range.blocks << disk->block_shift, data_in);
}

enum tcmu_ext_status range_check_data_out(const struct tcmu_ext_disk *disk,
					  struct tcmu_ext_command *command, struct range range)
{
	return check_transfer(disk, command, range, false);
}

enum tcmu_ext_status range_check_data_in(const struct tcmu_ext_disk *disk,
					 struct tcmu_ext_command *command, struct range range)
{
	return check_transfer(disk, command, range, true);
}
