/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/verify.h"

#include <tcmu-ext/iovec.h>

#include "disk/medium.h"
#include "disk/outcome.h"
#include "disk/provisioning.h"
#include "disk/read_write.h"

/* BYTCHK (SBC-3 table 107): what the medium is compared with. */
enum byte_check {
	CHECK_READABLE = 0, /* nothing: it must only be readable */
	CHECK_BUFFER = 1,   /* the data-out buffer */
	CHECK_RESERVED = 2,
	CHECK_ONE_BLOCK = 3, /* the one block in the data-out buffer, again and again */
};

enum { BYTCHK_TOP_BIT = 2 };

static enum byte_check byte_check_of(const uint8_t *cdb)
{
	return (enum byte_check)((cdb[1] >> 1) & 0x03);
}

static enum tcmu_ext_status miscompare(const struct tcmu_ext_disk *disk,
				       struct tcmu_ext_command *command, uint64_t information)
{
	return check_condition_information(disk, command, TCMU_EXT_MISCOMPARE,
					   TCMU_EXT_MISCOMPARE_DURING_VERIFY, information);
}

/* Bytes of `chunk`, read into `memory`, that are what they should be; all of them when it is right.
 */
static size_t agreeing_bytes(const struct tcmu_ext_disk *disk,
			     const struct tcmu_ext_command *command, enum byte_check check,
			     size_t buffer_offset, struct range chunk, const uint8_t *memory)
{
	size_t block_bytes = disk_block_bytes(disk);
	size_t agreeing = 0;

	if (check == CHECK_BUFFER)
		return tcmu_ext_iovec_compare(command->iov, command->iov_count, buffer_offset,
					      memory, chunk.blocks * block_bytes);
	for (uint32_t block = 0; block < chunk.blocks; block++) {
		size_t same = tcmu_ext_iovec_compare(command->iov, command->iov_count, 0,
						     memory + agreeing, block_bytes);

		agreeing += same;
		if (same < block_bytes)
			break;
	}
	return agreeing;
}

/*
 * Reads a range and compares it: GOOD, or MISCOMPARE with the address of the first block that
 * differs.
 */
static enum tcmu_ext_status compare_with_medium(struct tcmu_ext_disk *disk,
						struct tcmu_ext_command *command,
						struct range range, enum byte_check check)
{
	size_t offset = 0;

	while (range.blocks) {
		struct range chunk = scratch_chunk(disk, range);
		size_t chunk_bytes = (size_t)chunk.blocks << disk->block_shift;
		uint8_t *memory = scratch_first_half(disk, command);
		enum tcmu_ext_status status = medium_read(disk, command, chunk, memory);
		size_t agreeing = chunk_bytes;

		if (status != TCMU_EXT_STATUS_GOOD)
			return status;
		if (check != CHECK_READABLE)
			agreeing = agreeing_bytes(disk, command, check, offset, chunk, memory);
		if (agreeing < chunk_bytes)
			return miscompare(disk, command,
					  chunk.lba + (agreeing >> disk->block_shift));
		offset += chunk_bytes;
		range = range_after(range, chunk.blocks);
	}
	return TCMU_EXT_STATUS_GOOD;
}

/* Without data to transfer only the time limits the length; with it, MAXIMUM TRANSFER LENGTH. */
static enum tcmu_ext_status check_verify_range(struct tcmu_ext_disk *disk,
					       struct tcmu_ext_command *command, struct range range,
					       enum byte_check check)
{
	if (check == CHECK_BUFFER)
		return range_check_data_out(disk, command, range);
	if (!range_is_on_medium(disk, range))
		return address_out_of_range(disk, command);
	if (range.blocks > maximum_verify_blocks(disk))
		return invalid_field_in_cdb(disk, command, range_length_byte(command->cdb), -1);
	if (check == CHECK_ONE_BLOCK && range.blocks)
		return buffer_exactly(disk, command, disk_block_bytes(disk));
	return TCMU_EXT_STATUS_GOOD;
}

enum tcmu_ext_status execute_verify(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command)
{
	struct range range = range_of_cdb(command->cdb);
	enum byte_check check = byte_check_of(command->cdb);
	enum tcmu_ext_status status;

	if (check == CHECK_RESERVED)
		return invalid_field_in_cdb(disk, command, 1, BYTCHK_TOP_BIT);
	status = check_verify_range(disk, command, range, check);
	if (status != TCMU_EXT_STATUS_GOOD)
		return status;
	return compare_with_medium(disk, command, range, check);
}

/* Writes the buffer by way of the scratch memory, since the backend may use up the iovecs. */
static enum tcmu_ext_status write_durably(struct tcmu_ext_disk *disk,
					  struct tcmu_ext_command *command, struct range range)
{
	enum tcmu_ext_status status = TCMU_EXT_STATUS_GOOD;
	size_t offset = 0;

	while (range.blocks && status == TCMU_EXT_STATUS_GOOD) {
		struct range chunk = scratch_chunk(disk, range);
		uint8_t *memory = scratch_first_half(disk, command);

		offset += tcmu_ext_iovec_gather(command->iov, command->iov_count, offset, memory,
						(size_t)chunk.blocks << disk->block_shift);
		status = medium_write(disk, command, chunk, memory, false);
		range = range_after(range, chunk.blocks);
	}
	return status == TCMU_EXT_STATUS_GOOD ? finish_change(disk, command, true) : status;
}

enum tcmu_ext_status execute_write_and_verify(struct tcmu_ext_disk *disk,
					      struct tcmu_ext_command *command)
{
	struct range range = range_of_cdb(command->cdb);
	enum byte_check check = byte_check_of(command->cdb);
	enum tcmu_ext_status status;

	if (check != CHECK_READABLE && check != CHECK_BUFFER)
		return invalid_field_in_cdb(disk, command, 1, BYTCHK_TOP_BIT);
	status = range_check_data_out(disk, command, range);
	if (status == TCMU_EXT_STATUS_GOOD)
		status = write_durably(disk, command, range);
	if (status == TCMU_EXT_STATUS_GOOD)
		status = compare_with_medium(disk, command, range, check);
	return status;
}

/* Compares the first half of the buffer; on a difference INFORMATION is its offset in bytes. */
static enum tcmu_ext_status compare_first_half(struct tcmu_ext_disk *disk,
					       struct tcmu_ext_command *command, struct range range)
{
	uint8_t *memory = scratch_first_half(disk, command);
	size_t bytes = (size_t)range.blocks << disk->block_shift;
	enum tcmu_ext_status status = medium_read(disk, command, range, memory);
	size_t agreeing;

	if (status != TCMU_EXT_STATUS_GOOD)
		return status;
	agreeing = tcmu_ext_iovec_compare(command->iov, command->iov_count, 0, memory, bytes);
	return agreeing < bytes ? miscompare(disk, command, agreeing) : TCMU_EXT_STATUS_GOOD;
}

enum tcmu_ext_status execute_compare_and_write(struct tcmu_ext_disk *disk,
					       struct tcmu_ext_command *command)
{
	struct range range = range_of_cdb(command->cdb);
	bool force_unit_access = wants_unit_access(command->cdb);
	enum tcmu_ext_status status;
	size_t half_bytes;

	/* NUMBER OF LOGICAL BLOCKS is the one byte at 13; the rest of the field is reserved. */
	range.blocks = command->cdb[13];
	half_bytes = (size_t)range.blocks << disk->block_shift;
	if (!range_is_on_medium(disk, range))
		return address_out_of_range(disk, command);
	if (range.blocks > maximum_compare_and_write_blocks(disk))
		return invalid_field_in_cdb(disk, command, 13, -1);
	/*
	 * Nor more: an initiator that sends another number of blocks than it names means something
	 * else. 256 of them are 0 in that byte.
	 */
	if (tcmu_ext_iovec_bytes(command->iov, command->iov_count) != 2 * half_bytes)
		return invalid_field_in_cdb(disk, command, 13, -1);
	if (!range.blocks)
		return TCMU_EXT_STATUS_GOOD;
	status = compare_first_half(disk, command, range);
	if (status != TCMU_EXT_STATUS_GOOD)
		return status;
	tcmu_ext_iovec_advance(&command->iov, &command->iov_count, half_bytes);
	return write_range(disk, command, range, force_unit_access);
}
