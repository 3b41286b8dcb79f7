/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "sense_decode.h"

#include "cdb.h"
#include "test_failure.h"

static void decode_field_pointer(struct sense_seen *seen, const uint8_t *bytes)
{
	if (!(bytes[0] & 0x80)) {
		check(field_get(bytes, 3) == 0, "a field pointer that is not valid is not zero");
		return;
	}
	check(seen->key == TCMU_EXT_ILLEGAL_REQUEST, "a field pointer with sense key %x",
	      seen->key);
	seen->field_in = bytes[0] & 0x40 ? TCMU_EXT_FIELD_IN_CDB : TCMU_EXT_FIELD_IN_PARAMETER_LIST;
	seen->field_bit = bytes[0] & 0x08 ? bytes[0] & 0x07 : -1;
	seen->field_byte = (uint16_t)field_get(bytes + 1, 2);
}

static void decode_descriptor(struct sense_seen *seen, const uint8_t *descriptor)
{
	if (descriptor[0] == 0x00) {
		check(descriptor[1] == 0x0a && descriptor[2] == 0x80,
		      "an information descriptor of %u bytes, byte 2 %02x", descriptor[1],
		      descriptor[2]);
		seen->information_valid = true;
		seen->information = field_get(descriptor + 4, 8);
	} else if (descriptor[0] == 0x02) {
		check(descriptor[1] == 0x06, "a sense key specific descriptor of %u bytes",
		      descriptor[1]);
		decode_field_pointer(seen, descriptor + 4);
	}
}

static void decode_descriptors(struct sense_seen *seen, const uint8_t *sense)
{
	size_t end = 8u + sense[7];

	check(end <= TCMU_EXT_SENSE_BYTES, "sense data of %zu bytes", end);
	for (size_t at = 8; at < end; at += 2u + sense[at + 1]) {
		check(at + 2 + sense[at + 1] <= end, "a descriptor reaches beyond the sense data");
		decode_descriptor(seen, sense + at);
	}
}

static void decode_fixed(struct sense_seen *seen, const uint8_t *sense)
{
	check((sense[0] & 0x7f) == 0x70, "response code %02x", sense[0]);
	check(sense[7] >= 10, "additional sense length %u", sense[7]);
	seen->key = sense[2] & 0x0f;
	seen->additional_sense = (uint16_t)field_get(sense + 12, 2);
	seen->information_valid = sense[0] & 0x80;
	seen->information = field_get(sense + 3, 4);
	decode_field_pointer(seen, sense + 15);
}

struct sense_seen sense_decode(const uint8_t *sense)
{
	struct sense_seen seen = { .field_bit = -1 };

	seen.descriptor_format = sense[0] == 0x72;
	if (!seen.descriptor_format) {
		decode_fixed(&seen, sense);
		return seen;
	}
	seen.key = sense[1] & 0x0f;
	seen.additional_sense = (uint16_t)field_get(sense + 2, 2);
	decode_descriptors(&seen, sense);
	return seen;
}
