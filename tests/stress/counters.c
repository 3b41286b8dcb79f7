/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <stdatomic.h>

#include "pattern.h"
#include "workloads.h"

enum { COUNTERS = 4, COUNTER_BLOCKS = 4 };

/* Counter N takes N + 1 of its blocks, all with the same tag: its value plus one. */
static _Atomic uint64_t counted[COUNTERS];

static uint64_t place_of(uint64_t lba, uint32_t counter)
{
	return lba + (uint64_t)counter * COUNTER_BLOCKS;
}

/* Reads a counter; its blocks must agree. Returns its tag, or 0 when the disk is gone. */
static uint64_t read_counter(struct thread *thread, uint64_t lba, uint32_t counter)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;
	uint64_t place = place_of(lba, counter);
	uint32_t blocks = counter + 1;
	char *data = thread->memory;
	uint64_t tag;

	if (!expect_good(
		    thread,
		    scsi_read(thread->handle, place, blocks, data, (size_t)blocks * block_bytes),
		    "READ"))
		return 0;
	tag = pattern_tag(data, block_bytes, place);
	for (uint32_t i = 1; i < blocks; i++)
		if (pattern_tag(data + (size_t)i * block_bytes, block_bytes, place + i) != tag)
			violation("a read sees half of a COMPARE AND WRITE at block %llu",
				  (unsigned long long)place);
	return tag;
}

static void step(struct thread *thread, uint64_t lba)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;
	uint32_t counter = chance(thread, COUNTERS);
	size_t half = (size_t)(counter + 1) * block_bytes;
	uint64_t tag = read_counter(thread, lba, counter);
	char *data = thread->memory;
	enum scsi_outcome outcome;

	if (!tag)
		return;
	pattern_fill_all(data + half, block_bytes, counter + 1, tag + 1);
	outcome = scsi_compare_and_write(thread->handle, place_of(lba, counter),
					 (uint8_t)(counter + 1), data, 2 * half);
	atomic_fetch_add(&thread->disk->commands, 2);
	if (outcome == SCSI_GOOD)
		atomic_fetch_add(&counted[counter], 1);
	else if (outcome != SCSI_MISCOMPARE)
		expect_good(thread, outcome, "COMPARE AND WRITE");
}

static void set_up(struct thread *thread, uint64_t lba)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;

	pattern_fill(thread->memory, block_bytes, 1);
	expect_good(thread,
		    scsi_write_same(thread->handle, lba, COUNTERS * COUNTER_BLOCKS, thread->memory,
				    block_bytes),
		    "WRITE SAME");
}

static void check(struct thread *thread, uint64_t lba)
{
	for (uint32_t counter = 0; counter < COUNTERS; counter++) {
		uint64_t tag = read_counter(thread, lba, counter);

		if (tag && tag - 1 != atomic_load(&counted[counter]))
			violation("counter %u was counted up %llu times and stands at %llu",
				  counter, (unsigned long long)atomic_load(&counted[counter]),
				  (unsigned long long)(tag - 1));
	}
}

const struct workload workload_counters = {
	.name = "counters",
	.blocks = COUNTERS * COUNTER_BLOCKS,
	.set_up = set_up,
	.step = step,
	.check = check,
};
