/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/synchronize_cache.h"

#include <errno.h>

#include "disk/lane.h"
#include "disk/outcome.h"
#include "disk/range.h"

static void tell_of_lost_writes(const struct tcmu_ext_disk *disk, int error)
{
	log_message(&disk->log, TCMU_EXT_LOG_ERROR,
		    "making written data durable failed: %s; writes that were acknowledged may be "
		    "lost, and every flush fails from now on; check the storage under the backing "
		    "and the data on the LUN, then make the LUN anew",
		    error_text(error));
}

void disk_flush_failed(struct tcmu_ext_disk *disk, int error)
{
	if (!atomic_exchange(&disk->flush_failed, true))
		tell_of_lost_writes(disk, error);
}

/* With flush_lock held. `*lost`: acknowledged data may be lost, as was not known before. */
static int flush_once(struct tcmu_ext_disk *disk, bool *lost)
{
	struct tcmu_ext_backend *backend = disk->backend;
	int error;

	*lost = false;
	if (atomic_load(&disk->flush_failed))
		return -EIO;
	error = backend->operations.flush(backend->instance);
	/* Nothing was tried and nothing is lost when there was only no memory for it. */
	if (error && error != -ENOMEM && error != -EAGAIN)
		*lost = !atomic_exchange(&disk->flush_failed, true);
	return error;
}

/* One flush serves all who began to wait for one before it began. With flush_lock held. */
static int flush_since(struct tcmu_ext_disk *disk, uint64_t begun, bool *lost)
{
	uint64_t number;
	int error;

	*lost = false;
	if (disk->last_good_flush > begun && !atomic_load(&disk->flush_failed))
		return 0;
	number = atomic_fetch_add(&disk->flushes_begun, 1) + 1;
	error = flush_once(disk, lost);
	if (!error)
		disk->last_good_flush = number;
	return error;
}

int disk_flush(struct tcmu_ext_disk *disk)
{
	uint64_t begun = atomic_load(&disk->flushes_begun);
	bool lost;
	int error;

	atomic_fetch_add(&disk->flush_waiters, 1);
	pthread_mutex_lock(&disk->flush_lock);
	atomic_fetch_sub(&disk->flush_waiters, 1);
	error = flush_since(disk, begun, &lost);
	pthread_mutex_unlock(&disk->flush_lock);
	if (lost)
		tell_of_lost_writes(disk, error);
	return error;
}

enum tcmu_ext_status execute_synchronize_cache(struct tcmu_ext_disk *disk,
					       struct tcmu_ext_command *command)
{
	int error;

	if (!range_is_on_medium(disk, range_of_cdb(command->cdb)))
		return address_out_of_range(disk, command);
	error = disk_flush(disk);
	counter_add(&lane_of(disk, command)->counters.flush_commands, 1);
	return error ? flush_failure(disk, command, error) : TCMU_EXT_STATUS_GOOD;
}
