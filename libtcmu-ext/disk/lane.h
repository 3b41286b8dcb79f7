/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What each thread that executes commands of a disk has to itself. */
#ifndef DISK_LANE_H
#define DISK_LANE_H

#include "disk/disk.h"

/* The lane a command is executed in: its engine thread's, or the one of the disk's caller. */
static inline struct tcmu_ext_lane *lane_of(struct tcmu_ext_disk *disk,
					    const struct tcmu_ext_command *command)
{
	return command->lane ? command->lane : &disk->lane;
}

/* Whether a command is executed by the disk's caller while the engine may execute others. */
static inline bool is_beside_engine(const struct tcmu_ext_disk *disk,
				    const struct tcmu_ext_command *command)
{
	return disk->engine && !command->lane;
}

/* One thread stores, others may read: a plain load and store, but never torn. */
static inline void counter_add(uint64_t *counter, uint64_t amount)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + amount,
			 __ATOMIC_RELAXED);
}

#endif
