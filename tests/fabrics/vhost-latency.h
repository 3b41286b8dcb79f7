/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A histogram of durations: 32 buckets for each power of two of nanoseconds, so that a percentile
 * is off by at most 3 %. Each thread fills its own; they are added up at the end.
 */
#ifndef VHOST_LATENCY_H
#define VHOST_LATENCY_H

#include <stdint.h>

enum { LATENCY_SUB_BUCKETS = 32, LATENCY_BUCKETS = 40 * LATENCY_SUB_BUCKETS };

struct latency {
	uint64_t bucket[LATENCY_BUCKETS];
	uint64_t count;
	uint64_t sum_ns;
	uint64_t maximum_ns;
};

uint64_t clock_ns(void);

void latency_add(struct latency *latency, uint64_t ns);
void latency_merge(struct latency *into, const struct latency *from);

/* The duration that this share of the commands, in thousandths, did not exceed. */
uint64_t latency_percentile_ns(const struct latency *latency, unsigned per_mille);

#endif
