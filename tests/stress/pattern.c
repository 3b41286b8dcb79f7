/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "pattern.h"

#include <string.h>

#include "disk.h"

static uint64_t word(uint64_t tag, uint32_t index)
{
	return tag ? (tag + index) * UINT64_C(0x9e3779b97f4a7c15) : 0;
}

void pattern_fill(void *block, uint32_t block_bytes, uint64_t tag)
{
	uint64_t *words = block;

	words[0] = tag;
	for (uint32_t i = 1; i < block_bytes / sizeof(*words); i++)
		words[i] = word(tag, i);
}

void pattern_fill_all(void *blocks, uint32_t block_bytes, uint32_t count, uint64_t tag)
{
	for (uint32_t i = 0; i < count; i++)
		pattern_fill((char *)blocks + (uint64_t)i * block_bytes, block_bytes, tag);
}

uint64_t pattern_tag(const void *block, uint32_t block_bytes, uint64_t lba)
{
	const uint64_t *words = block;
	uint64_t tag = words[0];

	for (uint32_t i = 1; i < block_bytes / sizeof(*words); i++)
		if (words[i] != word(tag, i))
			violation("block %llu holds parts of two writes: tag %llx, word %u",
				  (unsigned long long)lba, (unsigned long long)tag, i);
	return tag;
}
