/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The writes to one block, with when they began and ended, and whether what a read found can be:
 * the value of a write that had begun by then and had not certainly been overwritten before the
 * read began.
 */
#ifndef REGISTER_LOG_H
#define REGISTER_LOG_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct register_write {
	uint64_t tag;
	uint64_t began;
	uint64_t ended; /* UINT64_MAX: under way */
};

enum { REGISTER_WRITES = 512 };

struct register_log {
	pthread_mutex_t lock;
	uint64_t lba;
	size_t count;
	struct register_write writes[REGISTER_WRITES];
};

/* The block holds tag 0 since before everything. */
void register_log_init(struct register_log *log, uint64_t lba);

void register_log_begin(struct register_log *log, uint64_t tag, uint64_t began,
			uint64_t earliest_beginning);
void register_log_end(struct register_log *log, uint64_t tag, uint64_t began, uint64_t ended);
/* It did not happen. */
void register_log_cancel(struct register_log *log, uint64_t tag, uint64_t began);

/* A command that began then has found `tag`: ends the program when that cannot be. */
void register_log_check(struct register_log *log, uint64_t tag, uint64_t began);

#endif
