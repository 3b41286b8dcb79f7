/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "vhost-pattern.h"

#include <stddef.h>

uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1d;
}

static uint64_t word_of(unsigned index, uint64_t block, uint32_t generation, uint64_t *state)
{
	if (index == 0)
		return block;
	return index == 1 ? generation : next_random(state);
}

static uint64_t seed_of(uint64_t block, uint32_t generation)
{
	return (block << 32 | generation) * 0x9e3779b97f4a7c15 | 1;
}

void pattern_fill(void *data, uint64_t first_block, uint32_t blocks, uint32_t block_bytes,
		  uint32_t generation)
{
	uint64_t *word = data;

	for (uint64_t block = first_block; block < first_block + blocks; block++) {
		uint64_t state = seed_of(block, generation);

		for (unsigned i = 0; i < block_bytes / sizeof(*word); i++)
			*word++ = word_of(i, block, generation, &state);
	}
}

bool pattern_matches(const void *data, uint64_t first_block, uint32_t blocks, uint32_t block_bytes,
		     uint32_t generation)
{
	const uint64_t *word = data;

	for (uint64_t block = first_block; block < first_block + blocks; block++) {
		uint64_t state = seed_of(block, generation);

		for (unsigned i = 0; i < block_bytes / sizeof(*word); i++) {
			if (*word++ != word_of(i, block, generation, &state))
				return false;
		}
	}
	return true;
}
