/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The disk under stress, the threads that stress it, and chance. */
#ifndef DISK_H
#define DISK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "scsi.h"

enum { THREADS_MAXIMUM = 64 };

struct disk {
	const char *path;
	struct scsi_capacity capacity;
	unsigned int threads;
	atomic_bool stop;
	atomic_bool gone;
	/* Counts events: what a command saw happened between two numbers. */
	_Atomic uint64_t now;
	/* When each thread's present command began; UINT64_MAX: it has none. */
	_Atomic uint64_t began[THREADS_MAXIMUM];
	_Atomic uint64_t commands;
};

struct thread {
	struct disk *disk;
	unsigned int number;
	int handle;
	uint64_t random;
	uint64_t tags; /* given out by this thread */
	void *memory;  /* for twice DATA_BLOCKS blocks */
};

enum { DATA_BLOCKS = 16 };

/* A number below `below`. */
uint32_t chance(struct thread *thread, uint32_t below);

/* A tag that no other command has: never 0. */
uint64_t new_tag(struct thread *thread);

/* Notes that a command begins, or has ended, and returns the number of that event. */
uint64_t begin(struct thread *thread);
uint64_t end(struct thread *thread);

/* No command that is under way began before this. */
uint64_t earliest_beginning(struct disk *disk);

/* For a command that must succeed: ends the program when it did not. False: the disk is gone. */
bool expect_good(struct thread *thread, enum scsi_outcome outcome, const char *what);

/* Reports what must not be, and ends the program. */
_Noreturn void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
