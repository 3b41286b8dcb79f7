/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* How a command ends: sense data for what went wrong, and the answer to what asked for data. */
#ifndef DISK_OUTCOME_H
#define DISK_OUTCOME_H

#include "disk/disk.h"

/* CHECK CONDITION with a sense key and an additional sense code. */
enum tcmu_ext_status check_condition(const struct tcmu_ext_disk *disk,
				     struct tcmu_ext_command *command, enum tcmu_ext_sense_key key,
				     enum tcmu_ext_additional_sense additional_sense);

/* The same with INFORMATION. */
enum tcmu_ext_status check_condition_information(const struct tcmu_ext_disk *disk,
						 struct tcmu_ext_command *command,
						 enum tcmu_ext_sense_key key,
						 enum tcmu_ext_additional_sense additional_sense,
						 uint64_t information);

/* INVALID FIELD IN CDB; `bit` is the most significant faulty bit, or negative for a whole field. */
enum tcmu_ext_status invalid_field_in_cdb(const struct tcmu_ext_disk *disk,
					  struct tcmu_ext_command *command, unsigned int byte,
					  int bit);

/* INVALID FIELD IN PARAMETER LIST, likewise. */
enum tcmu_ext_status invalid_field_in_parameter_list(const struct tcmu_ext_disk *disk,
						     struct tcmu_ext_command *command,
						     unsigned int byte, int bit);

/* PARAMETER LIST LENGTH ERROR. */
enum tcmu_ext_status parameter_list_length_error(const struct tcmu_ext_disk *disk,
						 struct tcmu_ext_command *command);

/* LOGICAL BLOCK ADDRESS OUT OF RANGE. */
enum tcmu_ext_status address_out_of_range(const struct tcmu_ext_disk *disk,
					  struct tcmu_ext_command *command);

/* WRITE PROTECTED. */
enum tcmu_ext_status write_protected(const struct tcmu_ext_disk *disk,
				     struct tcmu_ext_command *command);

/* What a backend's error (negative errno) is called, whatever it is. */
const char *error_text(int error);

/*
 * The status for a backend's error (negative errno) in a READ, or in anything that writes. `lba` is
 * the first block that was not transferred. Logs the failure, sparingly.
 */
enum tcmu_ext_status read_failure(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				  int error, uint64_t lba);
enum tcmu_ext_status write_failure(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				   int error, uint64_t lba);

/* The status for a flush that failed; the failure was logged when it happened. */
enum tcmu_ext_status flush_failure(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				   int error);

/*
 * GOOD with `bytes` of `data` in the data-in buffer, as far as ALLOCATION LENGTH and the buffer
 * allow; the rest of the buffer is cleared, since the memory may hold another command's data.
 */
enum tcmu_ext_status answer(struct tcmu_ext_command *command, const void *data, size_t bytes,
			    size_t allocation_length);

#endif
