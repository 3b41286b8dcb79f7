/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Contents by which a block can be told from every other block and from its own earlier contents:
 * each begins with its address and its generation, and the rest follows from these.
 */
#ifndef VHOST_PATTERN_H
#define VHOST_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

void pattern_fill(void *data, uint64_t first_block, uint32_t blocks, uint32_t block_bytes,
		  uint32_t generation);

bool pattern_matches(const void *data, uint64_t first_block, uint32_t blocks, uint32_t block_bytes,
		     uint32_t generation);

/* A step of the xorshift64* generator; the state must not be zero. */
uint64_t next_random(uint64_t *state);

#endif
