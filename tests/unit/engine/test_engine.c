/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The engine by itself: which requests run beside which, and how each ends. */
#include <errno.h>
#include <string.h>

#include "engine_record.h"
#include "ring_error.h"

static unsigned int place_of(int number)
{
	for (unsigned int i = 0; i < seen.order_count; i++)
		if (seen.order[i] == number)
			return i;
	fail_msg("request %d was not executed", number);
	return 0;
}

/* Ten requests on the same bytes, each changing them, with the gate closed for the first. */
static void test_what_overlaps_runs_in_order(void **state)
{
	(void)state;
	gate_close(&seen.gate);
	for (int i = 0; i < 10; i++)
		submit(i, 4096 + (uint64_t)(i % 2) * 100, 512, true);
	gate_wait_for(&seen.gate, 1);
	gate_open(&seen.gate);
	gate_wait_for(&seen.finished, 10);
	assert_int_equal(atomic_load(&seen.most_together), 1);
	for (int i = 0; i < 10; i++)
		assert_int_equal(seen.order[i], i);
}

static void test_a_reader_waits_for_a_change_and_a_change_for_readers(void **state)
{
	(void)state;
	gate_close(&seen.gate);
	submit(0, 0, 1024, false);
	submit(1, 512, 1024, false);
	gate_wait_for(&seen.gate, 2); /* readers do not wait for one another */
	submit(2, 1000, 100, true);
	submit(3, 1099, 1, false);
	submit(4, 1100, 1, false); /* just beside the change */
	gate_wait_for(&seen.gate, 3);
	assert_int_equal(gate_count(&seen.gate), 3);
	gate_open(&seen.gate);
	gate_wait_for(&seen.finished, 5);
	assert_true(place_of(2) > place_of(0));
	assert_true(place_of(2) > place_of(1));
	assert_true(place_of(3) > place_of(2));
}

static void test_what_does_not_overlap_runs_together(void **state)
{
	unsigned int workers =
		ring_error ? ENGINE_WORKERS_WITHOUT_RING : ENGINE_WORKERS_BESIDE_RING;

	(void)state;
	gate_close(&seen.gate);
	for (unsigned int i = 0; i < 2 * workers; i++)
		submit((int)i, i * 512, 512, true);
	gate_wait_for(&seen.gate, workers);
	gate_open(&seen.gate);
	gate_wait_for(&seen.finished, 2 * workers);
	assert_int_equal(atomic_load(&seen.most_together), workers);
}

/* A flush touches no bytes: it waits for nothing and holds nothing back. */
static void test_what_touches_nothing_waits_for_nothing(void **state)
{
	(void)state;
	gate_close(&seen.gate);
	submit(0, 0, FILE_BYTES, true);
	submit(1, 0, 0, false);
	gate_wait_for(&seen.gate, 2);
	gate_open(&seen.gate);
	gate_wait_for(&seen.finished, 2);
}

static void test_conflicts_are_seen_by_who_asks(void **state)
{
	struct engine *engine = seen.engine;

	(void)state;
	assert_false(engine_conflicts(engine, 0, FILE_BYTES, true));
	gate_close(&seen.gate);
	submit(0, 512, 512, false);
	assert_true(engine_conflicts(engine, 0, 513, true));
	assert_false(engine_conflicts(engine, 0, 513, false));
	assert_false(engine_conflicts(engine, 0, 512, true));
	assert_false(engine_conflicts(engine, 1024, 512, true));
	submit(1, 2048, 512, true);
	assert_true(engine_conflicts(engine, 2559, 1, false));
	assert_false(engine_conflicts(engine, 2560, 1, false));
	gate_open(&seen.gate);
	gate_wait_for(&seen.finished, 2);
	assert_false(engine_conflicts(engine, 0, FILE_BYTES, true));
}

static void test_transfers_are_the_kernels(void **state)
{
	char out[3][512], in[1536];
	struct iovec pieces[] = { { out[0], 512 }, { out[1], 512 }, { out[2], 512 } };
	struct iovec whole = { in, sizeof(in) };

	(void)state;
	memset(out, 'o', sizeof(out));
	submit_transfer(0, ENGINE_WRITE, 1024, pieces, 3, sizeof(out));
	submit_transfer(1, ENGINE_READ, 1024, &whole, 1, sizeof(in)); /* waits for the write */
	gate_wait_for(&seen.finished, 2);
	assert_int_equal(seen.statuses[0], TCMU_EXT_STATUS_GOOD);
	assert_int_equal(seen.statuses[1], TCMU_EXT_STATUS_GOOD);
	assert_memory_equal(in, out, sizeof(in));
	assert_int_equal(atomic_load(&seen.accepted), 2);
	assert_int_equal(atomic_load(&seen.executed), 0);
	/* The array is as it was. */
	assert_int_equal(pieces[2].iov_len, 512);
	assert_ptr_equal(whole.iov_base, in);
}

static void test_what_a_transfer_lacks_is_executed(void **state)
{
	char buffer[1024];
	struct iovec iov = { buffer, sizeof(buffer) };
	struct iovec nowhere = { NULL, sizeof(buffer) };

	(void)state;
	submit_transfer(0, ENGINE_READ, FILE_BYTES - 512, &iov, 1, sizeof(buffer)); /* short */
	submit_transfer(1, ENGINE_READ, FILE_BYTES, &iov, 1, sizeof(buffer));       /* the end */
	submit_transfer(2, ENGINE_READ, 0, &nowhere, 1, sizeof(buffer));            /* EFAULT */
	gate_wait_for(&seen.finished, 3);
	assert_int_equal(atomic_load(&seen.executed), 3);
	atomic_store(&seen.accepts, false);
	submit_transfer(3, ENGINE_WRITE, 0, &iov, 1, sizeof(buffer)); /* not accepted */
	gate_wait_for(&seen.finished, 4);
	assert_int_equal(atomic_load(&seen.executed), 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(seen.statuses[i], TCMU_EXT_STATUS_BUSY);
	assert_int_equal(atomic_load(&seen.threads) & 1, 0);
}

/* Every one of more requests than the engine holds ends once. */
static void test_more_requests_than_there_is_room_for(void **state)
{
	enum { COUNT = 4 * ENGINE_REQUESTS };
	static char buffers[COUNT][64];
	static struct iovec iov[COUNT];

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		iov[i] = (struct iovec){ buffers[i], sizeof(buffers[i]) };
		memset(buffers[i], i, sizeof(buffers[i]));
		if (i % 3)
			submit_transfer(i, i % 2 ? ENGINE_WRITE : ENGINE_READ,
					(uint64_t)(i % 97) * 48, &iov[i], 1, sizeof(buffers[i]));
		else
			submit(i, (uint64_t)(i % 89) * 64, 64, i % 5 == 0);
	}
	gate_wait_for(&seen.finished, COUNT);
	assert_int_equal(seen.ended, COUNT);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(seen.completions[i], 1);
}

static void *submit_from_elsewhere(void *argument)
{
	for (int i = 0; i < 200; i++) {
		struct engine_request request = request_of(i, (uint64_t)(i % 7) * 512, 512, i % 2);

		if (engine_submit_allocated(seen.engine, &request))
			*(int *)argument = -ENOMEM;
	}
	return NULL;
}

static void test_others_may_submit_meanwhile(void **state)
{
	pthread_t threads[3];
	int errors[3] = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			__real_pthread_create(&threads[i], NULL, submit_from_elsewhere, &errors[i]),
			0);
	for (int i = 0; i < 300; i++)
		submit(i, (uint64_t)(i % 5) * 512, 512, true);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(errors[i], 0);
	}
	gate_wait_for(&seen.finished, 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		both(test_what_overlaps_runs_in_order),
		both(test_a_reader_waits_for_a_change_and_a_change_for_readers),
		both(test_what_does_not_overlap_runs_together),
		both(test_what_touches_nothing_waits_for_nothing),
		both(test_conflicts_are_seen_by_who_asks),
		both(test_more_requests_than_there_is_room_for),
		both(test_others_may_submit_meanwhile),
		with_ring(test_transfers_are_the_kernels),
		with_ring(test_what_a_transfer_lacks_is_executed),
	};

	return run_unit_tests(tests);
}
