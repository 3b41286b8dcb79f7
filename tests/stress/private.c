/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <string.h>

#include "pattern.h"
#include "workloads.h"

enum { PRIVATE_BLOCKS = 64, WRITE_BLOCKS_MAXIMUM = 8 };

/* What each thread has written; 0: nothing yet, or zeroes. */
static uint64_t written[THREADS_MAXIMUM][PRIVATE_BLOCKS];

static void check_blocks(struct thread *thread, unsigned int owner, uint64_t lba, uint32_t first,
			 uint32_t count)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;
	const char *data = thread->memory;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t tag =
			pattern_tag(data + (size_t)i * block_bytes, block_bytes, lba + first + i);

		if (tag != written[owner][first + i])
			violation("thread %u wrote %llx to block %llu and finds %llx", owner,
				  (unsigned long long)written[owner][first + i],
				  (unsigned long long)(lba + first + i), (unsigned long long)tag);
	}
}

static void write_blocks(struct thread *thread, uint64_t lba, uint32_t first, uint32_t count)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;
	size_t bytes = (size_t)count * block_bytes;
	uint64_t tag = new_tag(thread);

	pattern_fill_all(thread->memory, block_bytes, count, tag);
	if (expect_good(thread,
			scsi_write(thread->handle, lba + first, count, thread->memory, bytes,
				   !chance(thread, 8)),
			"WRITE"))
		for (uint32_t i = 0; i < count; i++)
			written[thread->number][first + i] = tag;
}

static void step(struct thread *thread, uint64_t lba)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;
	uint32_t first = chance(thread, PRIVATE_BLOCKS);
	uint32_t count = 1 + chance(thread, WRITE_BLOCKS_MAXIMUM);

	if (count > PRIVATE_BLOCKS - first)
		count = PRIVATE_BLOCKS - first;
	if (chance(thread, 2))
		write_blocks(thread, lba, first, count);
	else if (expect_good(thread,
			     scsi_read(thread->handle, lba + first, count, thread->memory,
				       (size_t)count * block_bytes),
			     "READ"))
		check_blocks(thread, thread->number, lba, first, count);
	atomic_fetch_add(&thread->disk->commands, 1);
}

static void set_up(struct thread *thread, uint64_t lba)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;

	pattern_fill(thread->memory, block_bytes, 0);
	expect_good(
		thread,
		scsi_write_same(thread->handle, lba, PRIVATE_BLOCKS, thread->memory, block_bytes),
		"WRITE SAME");
}

/* `lba` is where the first thread's blocks are. */
static void check(struct thread *thread, uint64_t lba)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;

	for (unsigned int owner = 0; owner < thread->disk->threads; owner++) {
		uint64_t place = lba + (uint64_t)owner * PRIVATE_BLOCKS;

		for (uint32_t block = 0; block < PRIVATE_BLOCKS; block++)
			if (expect_good(thread,
					scsi_read(thread->handle, place + block, 1, thread->memory,
						  block_bytes),
					"READ"))
				check_blocks(thread, owner, place, block, 1);
	}
}

const struct workload workload_private = {
	.name = "private",
	.blocks = PRIVATE_BLOCKS,
	.is_private = true,
	.survives_repetition = true,
	.set_up = set_up,
	.step = step,
	.check = check,
};
