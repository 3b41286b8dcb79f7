/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What threads do to the disk. Each workload has blocks of its own, all threads do all workloads,
 * and each call is one step: a command or two, checked.
 */
#ifndef WORKLOADS_H
#define WORKLOADS_H

#include "disk.h"

struct workload {
	const char *name;
	uint32_t blocks;          /* that it needs; of each thread, for one that is private */
	bool is_private;          /* each thread has blocks of its own */
	bool survives_repetition; /* a command may take effect twice: after a restart of the target
				   */
	void (*set_up)(struct thread *thread, uint64_t lba);
	void (*step)(struct thread *thread, uint64_t lba);
	void (*check)(struct thread *thread, uint64_t lba); /* in the end, by one thread */
};

/*
 * Commands of all kinds on ranges that overlap. Each block holds what was written to it last, as
 * far as there is a last one; no command sees half of another in a block.
 */
extern const struct workload workload_registers;

/* Numbers counted up by COMPARE AND WRITE of one to four blocks: no count is lost. */
extern const struct workload workload_counters;

/* Bits set by ORWRITE, and by nothing else: none is lost. */
extern const struct workload workload_bits;

/* Ranges written as a whole by commands that are atomic: no read sees parts of two. */
extern const struct workload workload_cells;

/* Blocks with one writer: it finds what it has written. */
extern const struct workload workload_private;

#endif
