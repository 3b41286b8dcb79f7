/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Sense data (SPC-4 4.5): described by one struct, written in fixed or descriptor format.
 */
#ifndef TCMU_EXT_SENSE_H
#define TCMU_EXT_SENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tcmu-ext/scsi.h>
#include <tcmu-ext/visibility.h>

TCMU_EXT_BEGIN_DECLS

/* Room that holds every sense this library writes; also what a TCMU ring entry carries. */
#define TCMU_EXT_SENSE_BYTES 96

/* Where an ILLEGAL REQUEST found its fault (field pointer, SPC-4 4.5.2.4.2). */
enum tcmu_ext_field_in {
	TCMU_EXT_FIELD_NONE,
	TCMU_EXT_FIELD_IN_CDB,
	TCMU_EXT_FIELD_IN_PARAMETER_LIST,
};

struct tcmu_ext_sense {
	enum tcmu_ext_sense_key key;
	uint16_t additional_sense; /* ASC << 8 | ASCQ */
	bool information_valid;
	uint64_t information; /* usually the LBA the error is about */
	enum tcmu_ext_field_in field_in;
	uint16_t field_byte; /* offset of the faulty byte */
	int8_t field_bit;    /* its most significant faulty bit, or negative: whole byte */
};

/*
 * Writes `sense` as current sense data into `buffer`, which is cleared first in its whole length.
 * `descriptor_format` chooses response code 72h (D_SENSE=1), otherwise 70h; in fixed format an
 * INFORMATION that does not fit 32 bits is left out and VALID stays 0 (SPC-4 4.5.3). A buffer too
 * small gets the leading part, as an allocation length would. Returns the bytes of the sense data
 * (8 + ADDITIONAL SENSE LENGTH) or `buffer_bytes`, whichever is less.
 */
TCMU_EXT_API size_t tcmu_ext_sense_write(const struct tcmu_ext_sense *sense, bool descriptor_format,
					 uint8_t *buffer, size_t buffer_bytes);

TCMU_EXT_END_DECLS

#endif
