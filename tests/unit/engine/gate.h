/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* A point that threads stop at until the test lets them go on; it may wait for them to come. */
#ifndef GATE_H
#define GATE_H

#include <pthread.h>
#include <stdbool.h>

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool closed;
	unsigned int passed; /* or arrived, while it is closed */
};

#define GATE_INITIALIZER                                                               \
	{                                                                              \
		.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER \
	}

/* By a thread: counts its arrival, then waits while the gate is closed. */
void gate_pass(struct gate *gate);

void gate_close(struct gate *gate);
void gate_open(struct gate *gate);

unsigned int gate_count(struct gate *gate);
/* Waits until so many have arrived since the beginning. */
void gate_wait_for(struct gate *gate, unsigned int arrivals);

#endif
