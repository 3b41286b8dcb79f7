/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Sense data taken apart (SPC-4 4.5), by another reading of the standard than the library's. */
#ifndef SENSE_DECODE_H
#define SENSE_DECODE_H

#include <tcmu-ext/sense.h>

struct sense_seen {
	bool descriptor_format;
	uint8_t key;
	uint16_t additional_sense;
	bool information_valid;
	uint64_t information;
	enum tcmu_ext_field_in field_in;
	uint16_t field_byte;
	int field_bit; /* negative: none */
};

/* `sense` holds TCMU_EXT_SENSE_BYTES. Fails the test unless it is well formed and current. */
struct sense_seen sense_decode(const uint8_t *sense);

#endif
