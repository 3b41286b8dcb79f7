/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Load on the request queues: a thread for each queue keeps `depth` commands in flight. As a
 * driver does, it takes all that is used, offers the next commands, and then kicks once.
 */
#ifndef VHOST_LOAD_H
#define VHOST_LOAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vhost-command.h"
#include "vhost-latency.h"
#include "vhost-queue.h"

struct load_options {
	uint64_t region_blocks;   /* the part of the LUN that is used, from its start */
	uint32_t block_bytes;     /* the LUN's logical block */
	uint32_t transfer_blocks; /* of each command */
	unsigned depth;           /* commands in flight in each queue */
	unsigned queues;
	unsigned read_percent;
	bool verify; /* write all, read and write at random, read all; else read or write only */
	/*
	 * Repeat what meets no target. Linux 6.1, though not 6.12, says so to commands that it
	 * picks up while the endpoint is being cleared.
	 */
	bool target_may_be_away;
	uint64_t requests; /* of each queue, without the writing and reading of all; 0: no limit */
	uint64_t duration_ns; /* 0: no limit */
	uint64_t ramp_ns;     /* at the beginning, not counted */
};

struct load_counts {
	uint64_t requests, busy, attentions, failed, wrong_data;
};

struct load;

/* One command in flight, and the part of the region that belongs to it when data is verified. */
struct load_slot {
	struct command command;
	uint64_t step; /* commands it has finished */
	uint64_t unit; /* what the command in flight works on, in transfer sizes */
	uint64_t started_ns;
	bool writing;
	bool retrying;
};

struct load_queue {
	struct vhost_queue queue;
	const struct load_options *options;
	struct load *load;
	struct load_slot *slots;
	uint64_t random;
	uint64_t started_ns, counting_from_ns, ended_ns;
	unsigned number, in_flight;
	struct load_counts counts;
	struct latency latency;
	pthread_t thread;
};

struct load {
	struct load_options options;
	struct load_queue *queues;
	uint32_t *generations; /* how often each unit was written, when data is verified */
	uint64_t finished;     /* commands of all queues so far */
	unsigned running;      /* queues with work to do */
	bool stop;             /* a command failed: finish what is in flight */
	char failure[128];     /* what the first failed command said */
};

/* Starts the threads. The queues and the slots' commands have been initialised. */
void load_start(struct load *load);

/* Waits for the threads to end, which they do by themselves. */
void load_join(struct load *load);

#endif
