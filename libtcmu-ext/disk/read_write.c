/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/read_write.h"

#include <errno.h>

#include "disk/admission.h"
#include "disk/lane.h"
#include "disk/outcome.h"

enum { FORCE_UNIT_ACCESS = 0x08 };

/* In a 6-byte command byte 1 is part of the address. */
bool wants_unit_access(const uint8_t *cdb)
{
	return cdb[0] >= 0x20 && (cdb[1] & FORCE_UNIT_ACCESS);
}

/* The address of the block that failed, if what the backend says was done can be. */
static uint64_t failed_block(const struct tcmu_ext_disk *disk, struct range range,
			     size_t done_bytes)
{
	size_t done_blocks = done_bytes >> disk->block_shift;

	return range.lba + (done_blocks < range.blocks ? done_blocks : 0);
}

enum tcmu_ext_status read_range(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				struct range range)
{
	struct tcmu_ext_backend *backend = disk->backend;
	size_t bytes = (size_t)range.blocks << disk->block_shift;
	unsigned int flags = 0;
	size_t done_bytes = 0;
	int error;

	if (!admit_read(disk, command, range, &flags))
		return TCMU_EXT_STATUS_WOULD_BLOCK;
	error = backend->operations.read(backend->instance, command->iov, command->iov_count,
					 range.lba << disk->block_shift, bytes, flags, &done_bytes);
	if (__builtin_expect(!error, 1))
		return TCMU_EXT_STATUS_GOOD;
	if (admission_refused_read(disk, flags, error))
		return TCMU_EXT_STATUS_WOULD_BLOCK;
	return read_failure(disk, command, error, failed_block(disk, range, done_bytes));
}

static enum tcmu_ext_status write_failed(struct tcmu_ext_disk *disk,
					 struct tcmu_ext_command *command, struct range range,
					 int error, size_t done_bytes)
{
	/* Written, but not made durable: the backend has met the failure of a flush. */
	if (done_bytes >> disk->block_shift >= range.blocks)
		disk_flush_failed(disk, error);
	return write_failure(disk, command, error, failed_block(disk, range, done_bytes));
}

enum tcmu_ext_status finish_change(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				   bool force_unit_access)
{
	int error;

	if (!force_unit_access && atomic_load(&disk->write_cache))
		return TCMU_EXT_STATUS_GOOD;
	error = disk_flush(disk);
	return error ? flush_failure(disk, command, error) : TCMU_EXT_STATUS_GOOD;
}

/* One write of the backend. */
static enum tcmu_ext_status write_once(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				       struct range range, unsigned int flags)
{
	struct tcmu_ext_backend *backend = disk->backend;
	size_t bytes = (size_t)range.blocks << disk->block_shift;
	size_t done_bytes = 0;
	int error;

	error = backend->operations.write(backend->instance, command->iov, command->iov_count,
					  range.lba << disk->block_shift, bytes, flags,
					  &done_bytes);
	if (__builtin_expect(!error, 1))
		return TCMU_EXT_STATUS_GOOD;
	if (admission_cannot_tell(disk, flags, error))
		return write_once(disk, command, range, 0);
	if (admission_refused_write(flags, error))
		return TCMU_EXT_STATUS_WOULD_BLOCK;
	return write_failed(disk, command, range, error, done_bytes);
}

/* An error of a transfer that says that nothing was begun, or not to its end. */
static bool is_passing(int error)
{
	return error == -EAGAIN || error == -EINTR || error == -ECANCELED || error == -ENOMEM ||
	       error == -EINVAL || error == -EOPNOTSUPP;
}

/*
 * A durable write past the page cache has failed in the queue. Where it goes well without the flush
 * in it, the flush was at fault, and what it was to make durable may be lost.
 */
static enum tcmu_ext_status write_after_failure(struct tcmu_ext_disk *disk,
						struct tcmu_ext_command *command,
						struct range range, int error)
{
	enum tcmu_ext_status status = write_once(disk, command, range, 0);

	if (status != TCMU_EXT_STATUS_GOOD)
		return status;
	if (is_passing(error))
		return finish_change(disk, command, true);
	disk_flush_failed(disk, error);
	return flush_failure(disk, command, error);
}

/*
 * See flush_lock. Where it is taken, a plain write and a flush that others wait for as well do the
 * same: many durable writes at a time share few flushes.
 */
static enum tcmu_ext_status write_durably(struct tcmu_ext_disk *disk,
					  struct tcmu_ext_command *command, struct range range)
{
	int queue_error = lane_of(disk, command)->durable_write_error;
	enum tcmu_ext_status status;

	if (queue_error)
		return write_after_failure(disk, command, range, queue_error);
	if (disk->direct)
		return write_once(disk, command, range, TCMU_EXT_IO_DURABLE);
	if (!atomic_load(&disk->flush_waiters) && !pthread_mutex_trylock(&disk->flush_lock)) {
		status = write_once(disk, command, range, TCMU_EXT_IO_DURABLE);
		pthread_mutex_unlock(&disk->flush_lock);
		return status;
	}
	status = write_once(disk, command, range, 0);
	return status == TCMU_EXT_STATUS_GOOD ? finish_change(disk, command, true) : status;
}

enum tcmu_ext_status write_range(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				 struct range range, bool force_unit_access)
{
	bool durable = force_unit_access || !atomic_load(&disk->write_cache) ||
		       lane_of(disk, command)->durable_write_error;
	enum tcmu_ext_status status;
	unsigned int flags = 0;

	if (!admit_write(disk, command, range, durable, &flags))
		return TCMU_EXT_STATUS_WOULD_BLOCK;
	if (durable)
		return write_durably(disk, command, range);
	status = write_once(disk, command, range, flags);
	if (status != TCMU_EXT_STATUS_GOOD)
		return status;
	/* The cache may have been turned off, and flushed, while this write was under way. */
	return finish_change(disk, command, false);
}

void count_read(struct tcmu_ext_disk *disk, const struct tcmu_ext_command *command,
		struct range range, enum tcmu_ext_status status)
{
	struct tcmu_ext_disk_counters *counters = &lane_of(disk, command)->counters;

	if (status == TCMU_EXT_STATUS_WOULD_BLOCK)
		return; /* it has not ended */
	counter_add(&counters->read_commands, 1);
	if (status == TCMU_EXT_STATUS_GOOD)
		counter_add(&counters->read_bytes, (uint64_t)range.blocks << disk->block_shift);
}

void count_write(struct tcmu_ext_disk *disk, const struct tcmu_ext_command *command,
		 struct range range, enum tcmu_ext_status status)
{
	struct tcmu_ext_disk_counters *counters = &lane_of(disk, command)->counters;

	if (status == TCMU_EXT_STATUS_WOULD_BLOCK)
		return;
	counter_add(&counters->write_commands, 1);
	if (status == TCMU_EXT_STATUS_GOOD)
		counter_add(&counters->write_bytes, (uint64_t)range.blocks << disk->block_shift);
}

enum tcmu_ext_status execute_read(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command)
{
	struct range range = range_of_cdb(command->cdb);
	enum tcmu_ext_status status = range_check_data_in(disk, command, range);

	if (status != TCMU_EXT_STATUS_GOOD || !range.blocks)
		return status;
	/* SBC-3 5.11: what is newer in the cache goes to the medium before it is read from there.
	 */
	if (wants_unit_access(command->cdb) && atomic_load(&disk->write_cache)) {
		if (is_beside_engine(disk, command))
			return TCMU_EXT_STATUS_WOULD_BLOCK;
		status = finish_change(disk, command, true);
		if (status != TCMU_EXT_STATUS_GOOD)
			return status;
	}
	status = read_range(disk, command, range);
	count_read(disk, command, range, status);
	return status;
}

enum tcmu_ext_status execute_write(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command)
{
	struct range range = range_of_cdb(command->cdb);
	enum tcmu_ext_status status = range_check_data_out(disk, command, range);

	if (status != TCMU_EXT_STATUS_GOOD || !range.blocks)
		return status;
	status = write_range(disk, command, range, wants_unit_access(command->cdb));
	count_write(disk, command, range, status);
	return status;
}
