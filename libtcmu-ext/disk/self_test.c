/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/self_test.h"

#include "disk/medium.h"
#include "disk/outcome.h"

enum {
	SELFTEST = 0x04,
	SELF_TEST_CODE_TOP_BIT = 7,
	SELF_TEST_CODE_SHIFT = 5,
};

static enum tcmu_ext_status read_block(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				       uint64_t lba)
{
	const struct range block = { .lba = lba, .blocks = 1 };

	return medium_read(disk, command, block, scratch_first_half(disk, command));
}

struct extent extent_of_self_test(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command)
{
	if (!(command->cdb[1] & SELFTEST))
		return (struct extent){ 0 };
	/* The disk may have grown by the time the command is executed. */
	return (struct extent){ 0, (uint64_t)INT64_MAX >> disk->block_shift };
}

static enum tcmu_ext_status self_test(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command)
{
	enum tcmu_ext_status status = read_block(disk, command, 0);

	if (status == TCMU_EXT_STATUS_GOOD)
		status = read_block(disk, command, disk_block_count(disk) - 1);
	if (status == TCMU_EXT_STATUS_GOOD && atomic_load(&disk->flush_failed))
		status = TCMU_EXT_STATUS_CHECK_CONDITION;
	if (status != TCMU_EXT_STATUS_CHECK_CONDITION)
		return status;
	return check_condition(disk, command, TCMU_EXT_HARDWARE_ERROR,
			       TCMU_EXT_LOGICAL_UNIT_FAILED_SELF_TEST);
}

enum tcmu_ext_status execute_send_diagnostic(struct tcmu_ext_disk *disk,
					     struct tcmu_ext_command *command)
{
	/* The check of fields lets pass what SCSI-2 had in these bits. */
	if (command->cdb[1] >> SELF_TEST_CODE_SHIFT)
		return invalid_field_in_cdb(disk, command, 1, SELF_TEST_CODE_TOP_BIT);
	return command->cdb[1] & SELFTEST ? self_test(disk, command) : TCMU_EXT_STATUS_GOOD;
}
