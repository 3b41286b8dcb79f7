/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "gate.h"

void gate_pass(struct gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->passed++;
	pthread_cond_broadcast(&gate->changed);
	while (gate->closed)
		pthread_cond_wait(&gate->changed, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}

static void set_closed(struct gate *gate, bool closed)
{
	pthread_mutex_lock(&gate->lock);
	gate->closed = closed;
	pthread_cond_broadcast(&gate->changed);
	pthread_mutex_unlock(&gate->lock);
}

void gate_close(struct gate *gate)
{
	set_closed(gate, true);
}

void gate_open(struct gate *gate)
{
	set_closed(gate, false);
}

unsigned int gate_count(struct gate *gate)
{
	unsigned int count;

	pthread_mutex_lock(&gate->lock);
	count = gate->passed;
	pthread_mutex_unlock(&gate->lock);
	return count;
}

void gate_wait_for(struct gate *gate, unsigned int arrivals)
{
	pthread_mutex_lock(&gate->lock);
	while (gate->passed < arrivals)
		pthread_cond_wait(&gate->changed, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}
