/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* From a CDB to the function that executes it: the row is found, the fields are checked. */
#include "disk/command_table.h"
#include "disk/lane.h"
#include "disk/outcome.h"

/*
 * The bits of a byte that mean nothing. SCSI-2 had the LUN in byte 1, and an initiator that does
 * not yet know which standard the disk follows puts it there: Linux does when it probes a target,
 * and finds no LUN but 0 if its INQUIRY is refused.
 */
static inline unsigned int meaningless_bits(const struct command_row *row, const uint8_t *cdb,
					    unsigned int byte)
{
	unsigned int bits = cdb[byte] & (unsigned int)~row->usage[byte];

	if (__builtin_expect(bits != 0, 0) && byte == 1 && row->cdb_bytes == 6)
		bits &= 0x1f;
	return bits;
}

/* Refuses a CDB with a bit set that means nothing in it, NACA included (SPC-4 4.2.5.6). */
static enum tcmu_ext_status check_fields(const struct tcmu_ext_disk *disk,
					 const struct command_row *row,
					 struct tcmu_ext_command *command)
{
	for (unsigned int byte = 1; byte < row->cdb_bytes; byte++) {
		unsigned int fault = meaningless_bits(row, command->cdb, byte);

		if (__builtin_expect(fault != 0, 0))
			return invalid_field_in_cdb(disk, command, byte, 31 - __builtin_clz(fault));
	}
	return TCMU_EXT_STATUS_GOOD;
}

static enum tcmu_ext_status execute_row(struct tcmu_ext_disk *disk, const struct command_row *row,
					struct tcmu_ext_command *command)
{
	enum tcmu_ext_status status;

	if (row->is_available && !row->is_available(disk))
		return tcmu_ext_command_refuse_opcode(disk, command);
	status = check_fields(disk, row, command);
	if (status != TCMU_EXT_STATUS_GOOD)
		return status;
	if (row->writes && disk_is_write_protected(disk))
		return write_protected(disk, command);
	if (row->waits && is_beside_engine(disk, command))
		return TCMU_EXT_STATUS_WOULD_BLOCK;
	return row->execute(disk, command);
}

static void count(struct tcmu_ext_disk *disk, const struct tcmu_ext_command *command,
		  enum tcmu_ext_status status)
{
	struct tcmu_ext_disk_counters *counters = &lane_of(disk, command)->counters;

	if (status == TCMU_EXT_STATUS_WOULD_BLOCK)
		return; /* it has not ended */
	counter_add(&counters->commands, 1);
	if (status == TCMU_EXT_STATUS_CHECK_CONDITION)
		counter_add(&counters->check_conditions, 1);
}

enum tcmu_ext_status tcmu_ext_disk_execute(struct tcmu_ext_disk *disk,
					   struct tcmu_ext_command *command)
{
	const struct command_row *row;
	enum tcmu_ext_status status;

	/* Two bytes tell the row, and the row how many there must be. */
	if (command->cdb_bytes < 2)
		return invalid_field_in_cdb(disk, command, 0, -1);
	row = command_table_find(disk, command->cdb);
	if (!row)
		return TCMU_EXT_STATUS_NOT_MINE;
	status = command->cdb_bytes < row->cdb_bytes ? invalid_field_in_cdb(disk, command, 0, -1)
						     : execute_row(disk, row, command);
	count(disk, command, status);
	return status;
}
