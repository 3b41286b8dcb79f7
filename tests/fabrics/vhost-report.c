/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "vhost-report.h"

#include <stdio.h>

void report_add_queue(struct totals *totals, const struct load_queue *queue)
{
	uint64_t duration_ns = queue->ended_ns > queue->counting_from_ns
				       ? queue->ended_ns - queue->counting_from_ns
				       : 0;

	totals->counts.requests += queue->counts.requests;
	totals->counts.busy += queue->counts.busy;
	totals->counts.attentions += queue->counts.attentions;
	totals->counts.failed += queue->counts.failed;
	totals->counts.wrong_data += queue->counts.wrong_data;
	latency_merge(&totals->latency, &queue->latency);
	totals->requests += queue->queue.requests;
	totals->batches += queue->queue.batches;
	totals->kicks += queue->queue.kicks;
	totals->calls += queue->queue.calls;
	if (duration_ns > totals->duration_ns)
		totals->duration_ns = duration_ns;
}

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void print_counts(const struct totals *totals)
{
	printf("  \"requests\": %llu,\n  \"iops\": %.1f,\n  \"busy\": %llu,\n"
	       "  \"unit_attentions\": %llu,\n  \"failed\": %llu,\n  \"wrong_data\": %llu,\n",
	       (unsigned long long)totals->counts.requests,
	       1e9 * ratio(totals->counts.requests, totals->duration_ns),
	       (unsigned long long)totals->counts.busy,
	       (unsigned long long)totals->counts.attentions,
	       (unsigned long long)totals->counts.failed,
	       (unsigned long long)totals->counts.wrong_data);
}

static void print_latency(const struct latency *latency)
{
	static const unsigned per_mille[] = { 500, 900, 990, 999 };

	printf("  \"latency_us\": { \"mean\": %.1f", ratio(latency->sum_ns, latency->count) / 1e3);
	for (unsigned i = 0; i < sizeof(per_mille) / sizeof(per_mille[0]); i++)
		printf(", \"p%g\": %.1f", per_mille[i] / 10.0,
		       (double)latency_percentile_ns(latency, per_mille[i]) / 1e3);
	printf(", \"max\": %.1f },\n", (double)latency->maximum_ns / 1e3);
}

void report_print(const struct session *session, const struct load *load,
		  const struct totals *totals, unsigned endpoint_cycles)
{
	printf("{\n");
	print_counts(totals);
	print_latency(&totals->latency);
	printf("  \"requests_per_batch\": %.2f,\n  \"requests_per_kick\": %.2f,\n"
	       "  \"requests_per_call\": %.2f,\n",
	       ratio(totals->requests, totals->batches), ratio(totals->requests, totals->kicks),
	       ratio(totals->requests, totals->calls));
	printf("  \"endpoint_cycles\": %u,\n  \"events\": %u,\n  \"failure\": \"%s\"\n}\n",
	       endpoint_cycles, session->event_count, load->failure);
}
