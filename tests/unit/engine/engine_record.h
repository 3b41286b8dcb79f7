/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * An engine whose owner records what it is asked to do, and whose threads and memory can be made to
 * fail: what the tests of the engine by itself begin with.
 */
#ifndef ENGINE_RECORD_H
#define ENGINE_RECORD_H

#include <stdatomic.h>

#include "cmocka_test.h"
#include "engine/engine.h"
#include "gate.h"

/* Requests from CHAIN_BEGIN on are submitted by the completion of the one before. */
enum { CHAIN_BEGIN = 4 * ENGINE_REQUESTS, CHAIN_END = CHAIN_BEGIN + 100 };

/* One whose completion submits the next only while the engine is being destroyed. */
enum { LATE = CHAIN_END + 1 };

enum { FILE_BYTES = 64 * 1024, RECORDS_MAXIMUM = 4 * ENGINE_REQUESTS + 200 };

struct engine_record {
	struct engine *engine;
	int file;
	struct gate gate;     /* that execution passes */
	struct gate finished; /* that completion passes; never closed */
	struct gate late;     /* that the completion of LATE passes first; never closed */
	atomic_uint executed; /* requests */
	atomic_uint accepted;
	atomic_uint threads;  /* that executed, a bit each */
	atomic_uint together; /* under execution right now */
	atomic_uint most_together;
	atomic_bool accepts;
	pthread_mutex_t lock;
	int order[RECORDS_MAXIMUM]; /* of requests as their execution ended */
	unsigned int order_count;
	enum tcmu_ext_status statuses[RECORDS_MAXIMUM]; /* of each request, by number */
	unsigned int completions[RECORDS_MAXIMUM];
	unsigned int ended;
	char message[256];
};

extern struct engine_record seen;
void record_clear(void);

extern const struct engine_owner recording_owner;
extern const struct tcmu_ext_log message_log; /* goes to seen.message */

extern atomic_int thread_limit; /* threads that can still be made */
extern bool memory_fails;       /* calloc() */
/* As the test's own threads are made. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*function)(void *), void *argument);

/* For cmocka: the engine is seen.engine. A ring of no use is one that can be made and not entered,
 * as a filter of system calls leaves it that knows io_uring_setup(2) alone. */
int set_up_with_ring(void **state);
int set_up_without_ring(void **state);
int set_up_with_a_ring_of_no_use(void **state);
int tear_down(void **state);

#define with_ring(test)    cmocka_unit_test_setup_teardown(test, set_up_with_ring, tear_down)
#define without_ring(test) cmocka_unit_test_setup_teardown(test, set_up_without_ring, tear_down)
#define both(test)         with_ring(test), without_ring(test)

/* Requests, which are known by their numbers. */
struct engine_request request_of(int number, uint64_t offset, uint64_t bytes, bool changes);
void submit(int number, uint64_t offset, uint64_t bytes, bool changes);
void submit_transfer(int number, enum engine_transfer transfer, uint64_t offset, struct iovec *iov,
		     size_t iov_count, size_t bytes);

#endif
