/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Which ranges of a file hold data, for GET LBA STATUS. */
#include <errno.h>
#include <unistd.h>

#include "backend/file.h"
#include "backend/transfer.h"

/* From `offset`, which is in data, to the next hole: whole blocks, with what of one is data. */
static uint64_t data_run(const struct storage *storage, uint64_t offset, uint64_t bytes)
{
	off_t hole = lseek(storage->fd, (off_t)offset, SEEK_HOLE);

	if (hole <= (off_t)offset)
		return bytes;
	return minimum(bytes, round_up((uint64_t)hole - offset, storage->lun_block_bytes));
}

/*
 * Two calls at most, whatever the range: some file systems take long over each. One that cannot
 * tell counts as full.
 */
int file_allocation(void *instance, uint64_t offset, uint64_t bytes, uint64_t *run_bytes,
		    enum tcmu_ext_allocation *allocation)
{
	const struct storage *storage = instance;
	off_t data = lseek(storage->fd, (off_t)offset, SEEK_DATA);
	uint64_t hole_bytes = 0;

	if (data < 0 && errno == ENXIO) /* no data from here to the end */
		hole_bytes = bytes;
	else if (data > (off_t)offset)
		hole_bytes = minimum(bytes,
				     round_down((uint64_t)data - offset, storage->lun_block_bytes));
	*allocation = hole_bytes ? TCMU_EXT_DEALLOCATED : TCMU_EXT_MAPPED;
	if (hole_bytes)
		*run_bytes = hole_bytes;
	else if (data == (off_t)offset)
		*run_bytes = data_run(storage, offset, bytes);
	else if (data > (off_t)offset)
		*run_bytes = minimum(bytes, storage->lun_block_bytes);
	else
		*run_bytes = bytes;
	return 0;
}
