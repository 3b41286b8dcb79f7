/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/outcome.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <tcmu-ext/iovec.h>

static enum tcmu_ext_status end_with(const struct tcmu_ext_disk *disk,
				     struct tcmu_ext_command *command,
				     const struct tcmu_ext_sense *sense)
{
	tcmu_ext_sense_write(sense, disk->descriptor_sense, command->sense, command->sense_bytes);
	return TCMU_EXT_STATUS_CHECK_CONDITION;
}

enum tcmu_ext_status check_condition(const struct tcmu_ext_disk *disk,
				     struct tcmu_ext_command *command, enum tcmu_ext_sense_key key,
				     enum tcmu_ext_additional_sense additional_sense)
{
	const struct tcmu_ext_sense sense = { .key = key,
					      .additional_sense = (uint16_t)additional_sense };

	return end_with(disk, command, &sense);
}

enum tcmu_ext_status check_condition_information(const struct tcmu_ext_disk *disk,
						 struct tcmu_ext_command *command,
						 enum tcmu_ext_sense_key key,
						 enum tcmu_ext_additional_sense additional_sense,
						 uint64_t information)
{
	const struct tcmu_ext_sense sense = { .key = key,
					      .additional_sense = (uint16_t)additional_sense,
					      .information_valid = true,
					      .information = information };

	return end_with(disk, command, &sense);
}

static enum tcmu_ext_status invalid_field(const struct tcmu_ext_disk *disk,
					  struct tcmu_ext_command *command,
					  enum tcmu_ext_field_in field_in,
					  enum tcmu_ext_additional_sense additional_sense,
					  unsigned int byte, int bit)
{
	const struct tcmu_ext_sense sense = { .key = TCMU_EXT_ILLEGAL_REQUEST,
					      .additional_sense = (uint16_t)additional_sense,
					      .field_in = field_in,
					      .field_byte = (uint16_t)byte,
					      .field_bit = (int8_t)bit };

	return end_with(disk, command, &sense);
}

enum tcmu_ext_status invalid_field_in_cdb(const struct tcmu_ext_disk *disk,
					  struct tcmu_ext_command *command, unsigned int byte,
					  int bit)
{
	return invalid_field(disk, command, TCMU_EXT_FIELD_IN_CDB, TCMU_EXT_INVALID_FIELD_IN_CDB,
			     byte, bit);
}

enum tcmu_ext_status invalid_field_in_parameter_list(const struct tcmu_ext_disk *disk,
						     struct tcmu_ext_command *command,
						     unsigned int byte, int bit)
{
	return invalid_field(disk, command, TCMU_EXT_FIELD_IN_PARAMETER_LIST,
			     TCMU_EXT_INVALID_FIELD_IN_PARAMETER_LIST, byte, bit);
}

enum tcmu_ext_status parameter_list_length_error(const struct tcmu_ext_disk *disk,
						 struct tcmu_ext_command *command)
{
	return check_condition(disk, command, TCMU_EXT_ILLEGAL_REQUEST,
			       TCMU_EXT_PARAMETER_LIST_LENGTH_ERROR);
}

enum tcmu_ext_status address_out_of_range(const struct tcmu_ext_disk *disk,
					  struct tcmu_ext_command *command)
{
	return check_condition(disk, command, TCMU_EXT_ILLEGAL_REQUEST,
			       TCMU_EXT_LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE);
}

enum tcmu_ext_status write_protected(const struct tcmu_ext_disk *disk,
				     struct tcmu_ext_command *command)
{
	return check_condition(disk, command, TCMU_EXT_DATA_PROTECT, TCMU_EXT_WRITE_PROTECTED);
}

enum tcmu_ext_status tcmu_ext_command_refuse_opcode(const struct tcmu_ext_disk *disk,
						    struct tcmu_ext_command *command)
{
	return check_condition(disk, command, TCMU_EXT_ILLEGAL_REQUEST,
			       TCMU_EXT_INVALID_COMMAND_OPERATION_CODE);
}

/* What an errno means to the initiator, and what the administrator can do about it. */
struct meaning {
	int error;
	enum failure_kind kind;
	enum tcmu_ext_status status;
	enum tcmu_ext_sense_key key;
	enum tcmu_ext_additional_sense additional_sense;
	const char *advice;
};

static const struct meaning meanings[] = {
	{ ENOSPC, FAILURE_SPACE, TCMU_EXT_STATUS_CHECK_CONDITION, TCMU_EXT_DATA_PROTECT,
	  TCMU_EXT_SPACE_ALLOCATION_FAILED_WRITE_PROTECT,
	  "free space where the backing lies; writes resume by themselves" },
	{ EDQUOT, FAILURE_SPACE, TCMU_EXT_STATUS_CHECK_CONDITION, TCMU_EXT_DATA_PROTECT,
	  TCMU_EXT_SPACE_ALLOCATION_FAILED_WRITE_PROTECT,
	  "raise the quota of the backing's owner; writes resume by themselves" },
	{ EFBIG, FAILURE_SPACE, TCMU_EXT_STATUS_CHECK_CONDITION, TCMU_EXT_DATA_PROTECT,
	  TCMU_EXT_SPACE_ALLOCATION_FAILED_WRITE_PROTECT,
	  "raise the limit on the size of files that the serving process has, or move the backing "
	  "to a file system for larger files" },
	{ EROFS, FAILURE_WRITE_PROTECTED, TCMU_EXT_STATUS_CHECK_CONDITION, TCMU_EXT_DATA_PROTECT,
	  TCMU_EXT_WRITE_PROTECTED, "make the backing writable again" },
	{ EPERM, FAILURE_WRITE_PROTECTED, TCMU_EXT_STATUS_CHECK_CONDITION, TCMU_EXT_DATA_PROTECT,
	  TCMU_EXT_WRITE_PROTECTED, "make the backing writable again" },
	{ ENODEV, FAILURE_GONE, TCMU_EXT_STATUS_CHECK_CONDITION, TCMU_EXT_NOT_READY,
	  TCMU_EXT_LOGICAL_UNIT_NOT_READY,
	  "the backing device is gone: bring it back and make the LUN anew" },
	{ ENXIO, FAILURE_GONE, TCMU_EXT_STATUS_CHECK_CONDITION, TCMU_EXT_NOT_READY,
	  TCMU_EXT_LOGICAL_UNIT_NOT_READY,
	  "the backing device is gone: bring it back and make the LUN anew" },
	{ EAGAIN, FAILURE_BUSY, TCMU_EXT_STATUS_BUSY, TCMU_EXT_NO_SENSE,
	  TCMU_EXT_NO_ADDITIONAL_SENSE, "the initiator was told to try again" },
	{ ENOMEM, FAILURE_BUSY, TCMU_EXT_STATUS_BUSY, TCMU_EXT_NO_SENSE,
	  TCMU_EXT_NO_ADDITIONAL_SENSE, "the initiator was told to try again" },
	{ EINVAL, FAILURE_INTERNAL, TCMU_EXT_STATUS_CHECK_CONDITION, TCMU_EXT_HARDWARE_ERROR,
	  TCMU_EXT_INTERNAL_TARGET_FAILURE,
	  "the backing refused the request's size or alignment: please report this" },
};

static const struct meaning read_error = { EIO,
					   FAILURE_READ,
					   TCMU_EXT_STATUS_CHECK_CONDITION,
					   TCMU_EXT_MEDIUM_ERROR,
					   TCMU_EXT_UNRECOVERED_READ_ERROR,
					   "check the storage under the backing" };

static const struct meaning write_error = { EIO,
					    FAILURE_WRITE,
					    TCMU_EXT_STATUS_CHECK_CONDITION,
					    TCMU_EXT_MEDIUM_ERROR,
					    TCMU_EXT_WRITE_ERROR,
					    "check the storage under the backing" };

const char *error_text(int error)
{
	/* No overflow: a backend may return anything. */
	return strerror((int)-(unsigned int)error);
}

static const struct meaning *meaning_of(int error, const struct meaning *otherwise)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (error == -meanings[i].error)
			return &meanings[i];
	return otherwise;
}

static enum tcmu_ext_status failure(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				    const struct meaning *meaning, const char *action, int error,
				    uint64_t lba)
{
	log_limited(&disk->limiters[meaning->kind], &disk->log,
		    meaning->kind == FAILURE_BUSY ? TCMU_EXT_LOG_WARNING : TCMU_EXT_LOG_ERROR,
		    "%s at logical block %" PRIu64 " failed: %s; %s", action, lba,
		    error_text(error), meaning->advice);
	if (meaning->status != TCMU_EXT_STATUS_CHECK_CONDITION)
		return meaning->status;
	return check_condition_information(disk, command, meaning->key, meaning->additional_sense,
					   lba);
}

enum tcmu_ext_status read_failure(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				  int error, uint64_t lba)
{
	return failure(disk, command, meaning_of(error, &read_error), "reading", error, lba);
}

enum tcmu_ext_status write_failure(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				   int error, uint64_t lba)
{
	return failure(disk, command, meaning_of(error, &write_error), "writing", error, lba);
}

enum tcmu_ext_status flush_failure(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				   int error)
{
	const struct meaning *meaning = meaning_of(error, &write_error);

	if (meaning->status != TCMU_EXT_STATUS_CHECK_CONDITION)
		return meaning->status;
	return check_condition(disk, command, meaning->key, meaning->additional_sense);
}

enum tcmu_ext_status answer(struct tcmu_ext_command *command, const void *data, size_t bytes,
			    size_t allocation_length)
{
	size_t copied = bytes < allocation_length ? bytes : allocation_length;

	copied = tcmu_ext_iovec_scatter(command->iov, command->iov_count, 0, data, copied);
	tcmu_ext_iovec_clear(command->iov, command->iov_count, copied, SIZE_MAX);
	command->data_in_bytes = copied;
	return TCMU_EXT_STATUS_GOOD;
}
