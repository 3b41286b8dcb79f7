/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A disk of the library in place of one of the kernel's: so the whole of it can run under the
 * sanitizers. As in a handler, one thread at a time executes and submits; the engine ends commands.
 * It must have used io_uring for that, but with io=inline and under without-io-uring.
 */
#include <err.h>
#include <liburing.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <tcmu-ext/disk.h>

#include "transport.h"

enum { DISK_BYTES = 4 << 20, BLOCK_BYTES = 512 };

const char transport_name_form[] = "/path/of/file[;option=value]...";

static struct {
	pthread_mutex_t lock;
	unsigned int handles;
	struct tcmu_ext_backend *backend;
	struct tcmu_ext_disk *disk;
	bool uses_ring;
	atomic_uint ring_transfers; /* that moved data */
} target = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void show_message(void *context, enum tcmu_ext_log_level level, const char *message)
{
	(void)context;
	(void)level;
	fprintf(stderr, "%s\n", message);
}

unsigned int __real_io_uring_peek_batch_cqe(struct io_uring *ring, struct io_uring_cqe **entries,
					    unsigned int count);
unsigned int __wrap_io_uring_peek_batch_cqe(struct io_uring *ring, struct io_uring_cqe **entries,
					    unsigned int count);
unsigned int __wrap_io_uring_peek_batch_cqe(struct io_uring *ring, struct io_uring_cqe **entries,
					    unsigned int count)
{
	unsigned int found = __real_io_uring_peek_batch_cqe(ring, entries, count);

	/* Not what woke the engine's thread, which belongs to no request, nor refused transfers. */
	for (unsigned int i = 0; i < found; i++)
		if (io_uring_cqe_get_data(entries[i]) && entries[i]->res > 0)
			atomic_fetch_add(&target.ring_transfers, 1);
	return found;
}

static void check_ring_transfers(void)
{
	unsigned int transfers = atomic_load(&target.ring_transfers);

	printf("%u transfers through io_uring\n", transfers);
	if (target.uses_ring && !transfers)
		errx(1, "io_uring was not used: is it allowed here?");
	if (!target.uses_ring && transfers)
		errx(1, "io_uring was used");
}

static void open_target(const char *name)
{
	struct tcmu_ext_backend_config config;
	char *reason;

	if (tcmu_ext_backend_config_parse(&tcmu_ext_backend_file, name, &config, &reason))
		errx(2, "%s: %s", name, reason ? reason : "no memory");
	config.size_bytes = DISK_BYTES;
	config.logical_block_bytes = BLOCK_BYTES;
	config.log = (struct tcmu_ext_log){ .write = show_message };
	if (tcmu_ext_backend_open(&tcmu_ext_backend_file, &config, &target.backend))
		errx(2, "%s cannot be opened", name);
	if (tcmu_ext_disk_create(target.backend,
				 &(struct tcmu_ext_disk_config){
					 .struct_bytes = sizeof(struct tcmu_ext_disk_config),
					 .size_bytes = DISK_BYTES,
					 .logical_block_bytes = BLOCK_BYTES,
					 .write_cache = config.cache != TCMU_EXT_CACHE_WRITETHROUGH,
					 .io = (enum tcmu_ext_io_mode)config.io,
					 .log = config.log },
				 &target.disk))
		errx(2, "no disk can be made of %s", name);
	target.uses_ring = config.io != TCMU_EXT_IO_MODE_INLINE && !getenv("WITHOUT_IO_URING");
	tcmu_ext_backend_config_clear(&config);
}

int transport_open(const char *name)
{
	if (!target.handles++)
		open_target(name);
	return 0;
}

void transport_close(int handle)
{
	(void)handle;
	if (--target.handles)
		return;
	tcmu_ext_disk_destroy(target.disk);
	tcmu_ext_backend_close(target.backend);
	check_ring_transfers();
}

struct waiter {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool has_ended;
	enum tcmu_ext_status status;
};

static void complete(void *context, void *caller_command, enum tcmu_ext_status status)
{
	struct waiter *waiter = context;

	(void)caller_command;
	pthread_mutex_lock(&waiter->lock);
	waiter->status = status;
	waiter->has_ended = true;
	pthread_cond_signal(&waiter->ended);
	pthread_mutex_unlock(&waiter->lock);
}

static enum tcmu_ext_status wait_for(struct waiter *waiter)
{
	enum tcmu_ext_status status;

	pthread_mutex_lock(&waiter->lock);
	while (!waiter->has_ended)
		pthread_cond_wait(&waiter->ended, &waiter->lock);
	status = waiter->status;
	pthread_mutex_unlock(&waiter->lock);
	return status;
}

/* A command that is submitted may have ended before this returns, or not. */
static enum tcmu_ext_status execute_or_submit(struct tcmu_ext_command *command)
{
	struct tcmu_ext_command again = *command;
	enum tcmu_ext_status status;

	pthread_mutex_lock(&target.lock);
	status = tcmu_ext_disk_execute(target.disk, command);
	if (status == TCMU_EXT_STATUS_WOULD_BLOCK)
		tcmu_ext_disk_submit(target.disk, &again);
	pthread_mutex_unlock(&target.lock);
	return status;
}

bool transport_send(int handle, struct transport_command *command)
{
	struct iovec iov = { command->data, command->data_bytes };
	struct waiter waiter = { .lock = PTHREAD_MUTEX_INITIALIZER,
				 .ended = PTHREAD_COND_INITIALIZER };
	struct tcmu_ext_command inner = {
		.cdb = command->cdb,
		.cdb_bytes = command->cdb_bytes,
		.iov = &iov,
		.iov_count = command->data_bytes ? 1 : 0,
		.sense = command->sense,
		.sense_bytes = sizeof(command->sense),
		.complete = complete,
		.context = &waiter,
	};

	enum tcmu_ext_status status = execute_or_submit(&inner);

	(void)handle;
	if (status == TCMU_EXT_STATUS_WOULD_BLOCK)
		status = wait_for(&waiter);
	if (status == TCMU_EXT_STATUS_NOT_MINE)
		errx(1, "operation %02x is not the disk's", command->cdb[0]);
	pthread_cond_destroy(&waiter.ended);
	pthread_mutex_destroy(&waiter.lock);
	command->status = (uint8_t)status;
	command->host_status = 0;
	return true;
}
