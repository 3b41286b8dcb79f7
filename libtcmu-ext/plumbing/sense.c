/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <tcmu-ext/sense.h>

#include <string.h>

#include "plumbing/byte_order.h"

enum {
	RESPONSE_FIXED_CURRENT = 0x70,
	RESPONSE_DESCRIPTOR_CURRENT = 0x72,
	FIXED_BYTES = 18,
	DESCRIPTOR_HEADER_BYTES = 8,
	INFORMATION_DESCRIPTOR_BYTES = 12,
	SENSE_KEY_SPECIFIC_DESCRIPTOR_BYTES = 8,
	LONGEST_BYTES = DESCRIPTOR_HEADER_BYTES + INFORMATION_DESCRIPTOR_BYTES +
			SENSE_KEY_SPECIFIC_DESCRIPTOR_BYTES,
};

/* SPC-4 4.5.2.4.2: SKSV, C/D, BPV and BIT POINTER, then FIELD POINTER. */
static void write_field_pointer(const struct tcmu_ext_sense *sense, uint8_t *three_bytes)
{
	three_bytes[0] = 0x80;
	if (sense->field_in == TCMU_EXT_FIELD_IN_CDB)
		three_bytes[0] |= 0x40;
	if (sense->field_bit >= 0)
		three_bytes[0] |= (uint8_t)(0x08 | (sense->field_bit & 0x07));
	put_be16(three_bytes + 1, sense->field_byte);
}

static size_t write_fixed(const struct tcmu_ext_sense *sense, uint8_t *bytes)
{
	bytes[0] = RESPONSE_FIXED_CURRENT;
	bytes[2] = (uint8_t)sense->key;
	bytes[7] = FIXED_BYTES - 8;
	if (sense->information_valid && sense->information <= UINT32_MAX) {
		bytes[0] |= 0x80;
		put_be32(bytes + 3, (uint32_t)sense->information);
	}
	put_be16(bytes + 12, sense->additional_sense);
	if (sense->field_in != TCMU_EXT_FIELD_NONE)
		write_field_pointer(sense, bytes + 15);
	return FIXED_BYTES;
}

static size_t write_descriptors(const struct tcmu_ext_sense *sense, uint8_t *bytes)
{
	size_t length = DESCRIPTOR_HEADER_BYTES;

	bytes[0] = RESPONSE_DESCRIPTOR_CURRENT;
	bytes[1] = (uint8_t)sense->key;
	put_be16(bytes + 2, sense->additional_sense);
	if (sense->information_valid) {
		uint8_t *descriptor = bytes + length;

		descriptor[0] = 0x00;
		descriptor[1] = INFORMATION_DESCRIPTOR_BYTES - 2;
		descriptor[2] = 0x80;
		put_be64(descriptor + 4, sense->information);
		length += INFORMATION_DESCRIPTOR_BYTES;
	}
	if (sense->field_in != TCMU_EXT_FIELD_NONE) {
		uint8_t *descriptor = bytes + length;

		descriptor[0] = 0x02;
		descriptor[1] = SENSE_KEY_SPECIFIC_DESCRIPTOR_BYTES - 2;
		write_field_pointer(sense, descriptor + 4);
		length += SENSE_KEY_SPECIFIC_DESCRIPTOR_BYTES;
	}
	bytes[7] = (uint8_t)(length - DESCRIPTOR_HEADER_BYTES);
	return length;
}

size_t tcmu_ext_sense_write(const struct tcmu_ext_sense *sense, bool descriptor_format,
			    uint8_t *buffer, size_t buffer_bytes)
{
	uint8_t bytes[LONGEST_BYTES] = { 0 };
	size_t length =
		descriptor_format ? write_descriptors(sense, bytes) : write_fixed(sense, bytes);

	if (length > buffer_bytes)
		length = buffer_bytes;
	if (!buffer_bytes)
		return 0;
	memset(buffer, 0, buffer_bytes);
	memcpy(buffer, bytes, length);
	return length;
}
