/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Big-endian fields at any alignment, as CDBs and parameter data hold them. */
#ifndef PLUMBING_BYTE_ORDER_H
#define PLUMBING_BYTE_ORDER_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t get_be16(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return be16toh(value);
}

static inline uint32_t get_be32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return be32toh(value);
}

static inline uint64_t get_be64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return be64toh(value);
}

static inline void put_be16(uint8_t *bytes, uint16_t value)
{
	value = htobe16(value);
	memcpy(bytes, &value, sizeof(value));
}

static inline void put_be32(uint8_t *bytes, uint32_t value)
{
	value = htobe32(value);
	memcpy(bytes, &value, sizeof(value));
}

static inline void put_be64(uint8_t *bytes, uint64_t value)
{
	value = htobe64(value);
	memcpy(bytes, &value, sizeof(value));
}

#endif
