/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The fuzzer's bytes, taken from the front. What is not there reads as zero. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

/* What each fuzz target is: libFuzzer's entry point. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct fuzz_input {
	const uint8_t *next;
	size_t bytes;
};

static inline uint8_t fuzz_byte(struct fuzz_input *input)
{
	if (!input->bytes)
		return 0;
	input->bytes--;
	return *input->next++;
}

static inline uint16_t fuzz_16(struct fuzz_input *input)
{
	uint16_t high = fuzz_byte(input);

	return (uint16_t)(high << 8 | fuzz_byte(input));
}

#endif
