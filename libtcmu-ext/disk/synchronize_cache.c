/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/synchronize_cache.h"

#include <errno.h>

#include "disk/outcome.h"
#include "disk/range.h"

void disk_flush_failed(struct tcmu_ext_disk *disk, int error)
{
	if (atomic_exchange(&disk->flush_failed, true))
		return;
	log_message(&disk->log, TCMU_EXT_LOG_ERROR,
		    "making written data durable failed: %s; writes that were acknowledged may be "
		    "lost, and every flush fails from now on; check the storage under the backing "
		    "and the data on the LUN, then make the LUN anew",
		    error_text(error));
}

int disk_flush(struct tcmu_ext_disk *disk)
{
	struct tcmu_ext_backend *backend = disk->backend;
	int error;

	if (atomic_load(&disk->flush_failed))
		return -EIO;
	error = backend->operations.flush(backend->instance);
	/* Nothing was tried and nothing is lost when there was only no memory for it. */
	if (!error || error == -ENOMEM || error == -EAGAIN)
		return error;
	disk_flush_failed(disk, error);
	return error;
}

enum tcmu_ext_status execute_synchronize_cache(struct tcmu_ext_disk *disk,
					       struct tcmu_ext_command *command)
{
	int error;

	if (!range_is_on_medium(disk, range_of_cdb(command->cdb)))
		return address_out_of_range(disk, command);
	error = disk_flush(disk);
	counter_add(&disk->counters.flush_commands, 1);
	return error ? flush_failure(disk, command, error) : TCMU_EXT_STATUS_GOOD;
}
