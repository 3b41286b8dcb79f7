/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "pattern.h"
#include "workloads.h"

enum { CELLS = 3, CELL_BLOCKS = 8 };

static void check_cell(struct thread *thread, uint64_t place)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;
	const char *data = thread->memory;
	uint64_t tag;

	if (!expect_good(thread,
			 scsi_read(thread->handle, place, CELL_BLOCKS, thread->memory,
				   (size_t)CELL_BLOCKS * block_bytes),
			 "READ"))
		return;
	tag = pattern_tag(data, block_bytes, place);
	for (uint32_t i = 1; i < CELL_BLOCKS; i++)
		if (pattern_tag(data + (size_t)i * block_bytes, block_bytes, place + i) != tag)
			violation("a read sees parts of two commands at block %llu",
				  (unsigned long long)(place + i));
}

static void change_cell(struct thread *thread, uint64_t place)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;
	size_t bytes = (size_t)CELL_BLOCKS * block_bytes;
	enum scsi_outcome outcome;

	pattern_fill_all(thread->memory, block_bytes, CELL_BLOCKS, new_tag(thread));
	switch (chance(thread, thread->disk->capacity.unmaps_to_zero ? 3 : 2)) {
	case 0:
		outcome = scsi_write_same(thread->handle, place, CELL_BLOCKS, thread->memory,
					  block_bytes);
		break;
	case 1:
		outcome = scsi_write_and_verify(thread->handle, place, CELL_BLOCKS, thread->memory,
						bytes);
		break;
	default:
		outcome = scsi_unmap(thread->handle, place, CELL_BLOCKS);
		break;
	}
	expect_good(thread, outcome, "a command that changes a cell");
}

static void step(struct thread *thread, uint64_t lba)
{
	uint64_t place = lba + (uint64_t)chance(thread, CELLS) * CELL_BLOCKS;

	if (chance(thread, 2))
		check_cell(thread, place);
	else
		change_cell(thread, place);
	atomic_fetch_add(&thread->disk->commands, 1);
}

static void set_up(struct thread *thread, uint64_t lba)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;

	pattern_fill(thread->memory, block_bytes, 0);
	expect_good(thread,
		    scsi_write_same(thread->handle, lba, CELLS * CELL_BLOCKS, thread->memory,
				    block_bytes),
		    "WRITE SAME");
}

static void check(struct thread *thread, uint64_t lba)
{
	for (uint32_t cell = 0; cell < CELLS; cell++)
		check_cell(thread, lba + (uint64_t)cell * CELL_BLOCKS);
}

const struct workload workload_cells = {
	.name = "cells",
	.blocks = CELLS * CELL_BLOCKS,
	.survives_repetition = true,
	.set_up = set_up,
	.step = step,
	.check = check,
};
