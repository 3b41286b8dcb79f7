/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What the standard says a command does to the medium, computed on a copy of it: the shadow that
 * the disk is compared with. Written from SBC-3, without a line of the library.
 */
#ifndef DISK_MODEL_H
#define DISK_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk_model {
	uint8_t *medium;
	uint64_t blocks;
	uint32_t block_bytes;
	bool unmapped_reads_zero;
	bool *anything; /* of each block: unmapped, may read as anything */
};

/* The blocks a CDB addresses; false for a command that addresses none. */
struct model_range {
	uint64_t lba;
	uint64_t blocks;
};
bool model_range_of(const uint8_t *cdb, struct model_range *range);

/* Whether a range lies on the medium. */
bool model_holds(const struct disk_model *model, struct model_range range);

bool model_reads(uint8_t operation_code);  /* READ (6), (10), (12), (16) */
bool model_writes(uint8_t operation_code); /* anything that changes the medium */

/*
 * The bytes of data-out or data-in buffer that belong to a command with such a CDB, as far as that
 * is fixed by it; 0 if not.
 */
size_t model_buffer_bytes(const struct disk_model *model, const uint8_t *cdb);

/*
 * Does to the model what a command that ends with GOOD has done. `data` is the data-out buffer.
 * Fails the run when such a command should not have ended with GOOD.
 */
void model_execute(struct disk_model *model, const uint8_t *cdb, const uint8_t *data,
		   size_t data_bytes);

/*
 * Where a command that compares meets the first difference: the offset in the range, or the length
 * of the range when all agrees. SIZE_MAX for a command that compares nothing.
 */
size_t model_compare(const struct disk_model *model, const uint8_t *cdb, const uint8_t *data,
		     size_t data_bytes);

#endif
