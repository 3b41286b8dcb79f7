/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What is in a block: a tag, and bytes that follow from it; all zero for tag 0. */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdint.h>

void pattern_fill(void *block, uint32_t block_bytes, uint64_t tag);
void pattern_fill_all(void *blocks, uint32_t block_bytes, uint32_t count, uint64_t tag);

/* The tag of a block; ends the program when the block is not all of one tag. */
uint64_t pattern_tag(const void *block, uint32_t block_bytes, uint64_t lba);

#endif
