/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <string.h>

#include "disk/mode.h"
#include "disk/mode_pages.h"
#include "disk/outcome.h"
#include "plumbing/byte_order.h"

enum {
	DBD = 0x08,
	LLBAA = 0x10,
	WP = 0x80,
	DPOFUA = 0x10,
	ANSWER_MAXIMUM_BYTES =
		MODE_HEADER_10_BYTES + LONG_BLOCK_DESCRIPTOR_BYTES + MODE_PAGES_MAXIMUM_BYTES,
};

/* SBC-3 6.5.2: the number of blocks, all ones when it does not fit, and their length. */
static size_t write_block_descriptor(const struct tcmu_ext_disk *disk, bool long_lba, uint8_t *data)
{
	uint64_t blocks = disk_block_count(disk);

	if (long_lba) {
		put_be64(data, blocks);
		put_be32(data + 12, disk_block_bytes(disk));
		return LONG_BLOCK_DESCRIPTOR_BYTES;
	}
	put_be32(data, blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks);
	put_be32(data + 4, disk_block_bytes(disk));
	return SHORT_BLOCK_DESCRIPTOR_BYTES;
}

static uint8_t device_specific_parameter(const struct tcmu_ext_disk *disk)
{
	return (uint8_t)(DPOFUA | (disk_is_write_protected(disk) ? WP : 0));
}

static void write_header_6(const struct tcmu_ext_disk *disk, size_t descriptor_bytes,
			   size_t total_bytes, uint8_t *header)
{
	header[0] = (uint8_t)(total_bytes - 1);
	header[2] = device_specific_parameter(disk);
	header[3] = (uint8_t)descriptor_bytes;
}

static void write_header_10(const struct tcmu_ext_disk *disk, size_t descriptor_bytes,
			    size_t total_bytes, uint8_t *header)
{
	put_be16(header, (uint16_t)(total_bytes - 2));
	header[3] = device_specific_parameter(disk);
	header[4] = descriptor_bytes == LONG_BLOCK_DESCRIPTOR_BYTES ? LONGLBA : 0;
	put_be16(header + 6, (uint16_t)descriptor_bytes);
}

enum tcmu_ext_status execute_mode_sense(struct tcmu_ext_disk *disk,
					struct tcmu_ext_command *command)
{
	const uint8_t *cdb = command->cdb;
	bool ten = is_10_byte_mode_command(command);
	size_t header_bytes = ten ? MODE_HEADER_10_BYTES : MODE_HEADER_6_BYTES;
	enum page_control page_control = cdb[2] >> 6;
	uint8_t data[ANSWER_MAXIMUM_BYTES] = { 0 };
	size_t descriptor_bytes = 0;
	size_t pages_bytes;

	if (page_control == PAGE_SAVED)
		return check_condition(disk, command, TCMU_EXT_ILLEGAL_REQUEST,
				       TCMU_EXT_SAVING_PARAMETERS_NOT_SUPPORTED);
	if (cdb[3] != 0 && cdb[3] != ALL_SUBPAGES)
		return invalid_field_in_cdb(disk, command, 3, -1);
	if (!(cdb[1] & DBD))
		descriptor_bytes =
			write_block_descriptor(disk, ten && (cdb[1] & LLBAA), data + header_bytes);
	pages_bytes = mode_pages_write(disk, cdb[2] & 0x3f, page_control,
				       data + header_bytes + descriptor_bytes);
	if (!pages_bytes)
		return invalid_field_in_cdb(disk, command, 2, 5);
	if (ten)
		write_header_10(disk, descriptor_bytes,
				header_bytes + descriptor_bytes + pages_bytes, data);
	else
		write_header_6(disk, descriptor_bytes,
			       header_bytes + descriptor_bytes + pages_bytes, data);
	return answer(command, data, header_bytes + descriptor_bytes + pages_bytes,
		      ten ? get_be16(cdb + 7) : cdb[4]);
}
