/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "cdb.h"

#include <tcmu-ext/scsi.h>

void field_put(uint8_t *bytes, size_t count, uint64_t value)
{
	while (count--) {
		bytes[count] = (uint8_t)value;
		value >>= 8;
	}
}

uint64_t field_get(const uint8_t *bytes, size_t count)
{
	uint64_t value = 0;

	for (size_t i = 0; i < count; i++)
		value = value << 8 | bytes[i];
	return value;
}

struct cdb cdb_make(uint8_t operation_code)
{
	static const size_t group_bytes[8] = { 6, 10, 10, 16, 16, 12, 16, 16 };

	return (struct cdb){ .bytes = { operation_code },
			     .count = group_bytes[operation_code >> 5] };
}

struct cdb cdb_blocks(uint8_t operation_code, uint64_t logical_block_address, uint32_t blocks)
{
	struct cdb cdb = cdb_make(operation_code);

	switch (cdb.count) {
	case 6:
		field_put(cdb.bytes + 1, 3, logical_block_address & 0x1fffff);
		cdb.bytes[4] = (uint8_t)blocks;
		break;
	case 10:
		field_put(cdb.bytes + 2, 4, logical_block_address);
		field_put(cdb.bytes + 7, 2, blocks);
		break;
	case 12:
		field_put(cdb.bytes + 2, 4, logical_block_address);
		field_put(cdb.bytes + 6, 4, blocks);
		break;
	default:
		field_put(cdb.bytes + 2, 8, logical_block_address);
		field_put(cdb.bytes + 10, 4, blocks);
		break;
	}
	return cdb;
}

struct cdb cdb_with(struct cdb cdb, size_t byte, uint8_t bits)
{
	cdb.bytes[byte] |= bits;
	return cdb;
}

struct cdb cdb_service_action(uint8_t operation_code, uint8_t service_action,
			      uint32_t allocation_length)
{
	struct cdb cdb = cdb_make(operation_code);

	cdb.bytes[1] = service_action;
	field_put(cdb.bytes + (operation_code == TCMU_EXT_MAINTENANCE_IN ? 6 : 10), 4,
		  allocation_length);
	return cdb;
}
