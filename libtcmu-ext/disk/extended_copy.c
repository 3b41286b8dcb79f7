/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The parameter list of EXTENDED COPY (SPC-4 6.4.3 to 6.4.6), for a caller that copies blocks
 * within the disk. Who a copy source or destination is, only the caller can tell.
 */
#include <tcmu-ext/disk.h>
#include <tcmu-ext/iovec.h>

#include "disk/outcome.h"
#include "disk/range.h"
#include "plumbing/byte_order.h"

enum {
	HEADER_BYTES = 16,
	CSCD_DESCRIPTOR_BYTES = 32,
	CSCD_IDENTIFICATION = 0xe4,
	SEGMENT_HEADER_BYTES = 4, /* what every segment descriptor begins with */
	SEGMENT_BYTES = 28,       /* that from block device to block device */
	SEGMENT_BLOCK_TO_BLOCK = 0x02,
	LIST_ID_USAGE_RESERVED = 1,
	LIST_ID_USAGE_NONE = 3, /* and LIST IDENTIFIER is zero */
};

struct parameter_list {
	uint8_t bytes[HEADER_BYTES + TCMU_EXT_COPY_DESCRIPTORS_MAXIMUM_BYTES];
	size_t cscd_bytes;
	size_t segment_bytes;
};

static enum tcmu_ext_status check_cdb(const struct tcmu_ext_disk *disk,
				      struct tcmu_ext_command *command)
{
	const uint8_t *cdb = command->cdb;

	for (unsigned int byte = 1; byte < 16; byte++) {
		unsigned int fault = byte == 1 ? cdb[byte] & 0xe0u : cdb[byte];

		if (fault && (byte < 10 || byte > 13))
			return invalid_field_in_cdb(disk, command, byte, 31 - __builtin_clz(fault));
	}
	return TCMU_EXT_STATUS_GOOD;
}

static enum tcmu_ext_status fetch_list(const struct tcmu_ext_disk *disk,
				       struct tcmu_ext_command *command,
				       const struct tcmu_ext_copy_limits *limits,
				       struct parameter_list *list)
{
	size_t bytes = get_be32(command->cdb + 10);
	uint32_t segment_bytes;

	if (bytes < HEADER_BYTES || tcmu_ext_iovec_bytes(command->iov, command->iov_count) < bytes)
		return parameter_list_length_error(disk, command);
	tcmu_ext_iovec_gather(command->iov, command->iov_count, 0, list->bytes,
			      bytes < sizeof(list->bytes) ? bytes : sizeof(list->bytes));
	if (get_be32(list->bytes + 12)) /* INLINE DATA LENGTH */
		return check_condition(disk, command, TCMU_EXT_ILLEGAL_REQUEST,
				       TCMU_EXT_INLINE_DATA_LENGTH_EXCEEDED);
	list->cscd_bytes = get_be16(list->bytes + 2);
	segment_bytes = get_be32(list->bytes + 8);
	list->segment_bytes = segment_bytes;
	if (segment_bytes > limits->descriptor_bytes ||
	    list->cscd_bytes > limits->descriptor_bytes - segment_bytes ||
	    bytes - HEADER_BYTES < list->cscd_bytes + segment_bytes)
		return parameter_list_length_error(disk, command);
	return TCMU_EXT_STATUS_GOOD;
}

static enum tcmu_ext_status check_list_identifier(const struct tcmu_ext_disk *disk,
						  struct tcmu_ext_command *command,
						  const struct parameter_list *list)
{
	unsigned int usage = list->bytes[1] >> 3 & 3;

	if (usage == LIST_ID_USAGE_RESERVED)
		return invalid_field_in_parameter_list(disk, command, 1, 4);
	if (usage == LIST_ID_USAGE_NONE && list->bytes[0])
		return invalid_field_in_parameter_list(disk, command, 0, -1);
	return TCMU_EXT_STATUS_GOOD;
}

static enum tcmu_ext_status check_cscd_descriptors(const struct tcmu_ext_disk *disk,
						   struct tcmu_ext_command *command,
						   const struct tcmu_ext_copy_limits *limits,
						   const struct parameter_list *list)
{
	if (list->cscd_bytes % CSCD_DESCRIPTOR_BYTES)
		return invalid_field_in_parameter_list(disk, command, 2, -1);
	if (list->cscd_bytes / CSCD_DESCRIPTOR_BYTES > limits->cscd_descriptors)
		return check_condition(disk, command, TCMU_EXT_ILLEGAL_REQUEST,
				       TCMU_EXT_TOO_MANY_TARGET_DESCRIPTORS);
	for (size_t at = HEADER_BYTES; at < HEADER_BYTES + list->cscd_bytes;
	     at += CSCD_DESCRIPTOR_BYTES)
		if (list->bytes[at] != CSCD_IDENTIFICATION)
			return check_condition(disk, command, TCMU_EXT_ILLEGAL_REQUEST,
					       TCMU_EXT_UNSUPPORTED_TARGET_DESCRIPTOR_TYPE_CODE);
	return TCMU_EXT_STATUS_GOOD;
}

static enum tcmu_ext_status check_segment_types(const struct tcmu_ext_disk *disk,
						struct tcmu_ext_command *command,
						const struct tcmu_ext_copy_limits *limits,
						const struct parameter_list *list)
{
	size_t at = HEADER_BYTES + list->cscd_bytes;
	size_t end = at + list->segment_bytes;
	unsigned int count = 0;

	for (; at < end; at += SEGMENT_BYTES, count++) {
		if (list->bytes[at] != SEGMENT_BLOCK_TO_BLOCK)
			return check_condition(disk, command, TCMU_EXT_ILLEGAL_REQUEST,
					       TCMU_EXT_UNSUPPORTED_SEGMENT_DESCRIPTOR_TYPE_CODE);
		if (end - at < SEGMENT_BYTES)
			return invalid_field_in_parameter_list(disk, command, 8, -1);
		if (get_be16(list->bytes + at + 2) != SEGMENT_BYTES - SEGMENT_HEADER_BYTES)
			return invalid_field_in_parameter_list(disk, command, (unsigned int)at + 2,
							       -1);
	}
	if (count > limits->segment_descriptors)
		return check_condition(disk, command, TCMU_EXT_ILLEGAL_REQUEST,
				       TCMU_EXT_TOO_MANY_SEGMENT_DESCRIPTORS);
	return TCMU_EXT_STATUS_GOOD;
}

/* PERIPHERAL DEVICE TYPE of all CSCDs is that of a disk. */
static bool are_disks(const struct parameter_list *list)
{
	for (size_t at = HEADER_BYTES; at < HEADER_BYTES + list->cscd_bytes;
	     at += CSCD_DESCRIPTOR_BYTES)
		if (list->bytes[at + 1] & 0x1f)
			return false;
	return true;
}

/* Faults found here end a copy that has begun (SPC-4 6.4.3.3), before anything was copied. */
static enum tcmu_ext_status check_segment(const struct tcmu_ext_disk *disk,
					  struct tcmu_ext_command *command,
					  const struct parameter_list *list, const uint8_t *segment)
{
	const size_t cscd_count = list->cscd_bytes / CSCD_DESCRIPTOR_BYTES;
	const uint32_t blocks = get_be16(segment + 10);
	const struct range source = { .lba = get_be64(segment + 12), .blocks = blocks };
	const struct range destination = { .lba = get_be64(segment + 20), .blocks = blocks };

	if (get_be16(segment + 4) >= cscd_count || get_be16(segment + 6) >= cscd_count)
		return check_condition(disk, command, TCMU_EXT_COPY_ABORTED,
				       TCMU_EXT_UNREACHABLE_COPY_TARGET);
	if (!are_disks(list))
		return check_condition(disk, command, TCMU_EXT_COPY_ABORTED,
				       TCMU_EXT_INCORRECT_COPY_TARGET_DEVICE_TYPE);
	if (!range_is_on_medium(disk, source) || !range_is_on_medium(disk, destination))
		return check_condition(disk, command, TCMU_EXT_COPY_ABORTED,
				       TCMU_EXT_NO_ADDITIONAL_SENSE);
	return TCMU_EXT_STATUS_NOT_MINE;
}

static enum tcmu_ext_status check_list(const struct tcmu_ext_disk *disk,
				       struct tcmu_ext_command *command,
				       const struct tcmu_ext_copy_limits *limits)
{
	struct parameter_list list = { .cscd_bytes = 0 };
	enum tcmu_ext_status status = fetch_list(disk, command, limits, &list);
	const uint8_t *segments;

	if (status == TCMU_EXT_STATUS_GOOD)
		status = check_list_identifier(disk, command, &list);
	if (status == TCMU_EXT_STATUS_GOOD)
		status = check_cscd_descriptors(disk, command, limits, &list);
	if (status == TCMU_EXT_STATUS_GOOD)
		status = check_segment_types(disk, command, limits, &list);
	if (status != TCMU_EXT_STATUS_GOOD || !list.segment_bytes)
		return status;
	segments = list.bytes + HEADER_BYTES + list.cscd_bytes;
	status = TCMU_EXT_STATUS_NOT_MINE;
	for (size_t at = 0; status == TCMU_EXT_STATUS_NOT_MINE && at < list.segment_bytes;
	     at += SEGMENT_BYTES)
		status = check_segment(disk, command, &list, segments + at);
	return status;
}

enum tcmu_ext_status tcmu_ext_disk_check_extended_copy(const struct tcmu_ext_disk *disk,
						       struct tcmu_ext_command *command,
						       const struct tcmu_ext_copy_limits *limits)
{
	enum tcmu_ext_status status;

	if (command->cdb_bytes < 16)
		return invalid_field_in_cdb(disk, command, 0, -1);
	if (limits->descriptor_bytes > TCMU_EXT_COPY_DESCRIPTORS_MAXIMUM_BYTES)
		return check_condition(disk, command, TCMU_EXT_HARDWARE_ERROR,
				       TCMU_EXT_INTERNAL_TARGET_FAILURE);
	status = check_cdb(disk, command);
	if (status != TCMU_EXT_STATUS_GOOD || !get_be32(command->cdb + 10))
		return status;
	return check_list(disk, command, limits);
}
