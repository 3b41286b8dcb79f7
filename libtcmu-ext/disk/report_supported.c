/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/report_supported.h"

#include <string.h>

#include <tcmu-ext/iovec.h>

#include "disk/command_table.h"
#include "disk/lane.h"
#include "disk/outcome.h"
#include "plumbing/byte_order.h"

enum {
	RCTD = 0x80,
	REPD = 0x80,
	SERVACTV = 0x01,
	CTDP_ALL = 0x02, /* in a descriptor of all commands */
	CTDP_ONE = 0x80, /* in the answer for one command */
	SUPPORT_NONE = 0x01,
	SUPPORT_STANDARD = 0x03,
	ALL_HEADER_BYTES = 4,
	ONE_HEADER_BYTES = 4,
	DESCRIPTOR_BYTES = 8,
	/* Its values stay 0: no indication of time (SPC-4 6.35.4). */
	TIMEOUTS_DESCRIPTOR_BYTES = 12,
};

/* REPORTING OPTIONS (SPC-4 table 246). */
enum reporting_options {
	REPORT_ALL = 0,
	REPORT_OPERATION_CODE = 1, /* of a command without service actions */
	REPORT_SERVICE_ACTION = 2, /* of a command with them */
	REPORT_EITHER = 3,
};

static bool is_offered(const struct tcmu_ext_disk *disk, const struct command_row *row)
{
	return !row->is_available || row->is_available(disk);
}

/* One command's identity, wherever it comes from. */
static struct tcmu_ext_command_description describe_row(const struct command_row *row)
{
	struct tcmu_ext_command_description description = {
		.operation_code = row->operation_code,
		.has_service_action = row->has_service_action,
		.service_action = row->service_action,
		.cdb_bytes = row->cdb_bytes,
	};

	memcpy(description.usage, row->usage, sizeof(description.usage));
	return description;
}

/* The commands in order: the disk's own, then the caller's. False at the end. */
static bool nth_command(const struct tcmu_ext_disk *disk, size_t number,
			struct tcmu_ext_command_description *description, bool *offered)
{
	if (number < command_table_rows) {
		*description = describe_row(&command_table[number]);
		*offered = is_offered(disk, &command_table[number]);
		return true;
	}
	number -= command_table_rows;
	if (number >= disk->other_command_count)
		return false;
	*description = disk->other_commands[number];
	*offered = true;
	return true;
}

static void write_timeouts_descriptor(uint8_t *bytes)
{
	put_be16(bytes, TIMEOUTS_DESCRIPTOR_BYTES - 2);
}

static size_t write_descriptor(const struct tcmu_ext_command_description *description,
			       bool timeouts, uint8_t *bytes)
{
	bytes[0] = description->operation_code;
	put_be16(bytes + 2, description->service_action);
	bytes[5] = description->has_service_action ? SERVACTV : 0;
	put_be16(bytes + 6, description->cdb_bytes);
	if (!timeouts)
		return DESCRIPTOR_BYTES;
	bytes[5] |= CTDP_ALL;
	write_timeouts_descriptor(bytes + DESCRIPTOR_BYTES);
	return DESCRIPTOR_BYTES + TIMEOUTS_DESCRIPTOR_BYTES;
}

static enum tcmu_ext_status report_all(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				       bool timeouts)
{
	struct tcmu_ext_command_description description;
	uint8_t *data = lane_of(disk, command)->scratch;
	size_t bytes = ALL_HEADER_BYTES;
	bool offered;

	memset(data, 0, SCRATCH_BYTES);
	for (size_t i = 0; nth_command(disk, i, &description, &offered); i++)
		if (offered)
			bytes += write_descriptor(&description, timeouts, data + bytes);
	put_be32(data, (uint32_t)(bytes - ALL_HEADER_BYTES));
	return answer(command, data, bytes, get_be32(command->cdb + 6));
}

/* What a request for one operation code finds. */
struct match {
	bool code_known;         /* some command has this operation code */
	bool has_service_action; /* and it has service actions */
	bool supported;          /* and this one is offered */
	struct tcmu_ext_command_description description;
};

static struct match find_command(const struct tcmu_ext_disk *disk, uint8_t operation_code,
				 uint16_t service_action)
{
	struct tcmu_ext_command_description description;
	struct match match = { 0 };
	bool offered;

	for (size_t i = 0; nth_command(disk, i, &description, &offered); i++) {
		if (description.operation_code != operation_code)
			continue;
		match.code_known = true;
		match.has_service_action = description.has_service_action;
		if (description.has_service_action && description.service_action != service_action)
			continue;
		match.supported = offered;
		match.description = description;
		break;
	}
	return match;
}

static enum tcmu_ext_status answer_one(struct tcmu_ext_command *command, const struct match *match,
				       bool timeouts)
{
	const struct tcmu_ext_command_description *description = &match->description;
	uint8_t data[ONE_HEADER_BYTES + CDB_MAXIMUM_BYTES + TIMEOUTS_DESCRIPTOR_BYTES] = { 0 };
	size_t bytes = ONE_HEADER_BYTES;

	data[1] = SUPPORT_NONE;
	if (match->supported) {
		data[1] = SUPPORT_STANDARD;
		put_be16(data + 2, description->cdb_bytes);
		memcpy(data + bytes, description->usage, description->cdb_bytes);
		data[bytes] = description->operation_code;
		if (description->has_service_action)
			data[bytes + 1] = (uint8_t)((description->usage[1] & 0xe0) |
						    description->service_action);
		bytes += description->cdb_bytes;
	}
	if (match->supported && timeouts) {
		data[1] |= CTDP_ONE;
		write_timeouts_descriptor(data + bytes);
		bytes += TIMEOUTS_DESCRIPTOR_BYTES;
	}
	return answer(command, data, bytes, get_be32(command->cdb + 6));
}

static enum tcmu_ext_status report_one(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				       enum reporting_options options, bool timeouts)
{
	struct match match = find_command(disk, command->cdb[3], get_be16(command->cdb + 4));

	if (match.code_known && match.has_service_action && options == REPORT_OPERATION_CODE)
		return invalid_field_in_cdb(disk, command, 2, 2);
	if (match.code_known && !match.has_service_action && options == REPORT_SERVICE_ACTION)
		return invalid_field_in_cdb(disk, command, 2, 2);
	/* A command without service actions has none but 0. */
	if (!match.has_service_action && get_be16(command->cdb + 4) && options == REPORT_EITHER)
		match.supported = false;
	return answer_one(command, &match, timeouts);
}

enum tcmu_ext_status execute_report_supported_operation_codes(struct tcmu_ext_disk *disk,
							      struct tcmu_ext_command *command)
{
	bool timeouts = command->cdb[2] & RCTD;
	enum reporting_options options = command->cdb[2] & 0x07;

	switch (options) {
	case REPORT_ALL:
		return report_all(disk, command, timeouts);
	case REPORT_OPERATION_CODE:
	case REPORT_SERVICE_ACTION:
	case REPORT_EITHER:
		return report_one(disk, command, options, timeouts);
	default:
		return invalid_field_in_cdb(disk, command, 2, 2);
	}
}

enum tcmu_ext_status execute_report_supported_task_management_functions(
	struct tcmu_ext_disk *disk, struct tcmu_ext_command *command)
{
	bool extended = command->cdb[2] & REPD;
	uint8_t data[16] = { disk->task_management_functions };

	/* The extended form adds timeouts, whose 0 says that nothing is known of them. */
	data[3] = extended ? 0x0c : 0;
	return answer(command, data, extended ? 16 : 4, get_be32(command->cdb + 6));
}
