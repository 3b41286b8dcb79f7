/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Which request waits for which, against a model that compares each with all before it; and how
 * much work that is while the engine is locked, with so many requests as it holds. The work is
 * counted by the compiler: the file under test calls the function below once in each of its basic
 * blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/internal.h"

#include "cmocka_test.h"

static unsigned long blocks_executed;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	blocks_executed++;
}

/* For each request that has not ended; without optimisation, with sanitizers. */
enum { BLOCKS_PER_LOOK = 30 };

static struct engine engine;
static struct engine_request requests[ENGINE_REQUESTS];
static unsigned int count;

static int start(void **state)
{
	(void)state;
	memset(&engine, 0, sizeof(engine));
	count = 0;
	return 0;
}

static int expect_nothing_left(void **state)
{
	(void)state;
	assert_null(engine.earliest);
	assert_null(engine.latest);
	assert_int_equal(engine.held_back, 0);
	assert_int_equal(atomic_load(&engine.unfinished), 0);
	assert_int_equal(atomic_load(&engine.changing), 0);
	return 0;
}

static void expect_little_work(void)
{
	check(blocks_executed <= BLOCKS_PER_LOOK * (ENGINE_REQUESTS + 1),
	      "%lu blocks executed for one of %u requests", blocks_executed, count);
}

static struct engine_request *append(uint64_t offset, uint64_t bytes, bool changes)
{
	struct engine_request *request = &requests[count++];

	*request = (struct engine_request){ .offset = offset, .bytes = bytes, .changes = changes };
	blocks_executed = 0;
	order_append(&engine, request);
	expect_little_work();
	return request;
}

/* Returns how many it released. */
static unsigned int end(struct engine_request *request, struct engine_request **released)
{
	struct engine_queue queue;
	unsigned int released_count = 0;

	assert_int_equal(request->blockers, 0);
	blocks_executed = 0;
	queue = order_remove(&engine, request);
	expect_little_work();
	while ((released[released_count] = queue_take(&queue)))
		released_count++;
	return released_count;
}

/* -- against a model -- */

/* What is to be known of a request by its place in `requests`. */
static struct {
	bool ended;
	bool held_back;
} model[ENGINE_REQUESTS];

static bool is_held_back(unsigned int number)
{
	const struct engine_request *request = &requests[number];

	for (unsigned int i = 0; i < number; i++) {
		const struct engine_request *earlier = &requests[i];
		bool both_read = !earlier->changes && !request->changes;
		bool apart = earlier->offset + earlier->bytes <= request->offset ||
			     request->offset + request->bytes <= earlier->offset;

		if (!model[i].ended && earlier->bytes && request->bytes && !both_read && !apart)
			return true;
	}
	return false;
}

static void append_any(void)
{
	unsigned int number = count;
	struct engine_request *request =
		append((uint64_t)(random() % 40), (uint64_t)(random() % 6), random() % 3 == 0);

	model[number].ended = false;
	model[number].held_back = is_held_back(number);
	assert_int_equal(request->blockers != 0, model[number].held_back);
}

/* Those that the end of a request releases are those that the model no longer holds back. */
static void end_one(unsigned int number)
{
	struct engine_request *released[ENGINE_REQUESTS];
	unsigned int released_count = end(&requests[number], released);
	unsigned int next = 0;

	model[number].ended = true;
	for (unsigned int i = 0; i < count; i++) {
		if (model[i].ended || !model[i].held_back || is_held_back(i))
			continue;
		assert_true(next < released_count);
		assert_ptr_equal(released[next++], &requests[i]);
		model[i].held_back = false;
	}
	assert_int_equal(next, released_count);
}

static void end_any(void)
{
	unsigned int first = count ? (unsigned int)random() % count : 0;

	for (unsigned int i = 0; i < count; i++) {
		unsigned int number = (first + i) % count;

		if (model[number].ended || model[number].held_back)
			continue;
		end_one(number);
		return;
	}
}

static void test_against_a_model(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 200; round++) {
		srandom(round);
		while (count < 60)
			if (random() % 5 < 3)
				append_any();
			else
				end_any();
		while (engine.earliest)
			end_any();
		expect_nothing_left(NULL);
		start(NULL);
	}
}

/* -- how much work it is -- */

/* All on the same bytes: changes that wait for one another, and reads that wait for the last. */
static void test_reads_behind_changes(void **state)
{
	struct engine_request *released[ENGINE_REQUESTS];
	const unsigned int changes = ENGINE_REQUESTS / 2;

	(void)state;
	for (unsigned int i = 0; i < ENGINE_REQUESTS; i++)
		append(0, 512, i < changes);
	for (unsigned int i = 0; i < changes - 1; i++) {
		assert_int_equal(end(&requests[i], released), 1);
		assert_ptr_equal(released[0], &requests[i + 1]);
	}
	assert_int_equal(end(&requests[changes - 1], released), ENGINE_REQUESTS - changes);
	for (unsigned int i = changes; i < ENGINE_REQUESTS; i++)
		assert_int_equal(end(&requests[i], released), 0);
}

/* One change, that reads wait for, behind others that are in nobody's way. */
static void test_reads_behind_a_change_behind_others(void **state)
{
	struct engine_request *released[ENGINE_REQUESTS];
	const unsigned int others = ENGINE_REQUESTS / 2;

	(void)state;
	for (unsigned int i = 0; i < others; i++)
		append(i, 1, i % 2);
	append(others, 512, true);
	while (count < ENGINE_REQUESTS)
		append(others, 512, false);
	assert_int_equal(end(&requests[others], released), ENGINE_REQUESTS - others - 1);
	for (unsigned int i = ENGINE_REQUESTS; i-- > 0;)
		if (i != others)
			assert_int_equal(end(&requests[i], released), 0);
}

/* The compiler does count. */
static void test_work_is_counted(void **state)
{
	struct engine_request *released[ENGINE_REQUESTS];

	(void)state;
	for (unsigned int i = 0; i < ENGINE_REQUESTS; i++)
		append(0, 512, true);
	assert_true(blocks_executed >= ENGINE_REQUESTS);
	for (unsigned int i = 0; i < ENGINE_REQUESTS; i++)
		end(&requests[i], released);
}

#define order_test(test) cmocka_unit_test_setup_teardown(test, start, expect_nothing_left)

int main(void)
{
	const struct CMUnitTest tests[] = {
		order_test(test_against_a_model),
		order_test(test_reads_behind_changes),
		order_test(test_reads_behind_a_change_behind_others),
		order_test(test_work_is_counted),
	};

	return run_unit_tests(tests);
}
