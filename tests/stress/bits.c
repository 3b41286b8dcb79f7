/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <string.h>

#include "workloads.h"

enum { BIT_BLOCKS = 4 };

/* How many of its bits each thread has set: every THREADS_MAXIMUM-th is one of its. */
static uint32_t set_bits[THREADS_MAXIMUM];

static uint32_t bits_of_a_thread(const struct disk *disk)
{
	return BIT_BLOCKS * disk->capacity.block_bytes * 8 / THREADS_MAXIMUM;
}

static uint32_t position_of(unsigned int thread, uint32_t bit)
{
	return bit * THREADS_MAXIMUM + thread;
}

static void check_bits(const uint8_t *data, unsigned int thread)
{
	for (uint32_t bit = 0; bit < set_bits[thread]; bit++) {
		uint32_t position = position_of(thread, bit);

		if (!(data[position / 8] & 1u << position % 8))
			violation("bit %u, set by thread %u, is lost", position, thread);
	}
}

static void step(struct thread *thread, uint64_t lba)
{
	uint32_t bit = set_bits[thread->number];
	uint32_t position = position_of(thread->number, bit);
	size_t bytes = (size_t)BIT_BLOCKS * thread->disk->capacity.block_bytes;
	uint8_t *data = thread->memory;

	if (bit < bits_of_a_thread(thread->disk)) {
		memset(data, 0, bytes);
		data[position / 8] = (uint8_t)(1u << position % 8);
		if (!expect_good(thread, scsi_orwrite(thread->handle, lba, BIT_BLOCKS, data, bytes),
				 "ORWRITE"))
			return;
		set_bits[thread->number]++;
	}
	if (expect_good(thread, scsi_read(thread->handle, lba, BIT_BLOCKS, data, bytes), "READ"))
		check_bits(data, thread->number);
	atomic_fetch_add(&thread->disk->commands, 2);
}

static void set_up(struct thread *thread, uint64_t lba)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;

	memset(thread->memory, 0, block_bytes);
	expect_good(thread,
		    scsi_write_same(thread->handle, lba, BIT_BLOCKS, thread->memory, block_bytes),
		    "WRITE SAME");
}

static void check(struct thread *thread, uint64_t lba)
{
	size_t bytes = (size_t)BIT_BLOCKS * thread->disk->capacity.block_bytes;

	if (expect_good(thread, scsi_read(thread->handle, lba, BIT_BLOCKS, thread->memory, bytes),
			"READ"))
		for (unsigned int i = 0; i < thread->disk->threads; i++)
			check_bits(thread->memory, i);
}

const struct workload workload_bits = {
	.name = "bits",
	.blocks = BIT_BLOCKS,
	.survives_repetition = true,
	.set_up = set_up,
	.step = step,
	.check = check,
};
