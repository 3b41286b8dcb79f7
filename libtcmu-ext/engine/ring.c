/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Transfers queued in the kernel, by one thread that does nothing else. The thread that submits
 * requests does not enter the ring itself: the kernel would then finish them in its name, and
 * interrupt it, or wait for it, each time.
 *
 * No buffers are registered: memory shared with the kernel's target core may be replaced while a
 * registration lasts.
 */
#include <errno.h>
#include <liburing.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/internal.h"

struct ring {
	struct engine *engine;
	struct io_uring io_uring;
	int descriptor;
	/* Written to by other threads, read through the ring itself: that is how it is woken. */
	int wake_descriptor;
	uint64_t wake_count;
	bool wake_queued;
	pthread_t thread;
};

enum {
	/* Queued at once; and under way at once, with the one for waking, so that none is lost. */
	SUBMISSION_ENTRIES = 128,
	COMPLETION_ENTRIES = 2 * ENGINE_REQUESTS,
};

static void reserve_entry(struct ring *ring, struct io_uring_sqe **entry)
{
	while (!(*entry = io_uring_get_sqe(&ring->io_uring)))
		io_uring_submit(&ring->io_uring);
}

static void queue_wake(struct ring *ring)
{
	struct io_uring_sqe *entry;

	if (ring->wake_queued)
		return;
	reserve_entry(ring, &entry);
	io_uring_prep_read(entry, ring->wake_descriptor, &ring->wake_count,
			   sizeof(ring->wake_count), 0);
	io_uring_sqe_set_data(entry, NULL);
	ring->wake_queued = true;
}

static void queue_transfer(struct ring *ring, struct engine_request *request)
{
	const struct tcmu_ext_command *command = &request->command;
	unsigned int entries = (unsigned int)command->iov_count;
	struct io_uring_sqe *entry;

	reserve_entry(ring, &entry);
	if (request->transfer == ENGINE_READ)
		io_uring_prep_readv2(entry, ring->descriptor, command->iov, entries,
				     request->offset, request->call_flags);
	else
		io_uring_prep_writev2(entry, ring->descriptor, command->iov, entries,
				      request->offset, request->call_flags);
	io_uring_sqe_set_data(entry, request);
}

/* What workers would do, if there were any. */
static void execute(struct ring *ring, struct engine_request *request)
{
	struct engine *engine = ring->engine;

	request->status = engine->owner.execute(engine->owner.context, request, 0);
	requests_end(engine, &request, 1);
}

/* Anything but all bytes (an error, the end of a file) is for the owner to deal with. */
static bool is_complete(struct ring *ring, struct engine_request *request, int result)
{
	struct engine *engine = ring->engine;

	return result >= 0 && (uint64_t)result == request->bytes &&
	       engine->owner.accept(engine->owner.context, request, 0);
}

static void start_again(struct ring *ring, struct engine_request *request, int result)
{
	struct engine *engine = ring->engine;

	request->transfer_error = result < 0 ? result : 0;
	request->transfer = ENGINE_NO_TRANSFER;
	pthread_mutex_lock(&engine->lock);
	request_start(engine, request);
	pthread_mutex_unlock(&engine->lock);
}

static void reap(struct ring *ring)
{
	struct io_uring_cqe *results[ENGINE_BATCH];
	struct engine_request *ended[ENGINE_BATCH];
	unsigned int count = io_uring_peek_batch_cqe(&ring->io_uring, results, ENGINE_BATCH);
	size_t ended_count = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct engine_request *request = io_uring_cqe_get_data(results[i]);

		if (!request) {
			ring->wake_queued = false;
		} else if (is_complete(ring, request, results[i]->res)) {
			request->status = TCMU_EXT_STATUS_GOOD;
			ended[ended_count++] = request;
		} else {
			start_again(ring, request, results[i]->res);
		}
	}
	io_uring_cq_advance(&ring->io_uring, count);
	if (ended_count)
		requests_end(ring->engine, ended, ended_count);
}

/* Submits what was queued, and waits unless something has been completed already. */
static void enter(struct ring *ring)
{
	struct io_uring *io_uring = &ring->io_uring;

	/* Interrupted, or short of memory: what was not queued is tried again. */
	if (io_uring_sq_ready(io_uring) || !io_uring_cq_ready(io_uring))
		io_uring_submit_and_wait(io_uring, 1);
}

/* Takes all new work; from then on more of it wakes this thread. Returns whether to go on. */
static bool take_work(struct ring *ring, struct engine_queue *work)
{
	struct engine *engine = ring->engine;
	bool done;

	pthread_mutex_lock(&engine->lock);
	*work = engine->ring_work;
	engine->ring_work = (struct engine_queue){ 0 };
	engine->ring_waits = true;
	done = engine_is_done(engine);
	pthread_mutex_unlock(&engine->lock);
	return !done;
}

static void queue_work(struct ring *ring, struct engine_queue *work)
{
	struct engine_request *request;

	while ((request = queue_take(work)))
		if (request->transfer == ENGINE_NO_TRANSFER)
			execute(ring, request);
		else
			queue_transfer(ring, request);
}

static void *serve(void *argument)
{
	struct ring *ring = argument;
	struct engine_queue work;

	pthread_setname_np(pthread_self(), "tcmu-ext-io");
	/* From the thread that will enter it, as IORING_SETUP_SINGLE_ISSUER wants. */
	io_uring_register((unsigned int)ring->io_uring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL,
			  0);
	while (take_work(ring, &work)) {
		queue_work(ring, &work);
		queue_wake(ring);
		enter(ring);
		reap(ring);
	}
	return NULL;
}

/* A filter of system calls may allow to make a ring, and not to use it. */
static int try_ring(void)
{
	struct io_uring io_uring;
	int error = io_uring_queue_init(1, &io_uring, IORING_SETUP_R_DISABLED);

	if (error)
		return error;
	error = io_uring_register((unsigned int)io_uring.ring_fd, IORING_REGISTER_ENABLE_RINGS,
				  NULL, 0);
	if (!error) {
		io_uring_prep_nop(io_uring_get_sqe(&io_uring));
		error = io_uring_submit_and_wait(&io_uring, 1);
	}
	io_uring_queue_exit(&io_uring);
	return error < 0 ? error : 0;
}

/* What spares the kernel work, as far as it knows it; else what every one has that knows io_uring.
 */
static int set_up(struct io_uring *io_uring)
{
	static const unsigned int flags[] = {
		IORING_SETUP_R_DISABLED | IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL |
			IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_R_DISABLED | IORING_SETUP_CQSIZE,
	};
	const unsigned int needed = IORING_FEAT_NODROP | IORING_FEAT_FAST_POLL;
	int error = try_ring();

	if (error)
		return error;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct io_uring_params parameters = { .flags = flags[i],
						      .cq_entries = COMPLETION_ENTRIES };

		error = io_uring_queue_init_params(SUBMISSION_ENTRIES, io_uring, &parameters);
		if (error == -EINVAL)
			continue;
		if (!error && (parameters.features & needed) != needed) {
			io_uring_queue_exit(io_uring);
			error = -ENOSYS;
		}
		break;
	}
	return error;
}

int ring_create(struct engine *engine, int descriptor)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	int error;

	if (!ring)
		return -ENOMEM;
	ring->engine = engine;
	ring->descriptor = descriptor;
	ring->wake_descriptor = eventfd(0, EFD_CLOEXEC);
	if (ring->wake_descriptor < 0) {
		error = -errno;
		goto free_ring;
	}
	error = set_up(&ring->io_uring);
	if (error)
		goto close_descriptor;
	engine->ring = ring;
	error = thread_start(&ring->thread, serve, ring);
	if (!error)
		return 0;
	engine->ring = NULL;
	io_uring_queue_exit(&ring->io_uring);
close_descriptor:
	close(ring->wake_descriptor);
free_ring:
	free(ring);
	return error;
}

void ring_wake(struct ring *ring)
{
	/* Fails only when the count is about to overflow, and then there is no need. */
	eventfd_write(ring->wake_descriptor, 1);
}

void ring_destroy(struct ring *ring)
{
	ring_wake(ring);
	pthread_join(ring->thread, NULL);
	io_uring_queue_exit(&ring->io_uring);
	close(ring->wake_descriptor);
	free(ring);
}
