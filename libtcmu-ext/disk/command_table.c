/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/command_table.h"

#include <string.h>

#include "disk/capacity.h"
#include "disk/inquiry.h"
#include "disk/lba_status.h"
#include "disk/mode.h"
#include "disk/orwrite.h"
#include "disk/pre_fetch.h"
#include "disk/provisioning.h"
#include "disk/read_write.h"
#include "disk/report_supported.h"
#include "disk/self_test.h"
#include "disk/synchronize_cache.h"
#include "disk/unit.h"
#include "disk/unmap.h"
#include "disk/verify.h"
#include "disk/write_same.h"

/* Fields that several CDBs share, as their usage bits. */
#define BYTES_2        0xff, 0xff
#define BYTES_4        BYTES_2, BYTES_2
#define BYTES_8        BYTES_4, BYTES_4
#define DPO            0x10
#define BYTCHK         0x06
#define DPO_FUA        0x18
#define GROUP_NUMBER   0x3f
#define SELF_TEST      0x17 /* PF, SELFTEST, DEVOFFL, UNITOFFL */
#define SERVICE_ACTION 0x1f

const struct command_row command_table[] = {
	{ .operation_code = TCMU_EXT_TEST_UNIT_READY,
	  .cdb_bytes = 6,
	  .execute = execute_test_unit_ready },
	{ .operation_code = TCMU_EXT_REQUEST_SENSE,
	  .cdb_bytes = 6,
	  .usage = { 0, 0x01, 0, 0, 0xff, 0 },
	  .execute = execute_request_sense },
	{ .operation_code = TCMU_EXT_READ_6,
	  .cdb_bytes = 6,
	  .usage = { 0, 0x1f, BYTES_2, 0xff, 0 },
	  .extent = extent_of_cdb,
	  .execute = execute_read },
	{ .operation_code = TCMU_EXT_WRITE_6,
	  .cdb_bytes = 6,
	  .writes = true,
	  .usage = { 0, 0x1f, BYTES_2, 0xff, 0 },
	  .extent = extent_of_cdb,
	  .execute = execute_write },
	{ .operation_code = TCMU_EXT_INQUIRY,
	  .cdb_bytes = 6,
	  .usage = { 0, 0x01, 0xff, BYTES_2, 0 },
	  .execute = execute_inquiry },
	{ .operation_code = TCMU_EXT_MODE_SELECT_6,
	  .cdb_bytes = 6,
	  .usage = { 0, 0x10, 0, 0, 0xff, 0 },
	  .waits = true,
	  .execute = execute_mode_select },
	{ .operation_code = TCMU_EXT_MODE_SENSE_6,
	  .cdb_bytes = 6,
	  .usage = { 0, 0x08, BYTES_2, 0xff, 0 },
	  .execute = execute_mode_sense },
	{ .operation_code = TCMU_EXT_START_STOP_UNIT,
	  .cdb_bytes = 6,
	  .usage = { 0, 0x01, 0, 0, 0x07, 0 },
	  .execute = execute_start_stop_unit },
	{ .operation_code = TCMU_EXT_SEND_DIAGNOSTIC,
	  .cdb_bytes = 6,
	  .usage = { 0, SELF_TEST, 0, 0, 0, 0 },
	  .waits = true,
	  .extent = extent_of_self_test,
	  .execute = execute_send_diagnostic },
	{ .operation_code = TCMU_EXT_READ_CAPACITY_10,
	  .cdb_bytes = 10,
	  .execute = execute_read_capacity_10 },
	{ .operation_code = TCMU_EXT_READ_10,
	  .cdb_bytes = 10,
	  .usage = { 0, DPO_FUA, BYTES_4, GROUP_NUMBER, BYTES_2, 0 },
	  .extent = extent_of_cdb,
	  .execute = execute_read },
	{ .operation_code = TCMU_EXT_WRITE_10,
	  .cdb_bytes = 10,
	  .writes = true,
	  .usage = { 0, DPO_FUA, BYTES_4, GROUP_NUMBER, BYTES_2, 0 },
	  .extent = extent_of_cdb,
	  .execute = execute_write },
	{ .operation_code = TCMU_EXT_WRITE_AND_VERIFY_10,
	  .cdb_bytes = 10,
	  .writes = true,
	  .usage = { 0, DPO | BYTCHK, BYTES_4, GROUP_NUMBER, BYTES_2, 0 },
	  .waits = true,
	  .extent = extent_of_cdb,
	  .execute = execute_write_and_verify },
	{ .operation_code = TCMU_EXT_VERIFY_10,
	  .cdb_bytes = 10,
	  .usage = { 0, DPO | BYTCHK, BYTES_4, GROUP_NUMBER, BYTES_2, 0 },
	  .waits = true,
	  .extent = extent_of_cdb,
	  .execute = execute_verify },
	{ .operation_code = TCMU_EXT_PRE_FETCH_10,
	  .cdb_bytes = 10,
	  .usage = { 0, 0x02, BYTES_4, GROUP_NUMBER, BYTES_2, 0 },
	  .waits = true,
	  .execute = execute_pre_fetch },
	{ .operation_code = TCMU_EXT_SYNCHRONIZE_CACHE_10,
	  .cdb_bytes = 10,
	  .usage = { 0, 0x02, BYTES_4, GROUP_NUMBER, BYTES_2, 0 },
	  .waits = true,
	  .execute = execute_synchronize_cache },
	{ .operation_code = TCMU_EXT_WRITE_SAME_10,
	  .cdb_bytes = 10,
	  .writes = true,
	  .usage = { 0, 0x18, BYTES_4, GROUP_NUMBER, BYTES_2, 0 },
	  .waits = true,
	  .extent = extent_of_cdb,
	  .execute = execute_write_same },
	{ .operation_code = TCMU_EXT_UNMAP,
	  .cdb_bytes = 10,
	  .is_available = provisioning_can_unmap,
	  .writes = true,
	  .usage = { 0, 0, 0, 0, 0, 0, GROUP_NUMBER, BYTES_2, 0 },
	  .waits = true,
	  .extent = extent_of_unmap,
	  .execute = execute_unmap },
	{ .operation_code = TCMU_EXT_MODE_SELECT_10,
	  .cdb_bytes = 10,
	  .usage = { 0, 0x10, 0, 0, 0, 0, 0, BYTES_2, 0 },
	  .waits = true,
	  .execute = execute_mode_select },
	{ .operation_code = TCMU_EXT_MODE_SENSE_10,
	  .cdb_bytes = 10,
	  .usage = { 0, 0x18, BYTES_2, 0, 0, 0, BYTES_2, 0 },
	  .execute = execute_mode_sense },
	{ .operation_code = TCMU_EXT_READ_16,
	  .cdb_bytes = 16,
	  .usage = { 0, DPO_FUA, BYTES_8, BYTES_4, GROUP_NUMBER, 0 },
	  .extent = extent_of_cdb,
	  .execute = execute_read },
	{ .operation_code = TCMU_EXT_COMPARE_AND_WRITE,
	  .cdb_bytes = 16,
	  .writes = true,
	  .usage = { 0, DPO_FUA, BYTES_8, 0, 0, 0, 0xff, GROUP_NUMBER, 0 },
	  .waits = true,
	  .extent = extent_of_cdb,
	  .execute = execute_compare_and_write },
	{ .operation_code = TCMU_EXT_WRITE_16,
	  .cdb_bytes = 16,
	  .writes = true,
	  .usage = { 0, DPO_FUA, BYTES_8, BYTES_4, GROUP_NUMBER, 0 },
	  .extent = extent_of_cdb,
	  .execute = execute_write },
	{ .operation_code = TCMU_EXT_ORWRITE_16,
	  .cdb_bytes = 16,
	  .writes = true,
	  .usage = { 0, DPO_FUA, BYTES_8, BYTES_4, GROUP_NUMBER, 0 },
	  .waits = true,
	  .extent = extent_of_cdb,
	  .execute = execute_orwrite },
	{ .operation_code = TCMU_EXT_WRITE_AND_VERIFY_16,
	  .cdb_bytes = 16,
	  .writes = true,
	  .usage = { 0, DPO | BYTCHK, BYTES_8, BYTES_4, GROUP_NUMBER, 0 },
	  .waits = true,
	  .extent = extent_of_cdb,
	  .execute = execute_write_and_verify },
	{ .operation_code = TCMU_EXT_VERIFY_16,
	  .cdb_bytes = 16,
	  .usage = { 0, DPO | BYTCHK, BYTES_8, BYTES_4, GROUP_NUMBER, 0 },
	  .waits = true,
	  .extent = extent_of_cdb,
	  .execute = execute_verify },
	{ .operation_code = TCMU_EXT_PRE_FETCH_16,
	  .cdb_bytes = 16,
	  .usage = { 0, 0x02, BYTES_8, BYTES_4, GROUP_NUMBER, 0 },
	  .waits = true,
	  .execute = execute_pre_fetch },
	{ .operation_code = TCMU_EXT_SYNCHRONIZE_CACHE_16,
	  .cdb_bytes = 16,
	  .usage = { 0, 0x02, BYTES_8, BYTES_4, GROUP_NUMBER, 0 },
	  .waits = true,
	  .execute = execute_synchronize_cache },
	{ .operation_code = TCMU_EXT_WRITE_SAME_16,
	  .cdb_bytes = 16,
	  .writes = true,
	  .usage = { 0, 0x19, BYTES_8, BYTES_4, GROUP_NUMBER, 0 },
	  .waits = true,
	  .extent = extent_of_cdb,
	  .execute = execute_write_same },
	{ .operation_code = TCMU_EXT_SERVICE_ACTION_IN_16,
	  .cdb_bytes = 16,
	  .has_service_action = true,
	  .service_action = TCMU_EXT_READ_CAPACITY_16,
	  .usage = { 0, SERVICE_ACTION, 0, 0, 0, 0, 0, 0, 0, 0, BYTES_4, 0, 0 },
	  .execute = execute_read_capacity_16 },
	{ .operation_code = TCMU_EXT_SERVICE_ACTION_IN_16,
	  .cdb_bytes = 16,
	  .has_service_action = true,
	  .service_action = TCMU_EXT_GET_LBA_STATUS,
	  .usage = { 0, SERVICE_ACTION, BYTES_8, BYTES_4, 0, 0 },
	  .waits = true,
	  .execute = execute_get_lba_status },
	{ .operation_code = TCMU_EXT_MAINTENANCE_IN,
	  .cdb_bytes = 12,
	  .has_service_action = true,
	  .service_action = TCMU_EXT_REPORT_SUPPORTED_OPERATION_CODES,
	  .usage = { 0, SERVICE_ACTION, 0x87, 0xff, BYTES_2, BYTES_4, 0, 0 },
	  .execute = execute_report_supported_operation_codes },
	{ .operation_code = TCMU_EXT_MAINTENANCE_IN,
	  .cdb_bytes = 12,
	  .has_service_action = true,
	  .service_action = TCMU_EXT_REPORT_SUPPORTED_TASK_MANAGEMENT_FUNCTIONS,
	  .usage = { 0, SERVICE_ACTION, 0x80, 0, 0, 0, BYTES_4, 0, 0 },
	  .execute = execute_report_supported_task_management_functions },
	{ .operation_code = TCMU_EXT_READ_12,
	  .cdb_bytes = 12,
	  .usage = { 0, DPO_FUA, BYTES_4, BYTES_4, GROUP_NUMBER, 0 },
	  .extent = extent_of_cdb,
	  .execute = execute_read },
	{ .operation_code = TCMU_EXT_WRITE_12,
	  .cdb_bytes = 12,
	  .writes = true,
	  .usage = { 0, DPO_FUA, BYTES_4, BYTES_4, GROUP_NUMBER, 0 },
	  .extent = extent_of_cdb,
	  .execute = execute_write },
	{ .operation_code = TCMU_EXT_WRITE_AND_VERIFY_12,
	  .cdb_bytes = 12,
	  .writes = true,
	  .usage = { 0, DPO | BYTCHK, BYTES_4, BYTES_4, GROUP_NUMBER, 0 },
	  .waits = true,
	  .extent = extent_of_cdb,
	  .execute = execute_write_and_verify },
	{ .operation_code = TCMU_EXT_VERIFY_12,
	  .cdb_bytes = 12,
	  .usage = { 0, DPO | BYTCHK, BYTES_4, BYTES_4, GROUP_NUMBER, 0 },
	  .waits = true,
	  .extent = extent_of_cdb,
	  .execute = execute_verify },
};

const size_t command_table_rows = sizeof(command_table) / sizeof(command_table[0]);

_Static_assert(sizeof(command_table) / sizeof(command_table[0]) < NO_ROW,
	       "a row number must fit a byte");

const struct command_row *command_table_find(const struct tcmu_ext_disk *disk, const uint8_t *cdb)
{
	uint8_t first = disk->first_row[cdb[0]];

	if (first == NO_ROW)
		return NULL;
	for (size_t i = first; i < command_table_rows; i++) {
		const struct command_row *row = &command_table[i];

		if (row->operation_code != cdb[0])
			break;
		if (!row->has_service_action || row->service_action == (cdb[1] & 0x1f))
			return row;
	}
	return NULL;
}

void command_table_index(uint8_t *first_row)
{
	memset(first_row, NO_ROW, 256);
	for (size_t row = command_table_rows; row-- > 0;)
		first_row[command_table[row].operation_code] = (uint8_t)row;
}
