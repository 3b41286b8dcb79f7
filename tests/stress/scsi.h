/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* SCSI commands through a Linux SG device, one at a time for each handle. */
#ifndef SCSI_H
#define SCSI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum scsi_outcome {
	SCSI_GOOD,
	SCSI_MISCOMPARE, /* CHECK CONDITION with that sense key */
	SCSI_GONE,       /* the disk is no longer there */
};

/*
 * Sends a command and waits for it. `data` is read or written. BUSY, TASK SET FULL and UNIT
 * ATTENTION are tried again; anything else that is not an outcome above ends the program.
 */
enum scsi_outcome scsi_send(int handle, const uint8_t *cdb, size_t cdb_bytes, bool to_disk,
			    void *data, size_t data_bytes);

/* The commands used here, all with addresses and lengths in blocks. */
enum scsi_outcome scsi_read(int handle, uint64_t lba, uint32_t blocks, void *data, size_t bytes);
enum scsi_outcome scsi_write(int handle, uint64_t lba, uint32_t blocks, const void *data,
			     size_t bytes, bool force_unit_access);
enum scsi_outcome scsi_write_and_verify(int handle, uint64_t lba, uint32_t blocks, const void *data,
					size_t bytes);
enum scsi_outcome scsi_verify(int handle, uint64_t lba, uint32_t blocks, const void *data,
			      size_t bytes);
enum scsi_outcome scsi_orwrite(int handle, uint64_t lba, uint32_t blocks, const void *data,
			       size_t bytes);
/* `data` has what is to be compared, then what is to be written. */
enum scsi_outcome scsi_compare_and_write(int handle, uint64_t lba, uint8_t blocks, const void *data,
					 size_t bytes);
enum scsi_outcome scsi_write_same(int handle, uint64_t lba, uint32_t blocks, const void *block,
				  size_t block_bytes);
enum scsi_outcome scsi_unmap(int handle, uint64_t lba, uint32_t blocks);
enum scsi_outcome scsi_synchronize_cache(int handle);

struct scsi_capacity {
	uint64_t blocks;
	uint32_t block_bytes;
	bool unmaps_to_zero; /* LBPME and LBPRZ */
};

struct scsi_capacity scsi_read_capacity(int handle);

#endif
