/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#ifndef VHOST_REPORT_H
#define VHOST_REPORT_H

#include "vhost-session.h"

/* What all request queues did together. */
struct totals {
	struct load_counts counts;
	struct latency latency;
	uint64_t requests, batches, kicks, calls;
	uint64_t duration_ns;
};

void report_add_queue(struct totals *totals, const struct load_queue *queue);

/* To standard output, as one JSON object. */
void report_print(const struct session *session, const struct load *load,
		  const struct totals *totals, unsigned endpoint_cycles);

#endif
