/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/inquiry.h"

#include <string.h>

#include "disk/outcome.h"
#include "plumbing/byte_order.h"

enum {
	EVPD = 0x01,
	VERSION_SPC_4 = 0x06,
	RESPONSE_DATA_FORMAT = 0x02,
	HISUP = 0x10,
	THIRD_PARTY_COPY = 0x08, /* 3PC */
	CMDQUE = 0x02,
	STANDARD_BYTES = 96,
	VERSION_DESCRIPTORS_AT = 58,
};

/* SPC-4 table 148: SAM-5, SPC-4 and SBC-3, no revision claimed. */
static const uint16_t version_descriptors[] = { 0x00a0, 0x0460, 0x04c0 };

/* Whether somebody else copies for this LUN. */
static bool has_third_party_copy(const struct tcmu_ext_disk *disk)
{
	for (size_t i = 0; i < disk->other_command_count; i++)
		if (disk->other_commands[i].operation_code == TCMU_EXT_EXTENDED_COPY)
			return true;
	return false;
}

static enum tcmu_ext_status answer_standard(const struct tcmu_ext_disk *disk,
					    struct tcmu_ext_command *command)
{
	uint8_t data[STANDARD_BYTES] = { 0 };

	data[2] = VERSION_SPC_4;
	data[3] = HISUP | RESPONSE_DATA_FORMAT;
	data[4] = STANDARD_BYTES - 5;
	data[5] = (uint8_t)(disk->target_port_group_support << 4);
	if (has_third_party_copy(disk))
		data[5] |= THIRD_PARTY_COPY;
	data[7] = CMDQUE;
	memcpy(data + 8, disk->vendor_identification, VENDOR_IDENTIFICATION_BYTES);
	memcpy(data + 16, disk->product_identification, PRODUCT_IDENTIFICATION_BYTES);
	memcpy(data + 32, disk->product_revision_level, PRODUCT_REVISION_LEVEL_BYTES);
	for (size_t i = 0; i < sizeof(version_descriptors) / sizeof(version_descriptors[0]); i++)
		put_be16(data + VERSION_DESCRIPTORS_AT + 2 * i, version_descriptors[i]);
	return answer(command, data, sizeof(data), get_be16(command->cdb + 3));
}

enum tcmu_ext_status execute_inquiry(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command)
{
	if (command->cdb[1] & EVPD)
		return answer_vital_product_data(disk, command);
	if (command->cdb[2])
		return invalid_field_in_cdb(disk, command, 2, -1);
	return answer_standard(disk, command);
}
