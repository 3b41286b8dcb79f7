/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/admission.h"

#include <errno.h>

#include "engine/engine.h"

enum { PAGE_BYTES = 4096 };

void admission_init(struct tcmu_ext_disk *disk, const struct tcmu_ext_backend_queue *queue,
		    enum tcmu_ext_io_mode mode)
{
	enum admission admission = ADMIT_NOWAIT;

	if (mode == TCMU_EXT_IO_MODE_ASYNC)
		admission = ADMIT_NEVER;
	else if (queue->never_waits)
		admission = ADMIT_ALWAYS;
	else if (queue->direct)
		admission = ADMIT_ALONE;
	disk->read_admission = admission;
	disk->write_admission = admission;
}

/*
 * Into a page cache a write only copies. It waits when part of a page has to be read first, and
 * when it has to be durable.
 */
static bool is_unlikely_to_wait(const struct tcmu_ext_disk *disk, struct range range, bool durable)
{
	uint64_t edges = (range.lba | range.blocks) << disk->block_shift;

	return !durable && !(edges & (PAGE_BYTES - 1));
}

bool admission_check(const struct tcmu_ext_disk *disk, const struct tcmu_ext_command *command,
		     struct range range, enum admission admission, bool changes, bool durable,
		     unsigned int *flags)
{
	if (engine_conflicts(disk->engine, range.lba << disk->block_shift,
			     (uint64_t)range.blocks << disk->block_shift, changes))
		return false;
	switch (admission) {
	case ADMIT_ALWAYS:
		return true;
	case ADMIT_NOWAIT:
		*flags |= TCMU_EXT_IO_NOWAIT;
		return !durable;
	case ADMIT_UNLIKELY:
		return is_unlikely_to_wait(disk, range, durable);
	case ADMIT_ALONE:
		return command->flags & TCMU_EXT_COMMAND_ALONE;
	case ADMIT_NEVER:
		break;
	}
	return false;
}

bool admission_refused_read(struct tcmu_ext_disk *disk, unsigned int flags, int error)
{
	if (!(flags & TCMU_EXT_IO_NOWAIT))
		return false;
	if (error == -EOPNOTSUPP)
		disk->read_admission = ADMIT_NEVER;
	return true;
}

bool admission_refused_write(unsigned int flags, int error)
{
	return error && (flags & TCMU_EXT_IO_NOWAIT);
}

bool admission_cannot_tell(struct tcmu_ext_disk *disk, unsigned int flags, int error)
{
	if (!(flags & TCMU_EXT_IO_NOWAIT) || error != -EOPNOTSUPP)
		return false;
	disk->write_admission = ADMIT_UNLIKELY;
	return true;
}
