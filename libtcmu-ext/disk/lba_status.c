/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/lba_status.h"

#include "disk/outcome.h"
#include "disk/provisioning.h"
#include "disk/range.h"
#include "plumbing/byte_order.h"

enum {
	HEADER_BYTES = 8,
	DESCRIPTOR_BYTES = 16,
	/* Bounds the time of one command; the initiator asks again from where the answer ends. */
	MAXIMUM_DESCRIPTORS = 64,
};

/* The allocation from `lba` on; `*blocks` is how far it goes at least, never 0. */
static int status_at(const struct tcmu_ext_disk *disk, uint64_t lba, uint32_t *blocks,
		     enum tcmu_ext_allocation *allocation)
{
	const struct tcmu_ext_backend *backend = disk->backend;
	uint64_t rest = disk_block_count(disk) - lba;
	uint64_t run_bytes;
	int error;

	if (rest > UINT32_MAX)
		rest = UINT32_MAX;
	*blocks = (uint32_t)rest;
	*allocation = TCMU_EXT_MAPPED;
	/* SBC-3 4.7.2: a fully provisioned logical unit has nothing but mapped blocks. */
	if (!backend->operations.allocation || !provisioning_can_unmap(disk))
		return 0;
	error = backend->operations.allocation(backend->instance, lba << disk->block_shift,
					       rest << disk->block_shift, &run_bytes, allocation);
	if (error)
		return error;
	if (run_bytes >> disk->block_shift < rest)
		*blocks = (uint32_t)(run_bytes >> disk->block_shift);
	/* A block that is only in part free is mapped. */
	if (!*blocks) {
		*blocks = 1;
		*allocation = TCMU_EXT_MAPPED;
	}
	return 0;
}

static void write_descriptor(uint8_t *bytes, uint64_t lba, uint32_t blocks,
			     enum tcmu_ext_allocation allocation)
{
	put_be64(bytes, lba);
	put_be32(bytes + 8, blocks);
	bytes[12] = allocation == TCMU_EXT_DEALLOCATED ? 1 : 0;
}

/* How many descriptors the initiator has room for: at least the one the standard wants. */
static unsigned int descriptors_wanted(uint32_t allocation_length)
{
	uint32_t room = allocation_length > HEADER_BYTES
				? (allocation_length - HEADER_BYTES) / DESCRIPTOR_BYTES
				: 0;

	return room < 1 ? 1 : room > MAXIMUM_DESCRIPTORS ? MAXIMUM_DESCRIPTORS : room;
}

enum tcmu_ext_status execute_get_lba_status(struct tcmu_ext_disk *disk,
					    struct tcmu_ext_command *command)
{
	uint32_t allocation_length = get_be32(command->cdb + 10);
	unsigned int wanted = descriptors_wanted(allocation_length);
	uint8_t data[HEADER_BYTES + MAXIMUM_DESCRIPTORS * DESCRIPTOR_BYTES] = { 0 };
	uint64_t lba = get_be64(command->cdb + 2);
	size_t bytes = HEADER_BYTES;

	if (lba >= disk_block_count(disk))
		return address_out_of_range(disk, command);
	for (unsigned int i = 0; i < wanted && lba < disk_block_count(disk); i++) {
		enum tcmu_ext_allocation allocation;
		uint32_t blocks;
		int error = status_at(disk, lba, &blocks, &allocation);

		if (error)
			return read_failure(disk, command, error, lba);
		write_descriptor(data + bytes, lba, blocks, allocation);
		bytes += DESCRIPTOR_BYTES;
		lba += blocks;
	}
	put_be32(data, (uint32_t)(bytes - 4));
	return answer(command, data, bytes, allocation_length);
}
