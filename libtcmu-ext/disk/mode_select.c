/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <string.h>

#include <tcmu-ext/iovec.h>

#include "disk/mode.h"
#include "disk/mode_pages.h"
#include "disk/outcome.h"
#include "plumbing/byte_order.h"

enum {
	PF = 0x10,
	PS = 0x80,
	SPF = 0x40,
	/* Every page once, several times over; more is refused as too long. */
	PARAMETER_LIST_MAXIMUM_BYTES = 512,
};

/* A parameter list being read: what is checked in a first pass takes effect in a second. */
struct parameter_list {
	uint8_t data[PARAMETER_LIST_MAXIMUM_BYTES];
	size_t bytes;
	size_t pages_at;
};

static enum tcmu_ext_status fetch(const struct tcmu_ext_disk *disk,
				  struct tcmu_ext_command *command, struct parameter_list *list)
{
	const uint8_t *cdb = command->cdb;

	list->bytes = is_10_byte_mode_command(command) ? get_be16(cdb + 7) : cdb[4];
	if (list->bytes > sizeof(list->data) ||
	    tcmu_ext_iovec_gather(command->iov, command->iov_count, 0, list->data, list->bytes) <
		    list->bytes)
		return parameter_list_length_error(disk, command);
	return TCMU_EXT_STATUS_GOOD;
}

/* A block descriptor may repeat what is so; formatting to another length is not offered. */
static enum tcmu_ext_status check_block_descriptor(const struct tcmu_ext_disk *disk,
						   struct tcmu_ext_command *command,
						   const struct parameter_list *list, size_t at,
						   bool long_lba)
{
	const uint8_t *descriptor = list->data + at;
	uint64_t blocks = long_lba ? get_be64(descriptor) : get_be32(descriptor);
	uint64_t all_ones = long_lba ? UINT64_MAX : UINT32_MAX;
	size_t length_at = long_lba ? 12 : 4;

	if (blocks && blocks != all_ones && blocks != disk_block_count(disk))
		return invalid_field_in_parameter_list(disk, command, (unsigned int)at, -1);
	if ((get_be32(descriptor + length_at) & 0xffffff) != disk_block_bytes(disk))
		return invalid_field_in_parameter_list(disk, command,
						       (unsigned int)(at + length_at), -1);
	return TCMU_EXT_STATUS_GOOD;
}

static enum tcmu_ext_status check_header(const struct tcmu_ext_disk *disk,
					 struct tcmu_ext_command *command,
					 struct parameter_list *list)
{
	bool ten = is_10_byte_mode_command(command);
	size_t header_bytes = ten ? MODE_HEADER_10_BYTES : MODE_HEADER_6_BYTES;
	bool long_lba = ten && (list->data[4] & LONGLBA);
	size_t descriptor_bytes;

	if (list->bytes < header_bytes)
		return parameter_list_length_error(disk, command);
	descriptor_bytes = ten ? get_be16(list->data + 6) : list->data[3];
	list->pages_at = header_bytes + descriptor_bytes;
	if (!descriptor_bytes)
		return TCMU_EXT_STATUS_GOOD;
	if (descriptor_bytes !=
	    (long_lba ? LONG_BLOCK_DESCRIPTOR_BYTES : SHORT_BLOCK_DESCRIPTOR_BYTES))
		return invalid_field_in_parameter_list(disk, command, ten ? 6 : 3, -1);
	if (list->bytes < list->pages_at)
		return parameter_list_length_error(disk, command);
	return check_block_descriptor(disk, command, list, header_bytes, long_lba);
}

/* Fields that are not changeable must hold their current values (SPC-4 6.11). */
static enum tcmu_ext_status check_fields(const struct tcmu_ext_disk *disk,
					 struct tcmu_ext_command *command,
					 const struct parameter_list *list, size_t at,
					 const uint8_t *current, size_t page_bytes)
{
	uint8_t changeable[MODE_PAGES_MAXIMUM_BYTES];

	mode_pages_write(disk, current[0], PAGE_CHANGEABLE, changeable);
	for (size_t i = 2; i < page_bytes; i++) {
		unsigned int fault = (unsigned int)(list->data[at + i] ^ current[i]) &
				     (unsigned int)~changeable[i];

		if (fault)
			return invalid_field_in_parameter_list(
				disk, command, (unsigned int)(at + i), 31 - __builtin_clz(fault));
	}
	return TCMU_EXT_STATUS_GOOD;
}

static enum tcmu_ext_status check_page(const struct tcmu_ext_disk *disk,
				       struct tcmu_ext_command *command,
				       const struct parameter_list *list, size_t at,
				       size_t *page_bytes)
{
	uint8_t current[MODE_PAGES_MAXIMUM_BYTES];
	uint8_t page_code = list->data[at] & (uint8_t)~PS;

	if (page_code & SPF || page_code == ALL_PAGES)
		return invalid_field_in_parameter_list(disk, command, (unsigned int)at, 6);
	*page_bytes = mode_pages_write(disk, page_code, PAGE_CURRENT, current);
	if (!*page_bytes)
		return invalid_field_in_parameter_list(disk, command, (unsigned int)at, 5);
	if (list->bytes - at < 2)
		return parameter_list_length_error(disk, command);
	if (list->data[at + 1] != current[1])
		return invalid_field_in_parameter_list(disk, command, (unsigned int)at + 1, -1);
	if (list->bytes - at < *page_bytes)
		return parameter_list_length_error(disk, command);
	return check_fields(disk, command, list, at, current, *page_bytes);
}

static enum tcmu_ext_status check_pages(const struct tcmu_ext_disk *disk,
					struct tcmu_ext_command *command,
					const struct parameter_list *list)
{
	enum tcmu_ext_status status = TCMU_EXT_STATUS_GOOD;
	size_t page_bytes = 0;

	for (size_t at = list->pages_at; status == TCMU_EXT_STATUS_GOOD && at < list->bytes;
	     at += page_bytes)
		status = check_page(disk, command, list, at, &page_bytes);
	return status;
}

static enum tcmu_ext_status apply_pages(struct tcmu_ext_disk *disk,
					struct tcmu_ext_command *command,
					struct parameter_list *list)
{
	int error = 0;

	for (size_t at = list->pages_at; !error && at < list->bytes;
	     at += 2u + list->data[at + 1]) {
		list->data[at] &= (uint8_t)~PS;
		error = mode_page_apply(disk, list->data + at);
	}
	return error ? flush_failure(disk, command, error) : TCMU_EXT_STATUS_GOOD;
}

enum tcmu_ext_status execute_mode_select(struct tcmu_ext_disk *disk,
					 struct tcmu_ext_command *command)
{
	struct parameter_list list = { .bytes = 0 };
	enum tcmu_ext_status status;

	if (!(command->cdb[1] & PF))
		return invalid_field_in_cdb(disk, command, 1, 4);
	status = fetch(disk, command, &list);
	if (status != TCMU_EXT_STATUS_GOOD || !list.bytes)
		return status;
	status = check_header(disk, command, &list);
	if (status == TCMU_EXT_STATUS_GOOD)
		status = check_pages(disk, command, &list);
	return status == TCMU_EXT_STATUS_GOOD ? apply_pages(disk, command, &list) : status;
}
