/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Calls that have no place on the way of a READ or WRITE, counted. A test that uses this is linked
 * with --wrap for each of FORBIDDEN_CALLS in CMakeLists.txt.
 */
#ifndef FORBIDDEN_CALLS_H
#define FORBIDDEN_CALLS_H

#include <stdatomic.h>

struct forbidden_calls {
	unsigned int allocations; /* and memory given back */
	unsigned int clocks;
	unsigned int locks;
};

/* From here on those of this thread are counted. */
void forbidden_calls_watch(void);

/* Ends that; returns what was counted. */
struct forbidden_calls forbidden_calls_seen(void);

/* How many threads, while they were watched, have found a mutex taken and so had to wait. */
extern atomic_uint forbidden_waits;

#endif
