/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/medium.h"

#include "disk/read_write.h"

struct range scratch_chunk(const struct tcmu_ext_disk *disk, struct range range)
{
	uint32_t maximum = SCRATCH_HALF_BYTES >> disk->block_shift;

	if (range.blocks > maximum)
		range.blocks = maximum;
	return range;
}

struct range range_after(struct range range, uint32_t blocks)
{
	range.lba += blocks;
	range.blocks -= blocks;
	return range;
}

/* The same command, so that sense data goes where it belongs, but with `iov` as its buffer. */
static struct tcmu_ext_command with_buffer(const struct tcmu_ext_command *command,
					   struct iovec *iov)
{
	struct tcmu_ext_command inner = *command;

	inner.iov = iov;
	inner.iov_count = 1;
	return inner;
}

static struct iovec chunk_buffer(const struct tcmu_ext_disk *disk, struct range chunk,
				 uint8_t *memory)
{
	return (struct iovec){ memory, (size_t)chunk.blocks << disk->block_shift };
}

enum tcmu_ext_status medium_read(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				 struct range chunk, uint8_t *memory)
{
	struct iovec iov = chunk_buffer(disk, chunk, memory);
	struct tcmu_ext_command inner = with_buffer(command, &iov);

	return read_range(disk, &inner, chunk);
}

enum tcmu_ext_status medium_write(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				  struct range chunk, uint8_t *memory, bool force_unit_access)
{
	struct iovec iov = chunk_buffer(disk, chunk, memory);
	struct tcmu_ext_command inner = with_buffer(command, &iov);

	return write_range(disk, &inner, chunk, force_unit_access);
}
