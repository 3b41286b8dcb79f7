/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The engine of a disk: it has requests executed on threads of its own, and transfers queued in the
 * kernel, so that whoever submits them waits for no storage.
 *
 * Requests on overlapping bytes take effect in the order they were submitted, unless both only
 * read: one that comes later is held back until the earlier ones have ended. All others run beside
 * one another. The engine knows nothing of SCSI: its owner says what a request touches, and
 * executes it where the engine calls for that.
 *
 * One thread, the ring's, queues transfers through io_uring, many at a time, and reaps them. What
 * is more than a transfer, and any transfer that did not move all its bytes at the first attempt,
 * is executed by a worker thread. Workers are made when there is work for them. Where io_uring
 * cannot be used there are only workers.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tcmu-ext/disk.h>
#include <tcmu-ext/log.h>

enum {
	/* As many commands as tcm_loop has under way. Memory that is not used is not touched. */
	ENGINE_REQUESTS = 1024,
	ENGINE_WORKERS_BESIDE_RING = 4,
	ENGINE_WORKERS_WITHOUT_RING = 8,
	/* Threads are numbered: 0 is the ring's. */
	ENGINE_THREADS = 1 + ENGINE_WORKERS_WITHOUT_RING,
};

enum engine_transfer {
	ENGINE_NO_TRANSFER, /* only the owner can execute it */
	ENGINE_READ,
	ENGINE_WRITE,
};

struct engine_request {
	struct tcmu_ext_command command;
	/* The owner's. */
	int kind;
	/* What it touches; 0 bytes: nothing. */
	uint64_t offset;
	uint64_t bytes;
	bool changes; /* and not only reads */
	/* What the kernel can do of it by itself: move those bytes to or from the command's iov. */
	enum engine_transfer transfer;
	int call_flags; /* of pwritev2() */

	/* The engine's. */
	struct engine_request *earlier; /* those that have not ended, in order of submission */
	struct engine_request *later;
	struct engine_request *next; /* in a queue, or among the free */
	unsigned int blockers;       /* earlier ones that must end first: it is held back */
	int transfer_error;          /* -errno: the transfer was queued, and failed so */
	bool allocated;              /* by itself, not one of the engine's */
	enum tcmu_ext_status status;
};

struct engine_queue {
	struct engine_request *first;
	struct engine_request *last;
};

struct engine_owner {
	void *context;
	/* Executes a request to its end and returns its status. Called on several threads at once,
	 * each with its number. */
	enum tcmu_ext_status (*execute)(void *context, struct engine_request *request,
					unsigned int thread);
	/* A transfer moved all its bytes. False: that was not all there was to do, execute it. */
	bool (*accept)(void *context, struct engine_request *request, unsigned int thread);
};

struct ring;

struct engine {
	/*
	 * How many requests have not ended, and how many of them change what they touch. Both count
	 * each of `accesses` once more.
	 */
	atomic_uint unfinished;
	atomic_uint changing;

	struct engine_owner owner;
	struct tcmu_ext_log log;
	/*
	 * Protects all below. Held for a few instructions; where requests may be in one another's
	 * way, for one look at all that have not ended for each that comes or ends, of which
	 * ENGINE_BATCH may end together; and while a worker is made. Never while a request is
	 * executed or completed.
	 */
	pthread_mutex_t lock;
	pthread_cond_t request_free;
	pthread_cond_t idle;
	struct engine_request *earliest;
	struct engine_request *latest;
	unsigned int held_back; /* requests */
	/*
	 * Those allocated that have not ended, or whose completion functions, which may submit
	 * more of them, have not returned.
	 */
	unsigned int accesses;
	size_t completing; /* requests whose completion functions are being called */
	struct engine_request *free;
	unsigned int used; /* of `requests`; those from there on were never used */
	bool stopping;

	struct ring *ring; /* NULL: workers do everything */
	struct engine_queue ring_work;
	bool ring_waits; /* its thread must be woken for new work */

	pthread_cond_t work_there;
	struct engine_queue work;
	unsigned int queued; /* requests in `work` */
	unsigned int idle_workers;
	unsigned int worker_count;
	unsigned int worker_maximum;
	pthread_t workers[ENGINE_WORKERS_WITHOUT_RING];

	struct engine_request requests[ENGINE_REQUESTS];
};

/*
 * Makes an engine and starts its first thread. `descriptor` is what transfers are queued on;
 * negative: do without the ring. Returns 0 or -errno.
 */
int engine_create(const struct engine_owner *owner, int descriptor, const struct tcmu_ext_log *log,
		  struct engine **engine);

/* Waits until all requests have ended and their completion functions have returned, and so what
 * those have submitted. To be called by one thread at a time, and by no completion function. */
void engine_drain(struct engine *engine);

/* Likewise, ends the threads and frees the engine; NULL is allowed. */
void engine_destroy(struct engine *engine);

/*
 * Submits a copy of `request`, whose completion function is called once it has ended. Called by one
 * thread at a time; waits while ENGINE_REQUESTS are under way.
 */
void engine_submit(struct engine *engine, const struct engine_request *request);

/* Likewise, but on any thread, and in memory allocated for it: it never waits. Returns 0 or
 * -ENOMEM. */
int engine_submit_allocated(struct engine *engine, const struct engine_request *request);

bool engine_has_conflict(struct engine *engine, uint64_t offset, uint64_t bytes, bool changes);

/*
 * Whether a transfer that the submitting thread means to do itself would have to wait for a request
 * that has not ended, or might meet one that a completion function submits while it is under way.
 */
static inline bool engine_conflicts(struct engine *engine, uint64_t offset, uint64_t bytes,
				    bool changes)
{
	atomic_uint *which = changes ? &engine->unfinished : &engine->changing;

	return __builtin_expect(atomic_load_explicit(which, memory_order_acquire) != 0, 0) &&
	       engine_has_conflict(engine, offset, bytes, changes);
}

#endif
