/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/unit.h"

#include "disk/outcome.h"

enum {
	REQUEST_SENSE_DESC = 0x01,
	START_STOP_START = 0x01,
	START_STOP_LOEJ = 0x02,
};

enum tcmu_ext_status execute_test_unit_ready(struct tcmu_ext_disk *disk,
					     struct tcmu_ext_command *command)
{
	(void)disk;
	(void)command;
	return TCMU_EXT_STATUS_GOOD;
}

enum tcmu_ext_status execute_request_sense(struct tcmu_ext_disk *disk,
					   struct tcmu_ext_command *command)
{
	static const struct tcmu_ext_sense nothing = { .key = TCMU_EXT_NO_SENSE };
	uint8_t sense[TCMU_EXT_SENSE_BYTES];
	size_t bytes = tcmu_ext_sense_write(&nothing, command->cdb[1] & REQUEST_SENSE_DESC, sense,
					    sizeof(sense));

	(void)disk;
	return answer(command, sense, bytes, command->cdb[4]);
}

enum tcmu_ext_status execute_start_stop_unit(struct tcmu_ext_disk *disk,
					     struct tcmu_ext_command *command)
{
	uint8_t action = command->cdb[4];

	if (action & START_STOP_LOEJ)
		return invalid_field_in_cdb(disk, command, 4, 1);
	if (!(action & START_STOP_START))
		return invalid_field_in_cdb(disk, command, 4, 0);
	return TCMU_EXT_STATUS_GOOD;
}
