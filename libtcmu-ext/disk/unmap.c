/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/unmap.h"

#include <tcmu-ext/iovec.h>

#include "disk/lane.h"
#include "disk/outcome.h"
#include "disk/provisioning.h"
#include "disk/range.h"
#include "disk/read_write.h"
#include "plumbing/byte_order.h"

enum {
	HEADER_BYTES = 8,
	DESCRIPTOR_BYTES = 16,
	DESCRIPTOR_LENGTH_AT = 2,
};

_Static_assert(HEADER_BYTES + MAXIMUM_UNMAP_DESCRIPTORS * DESCRIPTOR_BYTES <= SCRATCH_BYTES,
	       "a whole parameter list must fit the scratch memory");

static struct range descriptor(const uint8_t *list, unsigned int number)
{
	const uint8_t *bytes = list + HEADER_BYTES + (size_t)number * DESCRIPTOR_BYTES;

	return (struct range){ .lba = get_be64(bytes), .blocks = get_be32(bytes + 8) };
}

/*
 * Copies the parameter list to the scratch memory and counts its descriptors. One that is cut off,
 * by either length, is ignored (SBC-3 5.28.2).
 */
static enum tcmu_ext_status fetch_list(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				       unsigned int *descriptors)
{
	uint8_t *list = lane_of(disk, command)->scratch;
	size_t list_bytes = get_be16(command->cdb + 7);
	size_t descriptor_bytes;

	if (list_bytes < HEADER_BYTES ||
	    tcmu_ext_iovec_bytes(command->iov, command->iov_count) < list_bytes)
		return parameter_list_length_error(disk, command);
	tcmu_ext_iovec_gather(command->iov, command->iov_count, 0, list, list_bytes);
	descriptor_bytes = get_be16(list + DESCRIPTOR_LENGTH_AT);
	if (descriptor_bytes > list_bytes - HEADER_BYTES)
		descriptor_bytes = list_bytes - HEADER_BYTES;
	*descriptors = (unsigned int)(descriptor_bytes / DESCRIPTOR_BYTES);
	if (*descriptors > MAXIMUM_UNMAP_DESCRIPTORS)
		return invalid_field_in_parameter_list(disk, command, DESCRIPTOR_LENGTH_AT, -1);
	return TCMU_EXT_STATUS_GOOD;
}

/* All descriptors are checked before the first takes effect. */
static enum tcmu_ext_status check_descriptors(struct tcmu_ext_disk *disk,
					      struct tcmu_ext_command *command,
					      unsigned int descriptors)
{
	const uint8_t *list = lane_of(disk, command)->scratch;
	uint64_t total_blocks = 0;

	for (unsigned int i = 0; i < descriptors; i++) {
		struct range range = descriptor(list, i);

		if (!range_is_on_medium(disk, range))
			return address_out_of_range(disk, command);
		total_blocks += range.blocks;
		if (total_blocks > maximum_unmap_blocks(disk))
			return invalid_field_in_parameter_list(
				disk, command,
				(unsigned int)(HEADER_BYTES + i * DESCRIPTOR_BYTES + 8), -1);
	}
	return TCMU_EXT_STATUS_GOOD;
}

static enum tcmu_ext_status discard(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				    struct range range)
{
	struct tcmu_ext_backend *backend = disk->backend;
	int error = 0;

	if (range.blocks)
		error = backend->operations.discard(backend->instance,
						    range.lba << disk->block_shift,
						    (uint64_t)range.blocks << disk->block_shift);
	return error ? write_failure(disk, command, error, range.lba) : TCMU_EXT_STATUS_GOOD;
}

struct extent extent_of_unmap(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command)
{
	const uint8_t *list = lane_of(disk, command)->scratch;
	struct extent extent = { 0 };
	unsigned int descriptors = 0;

	if (!get_be16(command->cdb + 7) ||
	    fetch_list(disk, command, &descriptors) != TCMU_EXT_STATUS_GOOD)
		return extent; /* nothing will be changed */
	for (unsigned int i = 0; i < descriptors; i++)
		extent = extent_with(disk, extent, descriptor(list, i));
	return extent;
}

enum tcmu_ext_status execute_unmap(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command)
{
	const uint8_t *list = lane_of(disk, command)->scratch;
	unsigned int descriptors = 0;
	enum tcmu_ext_status status;

	if (!get_be16(command->cdb + 7))
		return TCMU_EXT_STATUS_GOOD;
	status = fetch_list(disk, command, &descriptors);
	if (status == TCMU_EXT_STATUS_GOOD)
		status = check_descriptors(disk, command, descriptors);
	for (unsigned int i = 0; status == TCMU_EXT_STATUS_GOOD && i < descriptors; i++)
		status = discard(disk, command, descriptor(list, i));
	return status == TCMU_EXT_STATUS_GOOD ? finish_change(disk, command, false) : status;
}
