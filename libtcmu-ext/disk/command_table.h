/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The commands of the disk: one row each drives dispatch, the field checks and the report of them.
 */
#ifndef DISK_COMMAND_TABLE_H
#define DISK_COMMAND_TABLE_H

#include "disk/disk.h"
#include "disk/range.h"

enum { CDB_MAXIMUM_BYTES = 16 };

struct command_row {
	uint8_t operation_code;
	uint8_t cdb_bytes;
	bool has_service_action; /* in the low five bits of byte 1 */
	uint8_t service_action;
	bool (*is_available)(const struct tcmu_ext_disk *disk); /* NULL: always */
	bool writes; /* refused when the disk is write protected */
	/*
	 * May wait for the storage, or take long. Of READ and WRITE it depends; they find out for
	 * themselves.
	 */
	bool waits;
	/* The blocks it reads, or with `writes` changes. NULL: none. */
	struct extent (*extent)(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command);
	/*
	 * CDB USAGE DATA (SPC-4 6.35.3): the bits that mean something, from byte 1 on; byte 0 is
	 * the operation code. A CDB with any other bit set is refused.
	 */
	uint8_t usage[CDB_MAXIMUM_BYTES];
	enum tcmu_ext_status (*execute)(struct tcmu_ext_disk *disk,
					struct tcmu_ext_command *command);
};

/* Rows of the same operation code stand together. */
extern const struct command_row command_table[];
extern const size_t command_table_rows;

/* The row for a CDB; NULL when the operation code or its service action is not in the table. */
const struct command_row *command_table_find(const struct tcmu_ext_disk *disk, const uint8_t *cdb);

/* Fills `first_row` (an entry for each operation code) with row numbers, NO_ROW where there is
 * none. */
enum { NO_ROW = 0xff };
void command_table_index(uint8_t *first_row);

#endif
