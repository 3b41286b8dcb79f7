/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "forbidden_calls.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static _Thread_local struct forbidden_calls seen;
static _Thread_local bool watching;

atomic_uint forbidden_waits;

void forbidden_calls_watch(void)
{
	seen = (struct forbidden_calls){ 0 };
	watching = true;
}

struct forbidden_calls forbidden_calls_seen(void)
{
	watching = false;
	return seen;
}

/* One wrapper for each function: counts and passes on. */
#define WATCHED(kind, type, name, parameters, arguments) \
	type __real_##name parameters;                   \
	type __wrap_##name parameters;                   \
	type __wrap_##name parameters                    \
	{                                                \
		seen.kind += watching;                   \
		return __real_##name arguments;          \
	}

WATCHED(allocations, void *, malloc, (size_t bytes), (bytes))
WATCHED(allocations, void *, calloc, (size_t count, size_t bytes), (count, bytes))
WATCHED(allocations, void *, realloc, (void *memory, size_t bytes), (memory, bytes))
WATCHED(allocations, void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))
WATCHED(allocations, void, free, (void *memory), (memory))
WATCHED(clocks, int, clock_gettime, (clockid_t clock, struct timespec *now), (clock, now))
WATCHED(clocks, int, gettimeofday, (struct timeval * now, void *zone), (now, zone))
WATCHED(clocks, time_t, time, (time_t * now), (now))
WATCHED(locks, int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	if (!watching)
		return __real_pthread_mutex_lock(mutex);
	seen.locks++;
	if (!__real_pthread_mutex_trylock(mutex))
		return 0;
	atomic_fetch_add(&forbidden_waits, 1);
	return __real_pthread_mutex_lock(mutex);
}
