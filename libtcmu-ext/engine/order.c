/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Which request must wait for which: the list of those that have not ended. */
#include "engine/internal.h"

static bool conflicts(const struct engine_request *request, uint64_t offset, uint64_t bytes,
		      bool changes)
{
	return (changes || request->changes) && bytes && request->bytes &&
	       request->offset < offset + bytes && offset < request->offset + request->bytes;
}

/* How many of the requests that have not ended one on these bytes would have to wait for. */
static unsigned int count_conflicts(const struct engine *engine, uint64_t offset, uint64_t bytes,
				    bool changes)
{
	const struct engine_request *request;
	unsigned int count = 0;

	/* Among requests that only read there is nothing to look for. */
	if (!changes && !atomic_load_explicit(&engine->changing, memory_order_relaxed))
		return 0;
	for (request = engine->earliest; request; request = request->later)
		count += conflicts(request, offset, bytes, changes);
	return count;
}

void order_append(struct engine *engine, struct engine_request *request)
{
	request->blockers =
		count_conflicts(engine, request->offset, request->bytes, request->changes);
	if (request->blockers)
		engine->held_back++;
	request->earlier = engine->latest;
	request->later = NULL;
	if (engine->latest)
		engine->latest->later = request;
	else
		engine->earliest = request;
	engine->latest = request;
	atomic_fetch_add_explicit(&engine->unfinished, 1, memory_order_relaxed);
	if (request->changes)
		atomic_fetch_add_explicit(&engine->changing, 1, memory_order_relaxed);
}

static void take_out(struct engine *engine, struct engine_request *request)
{
	if (request->earlier)
		request->earlier->later = request->later;
	else
		engine->earliest = request->later;
	if (request->later)
		request->later->earlier = request->earlier;
	else
		engine->latest = request->earlier;
	/* Whoever sees the count go down sees what the request did. */
	atomic_fetch_sub_explicit(&engine->unfinished, 1, memory_order_release);
	if (request->changes)
		atomic_fetch_sub_explicit(&engine->changing, 1, memory_order_release);
}

struct engine_queue order_remove(struct engine *engine, struct engine_request *request)
{
	struct engine_queue released = { 0 };
	unsigned int unseen = engine->held_back;
	struct engine_request *later;

	take_out(engine, request);
	for (later = request->later; later && unseen; later = later->later) {
		if (!later->blockers)
			continue;
		unseen--;
		if (!conflicts(later, request->offset, request->bytes, request->changes) ||
		    --later->blockers)
			continue;
		engine->held_back--;
		queue_append(&released, later);
	}
	return released;
}

bool engine_has_conflict(struct engine *engine, uint64_t offset, uint64_t bytes, bool changes)
{
	bool has_conflict;

	pthread_mutex_lock(&engine->lock);
	has_conflict = engine->accesses || count_conflicts(engine, offset, bytes, changes);
	pthread_mutex_unlock(&engine->lock);
	return has_conflict;
}
