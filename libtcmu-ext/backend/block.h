/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The backend `block`: a block device. */
#ifndef BACKEND_BLOCK_H
#define BACKEND_BLOCK_H

#include "backend/storage.h"

struct block {
	struct storage storage; /* first: the operations shared with `file` take it */
	uint32_t logical_block_bytes;
	uint32_t physical_block_bytes;
	uint32_t physical_alignment_bytes;
	uint32_t optimal_transfer_bytes;
	uint32_t discard_granularity_bytes;
	uint32_t discard_alignment_bytes;
	bool rotational;
};

/* Operation; see tcmu-ext/backend.h. */
int block_check(const struct tcmu_ext_backend_config *config, char **reason);

/* Fills in what the open device says of itself. Returns 0, or -errno after saying what is wrong. */
int block_learn_limits(struct block *block);

#endif
