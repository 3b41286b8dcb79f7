/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Command descriptor blocks for tests, laid out as SPC-4 4.2.2 and SBC-3 5 say. */
#ifndef CDB_H
#define CDB_H

#include <stddef.h>
#include <stdint.h>

struct cdb {
	uint8_t bytes[32];
	size_t count;
};

/* An operation code in a CDB of the length its group has (SPC-4 4.2.5.1), else zeroes. */
struct cdb cdb_make(uint8_t operation_code);

/*
 * The same with LOGICAL BLOCK ADDRESS and TRANSFER LENGTH (or NUMBER OF LOGICAL BLOCKS) where the
 * CDB of that length has them. Works for every block command but UNMAP and COMPARE AND WRITE.
 */
struct cdb cdb_blocks(uint8_t operation_code, uint64_t logical_block_address, uint32_t blocks);

/* The same with bits set in one byte. */
struct cdb cdb_with(struct cdb cdb, size_t byte, uint8_t bits);

/* A SERVICE ACTION IN (16) or MAINTENANCE IN with an allocation length. */
struct cdb cdb_service_action(uint8_t operation_code, uint8_t service_action,
			      uint32_t allocation_length);

/* Big-endian fields of `count` bytes. */
void field_put(uint8_t *bytes, size_t count, uint64_t value);
uint64_t field_get(const uint8_t *bytes, size_t count);

#endif
