/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Which reads and writes the disk's caller executes itself, and which are left to the engine. */
#ifndef DISK_ADMISSION_H
#define DISK_ADMISSION_H

#include "disk/lane.h"
#include "disk/range.h"

/* Chooses what the backend and the option `io` allow; called while the disk is made. */
void admission_init(struct tcmu_ext_disk *disk, const struct tcmu_ext_backend_queue *queue,
		    enum tcmu_ext_io_mode mode);

bool admission_check(const struct tcmu_ext_disk *disk, const struct tcmu_ext_command *command,
		     struct range range, enum admission admission, bool changes, bool durable,
		     unsigned int *flags);

/*
 * Whether a transfer may be executed on this thread, and with which flags for the backend. If not,
 * the command is to end with WOULD_BLOCK. `durable`: it is not to end before it is on the medium.
 */
static inline bool admit_read(const struct tcmu_ext_disk *disk,
			      const struct tcmu_ext_command *command, struct range range,
			      unsigned int *flags)
{
	return !is_beside_engine(disk, command) ||
	       admission_check(disk, command, range, disk->read_admission, false, false, flags);
}

static inline bool admit_write(const struct tcmu_ext_disk *disk,
			       const struct tcmu_ext_command *command, struct range range,
			       bool durable, unsigned int *flags)
{
	return !is_beside_engine(disk, command) ||
	       admission_check(disk, command, range, disk->write_admission, true, durable, flags);
}

/*
 * Whether an error of a transfer made with `flags` says that it would have to wait, so that the
 * command is to end with WOULD_BLOCK. A backend that cannot tell gets no more reads this way.
 */
bool admission_refused_read(struct tcmu_ext_disk *disk, unsigned int flags, int error);
bool admission_refused_write(unsigned int flags, int error);

/*
 * Whether a write failed since the backend cannot tell whether it would wait. From then on writes
 * are executed whatever they do, since those to a page cache seldom wait.
 */
bool admission_cannot_tell(struct tcmu_ext_disk *disk, unsigned int flags, int error);

#endif
