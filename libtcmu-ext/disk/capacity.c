/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/capacity.h"

#include "disk/outcome.h"
#include "disk/provisioning.h"
#include "plumbing/byte_order.h"

enum {
	LBPME = 0x80,
	LBPRZ = 0x40,
	CAPACITY_10_BYTES = 8,
	CAPACITY_16_BYTES = 32,
};

enum tcmu_ext_status execute_read_capacity_10(struct tcmu_ext_disk *disk,
					      struct tcmu_ext_command *command)
{
	uint64_t last = disk_block_count(disk) - 1;
	uint8_t data[CAPACITY_10_BYTES];

	put_be32(data, last > UINT32_MAX ? UINT32_MAX : (uint32_t)last);
	put_be32(data + 4, disk_block_bytes(disk));
	return answer(command, data, sizeof(data), sizeof(data));
}

/* LOGICAL BLOCKS PER PHYSICAL BLOCK EXPONENT. */
static uint8_t physical_block_exponent(const struct tcmu_ext_disk *disk)
{
	uint32_t physical = disk->backend->properties.physical_block_bytes;
	uint8_t exponent = 0;

	while (exponent < 15 && disk_block_bytes(disk) << (exponent + 1) <= physical)
		exponent++;
	return exponent;
}

/* LOWEST ALIGNED LOGICAL BLOCK ADDRESS, a field of 14 bits. */
static uint16_t lowest_aligned_address(const struct tcmu_ext_disk *disk)
{
	uint32_t bytes = disk->backend->properties.physical_alignment_bytes;

	return (bytes >> disk->block_shift) & 0x3fff;
}

enum tcmu_ext_status execute_read_capacity_16(struct tcmu_ext_disk *disk,
					      struct tcmu_ext_command *command)
{
	uint8_t data[CAPACITY_16_BYTES] = { 0 };

	put_be64(data, disk_block_count(disk) - 1);
	put_be32(data + 8, disk_block_bytes(disk));
	data[13] = physical_block_exponent(disk);
	put_be16(data + 14, lowest_aligned_address(disk));
	if (provisioning_can_unmap(disk))
		data[14] |= LBPME;
	if (provisioning_unmapped_reads_zero(disk))
		data[14] |= LBPRZ;
	return answer(command, data, sizeof(data), get_be32(command->cdb + 10));
}
