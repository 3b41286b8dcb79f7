/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <string.h>

#include "disk/inquiry.h"
#include "disk/outcome.h"
#include "disk/provisioning.h"
#include "plumbing/byte_order.h"

enum {
	PAGE_SUPPORTED_PAGES = 0x00,
	PAGE_UNIT_SERIAL_NUMBER = 0x80,
	PAGE_DEVICE_IDENTIFICATION = 0x83,
	PAGE_BLOCK_LIMITS = 0xb0,
	PAGE_BLOCK_DEVICE_CHARACTERISTICS = 0xb1,
	PAGE_LOGICAL_BLOCK_PROVISIONING = 0xb2,

	HEADER_BYTES = 4,
	PAGE_MAXIMUM_BYTES = HEADER_BYTES + UNIT_SERIAL_NUMBER_MAXIMUM_BYTES,
	LIMITS_BYTES = 60,
	CHARACTERISTICS_BYTES = 60,
	PROVISIONING_BYTES = 4,

	NON_ROTATING_MEDIUM = 0x0001,
	WSNZ = 0x01,
	UGAVALID = 0x80,
	LBPU = 0x80,
	LBPWS = 0x40,
	LBPWS10 = 0x20,
	LBPRZ = 0x04,
	PROVISIONING_TYPE_THIN = 0x02,
};

/* Each of these writes what follows the page header and returns its length in bytes. */

static uint16_t write_supported_pages(const struct tcmu_ext_disk *disk, uint8_t *body)
{
	uint16_t count = 0;

	(void)disk;
	body[count++] = PAGE_SUPPORTED_PAGES;
	body[count++] = PAGE_UNIT_SERIAL_NUMBER;
	body[count++] = PAGE_DEVICE_IDENTIFICATION;
	body[count++] = PAGE_BLOCK_LIMITS;
	body[count++] = PAGE_BLOCK_DEVICE_CHARACTERISTICS;
	body[count++] = PAGE_LOGICAL_BLOCK_PROVISIONING;
	return count;
}

static uint16_t write_unit_serial_number(const struct tcmu_ext_disk *disk, uint8_t *body)
{
	size_t bytes = strlen(disk->unit_serial_number);

	memcpy(body, disk->unit_serial_number, bytes);
	return (uint16_t)bytes;
}

static uint32_t blocks_in(const struct tcmu_ext_disk *disk, uint32_t bytes)
{
	return bytes >> disk->block_shift;
}

/* OPTIMAL TRANSFER LENGTH GRANULARITY: what the backing writes without reading first. */
static uint16_t transfer_length_granularity(const struct tcmu_ext_disk *disk)
{
	const struct tcmu_ext_backend_properties *properties = &disk->backend->properties;
	uint32_t blocks = blocks_in(disk, properties->physical_block_bytes);

	return (uint16_t)(blocks > UINT16_MAX ? 0 : blocks ? blocks : 1);
}

/* What the backing likes best; as much as there may be when it has no preference. */
static uint32_t optimal_transfer_blocks(const struct tcmu_ext_disk *disk)
{
	uint32_t blocks = blocks_in(disk, disk->backend->properties.optimal_transfer_bytes);

	return blocks && blocks < disk->maximum_transfer_blocks ? blocks
								: disk->maximum_transfer_blocks;
}

/* SBC-3 6.6.4: MAXIMUM UNMAP LBA COUNT up to the end of UNMAP GRANULARITY ALIGNMENT. */
static void write_unmap_limits(const struct tcmu_ext_disk *disk, uint8_t *body)
{
	const struct tcmu_ext_backend_properties *properties = &disk->backend->properties;
	uint32_t granularity = blocks_in(disk, properties->discard_granularity_bytes);

	if (!provisioning_can_unmap(disk))
		return;
	put_be32(body + 16, maximum_unmap_blocks(disk));
	put_be32(body + 20, MAXIMUM_UNMAP_DESCRIPTORS);
	put_be32(body + 24, granularity ? granularity : 1);
	put_be32(body + 28, blocks_in(disk, properties->discard_alignment_bytes));
	body[28] |= UGAVALID;
}

static uint16_t write_block_limits(const struct tcmu_ext_disk *disk, uint8_t *body)
{
	body[0] = WSNZ;
	body[1] = maximum_compare_and_write_blocks(disk);
	put_be16(body + 2, transfer_length_granularity(disk));
	put_be32(body + 4, disk->maximum_transfer_blocks);
	put_be32(body + 8, optimal_transfer_blocks(disk));
	/* MAXIMUM PREFETCH LENGTH stays 0: no limit, since prefetching only begins a read. */
	write_unmap_limits(disk, body);
	put_be64(body + 32, maximum_write_same_blocks(disk));
	return LIMITS_BYTES;
}

static uint16_t write_block_device_characteristics(const struct tcmu_ext_disk *disk, uint8_t *body)
{
	if (!disk->backend->properties.rotational)
		put_be16(body, NON_ROTATING_MEDIUM);
	return CHARACTERISTICS_BYTES;
}

static uint16_t write_logical_block_provisioning(const struct tcmu_ext_disk *disk, uint8_t *body)
{
	if (!provisioning_can_unmap(disk))
		return PROVISIONING_BYTES;
	body[1] = LBPU | LBPWS | LBPWS10;
	if (provisioning_unmapped_reads_zero(disk))
		body[1] |= LBPRZ;
	body[2] = PROVISIONING_TYPE_THIN;
	return PROVISIONING_BYTES;
}

typedef uint16_t (*page_writer)(const struct tcmu_ext_disk *disk, uint8_t *body);

static page_writer writer_of(uint8_t page)
{
	switch (page) {
	case PAGE_SUPPORTED_PAGES:
		return write_supported_pages;
	case PAGE_UNIT_SERIAL_NUMBER:
		return write_unit_serial_number;
	case PAGE_BLOCK_LIMITS:
		return write_block_limits;
	case PAGE_BLOCK_DEVICE_CHARACTERISTICS:
		return write_block_device_characteristics;
	case PAGE_LOGICAL_BLOCK_PROVISIONING:
		return write_logical_block_provisioning;
	default:
		return NULL;
	}
}

enum tcmu_ext_status answer_vital_product_data(struct tcmu_ext_disk *disk,
					       struct tcmu_ext_command *command)
{
	uint8_t data[PAGE_MAXIMUM_BYTES] = { 0 };
	uint8_t page = command->cdb[2];
	page_writer write = writer_of(page);
	uint16_t body_bytes;

	if (page == PAGE_DEVICE_IDENTIFICATION ||
	    (page == PAGE_UNIT_SERIAL_NUMBER && !disk->unit_serial_number[0]))
		return TCMU_EXT_STATUS_NOT_MINE;
	if (!write)
		return invalid_field_in_cdb(disk, command, 2, -1);
	body_bytes = write(disk, data + HEADER_BYTES);
	data[1] = page;
	put_be16(data + 2, body_bytes);
	return answer(command, data, (size_t)HEADER_BYTES + body_bytes, get_be16(command->cdb + 3));
}
