/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Which request must wait for which: the list of those that have not ended. */
#include "engine/internal.h"

static bool overlap(const struct engine_request *request, uint64_t offset, uint64_t bytes)
{
	return bytes && request->bytes && request->offset < offset + bytes &&
	       offset < request->offset + request->bytes;
}

/* The latest request before `end` (NULL: the end of the list) that must end first. */
static bool conflicts_before(const struct engine *engine, const struct engine_request *end,
			     uint64_t offset, uint64_t bytes, bool changes)
{
	const struct engine_request *request;

	for (request = engine->earliest; request && request != end; request = request->later)
		if ((changes || request->changes) && overlap(request, offset, bytes))
			return true;
	return false;
}

static bool must_wait(const struct engine *engine, const struct engine_request *request)
{
	/* Among requests that only read there is nothing to look for. */
	if (!request->changes && !atomic_load_explicit(&engine->changing, memory_order_relaxed))
		return false;
	return conflicts_before(engine, request, request->offset, request->bytes, request->changes);
}

void order_append(struct engine *engine, struct engine_request *request)
{
	request->earlier = engine->latest;
	request->later = NULL;
	if (engine->latest)
		engine->latest->later = request;
	else
		engine->earliest = request;
	engine->latest = request;
	request->held_back = must_wait(engine, request);
	if (request->held_back)
		engine->held_back++;
	atomic_fetch_add_explicit(&engine->unfinished, 1, memory_order_relaxed);
	if (request->changes)
		atomic_fetch_add_explicit(&engine->changing, 1, memory_order_relaxed);
}

void order_remove(struct engine *engine, struct engine_request *request)
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

struct engine_request *order_release(struct engine *engine)
{
	struct engine_request *request;

	if (!engine->held_back)
		return NULL;
	for (request = engine->earliest; request; request = request->later) {
		if (!request->held_back || must_wait(engine, request))
			continue;
		request->held_back = false;
		engine->held_back--;
		return request;
	}
	return NULL;
}

bool engine_has_conflict(struct engine *engine, uint64_t offset, uint64_t bytes, bool changes)
{
	bool conflicts;

	pthread_mutex_lock(&engine->lock);
	conflicts = conflicts_before(engine, NULL, offset, bytes, changes);
	pthread_mutex_unlock(&engine->lock);
	return conflicts;
}
