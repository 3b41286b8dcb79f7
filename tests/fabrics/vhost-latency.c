/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "vhost-latency.h"

#include <time.h>

enum { SUB_BITS = 5 };

_Static_assert(LATENCY_SUB_BUCKETS == 1 << SUB_BITS, "one constant in two forms");

uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Below 32 ns each bucket is one nanosecond; above, the bits after the leading one choose. */
static unsigned bucket_of(uint64_t ns)
{
	unsigned shift, bucket;

	if (ns < LATENCY_SUB_BUCKETS)
		return (unsigned)ns;
	shift = 63 - (unsigned)__builtin_clzll(ns) - SUB_BITS;
	bucket = (shift << SUB_BITS) + (unsigned)(ns >> shift);
	return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

static uint64_t bucket_end_ns(unsigned bucket)
{
	unsigned shift;

	if (bucket < LATENCY_SUB_BUCKETS)
		return bucket;
	shift = (bucket >> SUB_BITS) - 1;
	return ((uint64_t)(bucket - (shift << SUB_BITS) + 1) << shift) - 1;
}

void latency_add(struct latency *latency, uint64_t ns)
{
	latency->bucket[bucket_of(ns)]++;
	latency->count++;
	latency->sum_ns += ns;
	if (ns > latency->maximum_ns)
		latency->maximum_ns = ns;
}

void latency_merge(struct latency *into, const struct latency *from)
{
	for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
	into->count += from->count;
	into->sum_ns += from->sum_ns;
	if (from->maximum_ns > into->maximum_ns)
		into->maximum_ns = from->maximum_ns;
}

uint64_t latency_percentile_ns(const struct latency *latency, unsigned per_mille)
{
	uint64_t rank = (latency->count * per_mille + 999) / 1000, seen = 0;
	unsigned bucket = 0;

	while (bucket < LATENCY_BUCKETS - 1 && (seen += latency->bucket[bucket]) < rank)
		bucket++;
	return bucket_end_ns(bucket) < latency->maximum_ns ? bucket_end_ns(bucket)
							   : latency->maximum_ns;
}
