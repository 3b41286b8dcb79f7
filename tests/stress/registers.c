/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <string.h>

#include "pattern.h"
#include "register-log.h"
#include "workloads.h"

enum { REGISTERS = 48, COMPARE_BLOCKS_MAXIMUM = 4 };

static struct register_log logs[REGISTERS];

struct range {
	uint64_t lba;
	uint32_t first; /* register */
	uint32_t count;
};

static struct range some_range(struct thread *thread, uint64_t lba, uint32_t maximum)
{
	struct range range = { .first = chance(thread, REGISTERS) };

	range.count = 1 + chance(thread, maximum);
	if (range.count > REGISTERS - range.first)
		range.count = REGISTERS - range.first;
	range.lba = lba + range.first;
	return range;
}

static uint64_t begin_writes(struct thread *thread, struct range range, uint64_t tag)
{
	uint64_t earliest = earliest_beginning(thread->disk);
	uint64_t began = begin(thread);

	for (uint32_t i = 0; i < range.count; i++)
		register_log_begin(&logs[range.first + i], tag, began, earliest);
	return began;
}

static void end_writes(struct thread *thread, struct range range, uint64_t tag, uint64_t began)
{
	uint64_t ended = end(thread);

	for (uint32_t i = 0; i < range.count; i++)
		register_log_end(&logs[range.first + i], tag, began, ended);
}

static void check_reads(struct thread *thread, struct range range, const char *data, uint64_t began)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;

	for (uint32_t i = 0; i < range.count; i++)
		register_log_check(
			&logs[range.first + i],
			pattern_tag(data + (size_t)i * block_bytes, block_bytes, range.lba + i),
			began);
}

static void read_some(struct thread *thread, uint64_t lba)
{
	struct range range = some_range(thread, lba, DATA_BLOCKS);
	size_t bytes = (size_t)range.count * thread->disk->capacity.block_bytes;
	uint64_t began = begin(thread);

	if (expect_good(thread,
			scsi_read(thread->handle, range.lba, range.count, thread->memory, bytes),
			"READ"))
		check_reads(thread, range, thread->memory, began);
	end(thread);
}

enum way { WAY_WRITE, WAY_WRITE_FUA, WAY_WRITE_AND_VERIFY, WAY_WRITE_SAME, WAY_UNMAP };

static enum scsi_outcome write_by(struct thread *thread, struct range range, enum way way,
				  uint64_t tag)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;
	size_t bytes = (size_t)range.count * block_bytes;

	pattern_fill_all(thread->memory, block_bytes, range.count, tag);
	switch (way) {
	case WAY_WRITE_AND_VERIFY:
		return scsi_write_and_verify(thread->handle, range.lba, range.count, thread->memory,
					     bytes);
	case WAY_WRITE_SAME:
		return scsi_write_same(thread->handle, range.lba, range.count, thread->memory,
				       block_bytes);
	case WAY_UNMAP:
		return scsi_unmap(thread->handle, range.lba, range.count);
	case WAY_WRITE:
	case WAY_WRITE_FUA:
		break;
	}
	return scsi_write(thread->handle, range.lba, range.count, thread->memory, bytes,
			  way == WAY_WRITE_FUA);
}

static void write_some(struct thread *thread, uint64_t lba, enum way way)
{
	struct range range = some_range(thread, lba, DATA_BLOCKS);
	uint64_t tag = way == WAY_UNMAP ? 0 : new_tag(thread);
	uint64_t began = begin_writes(thread, range, tag);

	if (expect_good(thread, write_by(thread, range, way, tag), "a write"))
		end_writes(thread, range, tag, began);
}

/* What is there is read first, so that most comparisons succeed unless another thread was quicker.
 */
static void compare_and_write(struct thread *thread, uint64_t lba)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;
	struct range range = some_range(thread, lba, COMPARE_BLOCKS_MAXIMUM);
	size_t half = (size_t)range.count * block_bytes;
	char *data = thread->memory;
	enum scsi_outcome outcome;
	uint64_t tag = new_tag(thread);
	uint64_t began;

	if (!expect_good(thread, scsi_read(thread->handle, range.lba, range.count, data, half),
			 "READ"))
		return;
	pattern_fill_all(data + half, block_bytes, range.count, tag);
	began = begin_writes(thread, range, tag);
	outcome = scsi_compare_and_write(thread->handle, range.lba, (uint8_t)range.count, data,
					 2 * half);
	if (outcome == SCSI_MISCOMPARE) {
		for (uint32_t i = 0; i < range.count; i++)
			register_log_cancel(&logs[range.first + i], tag, began);
		end(thread);
	} else if (expect_good(thread, outcome, "COMPARE AND WRITE")) {
		check_reads(thread, range, data, began);
		end_writes(thread, range, tag, began);
	}
}

static void verify_some(struct thread *thread, uint64_t lba)
{
	struct range range = some_range(thread, lba, DATA_BLOCKS);
	size_t bytes = (size_t)range.count * thread->disk->capacity.block_bytes;
	enum scsi_outcome outcome;
	uint64_t began;

	if (!expect_good(thread,
			 scsi_read(thread->handle, range.lba, range.count, thread->memory, bytes),
			 "READ"))
		return;
	began = begin(thread);
	outcome = scsi_verify(thread->handle, range.lba, range.count, thread->memory, bytes);
	if (outcome != SCSI_MISCOMPARE && expect_good(thread, outcome, "VERIFY"))
		check_reads(thread, range, thread->memory, began);
	end(thread);
}

static void step(struct thread *thread, uint64_t lba)
{
	uint32_t kind = chance(thread, 100);

	if (kind < 35)
		read_some(thread, lba);
	else if (kind < 60)
		write_some(thread, lba, WAY_WRITE);
	else if (kind < 66)
		write_some(thread, lba, WAY_WRITE_FUA);
	else if (kind < 72)
		write_some(thread, lba, WAY_WRITE_AND_VERIFY);
	else if (kind < 78)
		write_some(thread, lba, WAY_WRITE_SAME);
	else if (kind < 83 && thread->disk->capacity.unmaps_to_zero)
		write_some(thread, lba, WAY_UNMAP);
	else if (kind < 92)
		compare_and_write(thread, lba);
	else if (kind < 97)
		verify_some(thread, lba);
	else
		expect_good(thread, scsi_synchronize_cache(thread->handle), "SYNCHRONIZE CACHE");
}

static void set_up(struct thread *thread, uint64_t lba)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;

	memset(thread->memory, 0, block_bytes);
	for (uint32_t i = 0; i < REGISTERS; i++)
		register_log_init(&logs[i], lba + i);
	expect_good(thread,
		    scsi_write_same(thread->handle, lba, REGISTERS, thread->memory, block_bytes),
		    "WRITE SAME");
}

static void check(struct thread *thread, uint64_t lba)
{
	uint32_t block_bytes = thread->disk->capacity.block_bytes;

	for (uint32_t i = 0; i < REGISTERS; i++) {
		struct range range = { lba + i, i, 1 };
		uint64_t began = begin(thread);

		if (expect_good(
			    thread,
			    scsi_read(thread->handle, range.lba, 1, thread->memory, block_bytes),
			    "READ"))
			check_reads(thread, range, thread->memory, began);
		end(thread);
	}
}

const struct workload workload_registers = {
	.name = "registers",
	.blocks = REGISTERS,
	.set_up = set_up,
	.step = step,
	.check = check,
};
