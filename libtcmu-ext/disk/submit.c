/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/submit.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "disk/admission.h"
#include "disk/command_table.h"
#include "disk/range.h"
#include "disk/read_write.h"
#include "engine/engine.h"

/* What a request of the engine is. */
enum request_kind {
	REQUEST_COMMAND, /* tcmu_ext_disk_execute() */
	REQUEST_READ,    /* tcmu_ext_disk_read() */
	REQUEST_WRITE,   /* tcmu_ext_disk_write() */
};

static enum tcmu_ext_status execute_request(struct tcmu_ext_disk *disk,
					    struct engine_request *request)
{
	struct tcmu_ext_command *command = &request->command;

	switch ((enum request_kind)request->kind) {
	case REQUEST_COMMAND:
		return tcmu_ext_disk_execute(disk, command);
	case REQUEST_READ:
		return tcmu_ext_disk_read(disk, command, request->offset, request->bytes);
	case REQUEST_WRITE:
		return tcmu_ext_disk_write(disk, command, request->offset, request->bytes);
	}
	return TCMU_EXT_STATUS_BUSY;
}

/* Not from malloc(): each thread would keep that much of its heap for ever. */
static bool has_scratch(struct tcmu_ext_lane *lane)
{
	void *memory;

	if (lane->scratch)
		return true;
	memory = mmap(NULL, SCRATCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (memory == MAP_FAILED)
		return false;
	lane->scratch = memory;
	return true;
}

/* On a thread of the engine. */
static enum tcmu_ext_status execute(void *context, struct engine_request *request,
				    unsigned int thread)
{
	struct tcmu_ext_disk *disk = context;
	struct tcmu_ext_lane *lane = &disk->engine_lanes[thread];

	request->command.lane = lane;
	lane->durable_write_error = request->call_flags & RWF_DSYNC ? request->transfer_error : 0;
	return has_scratch(lane) ? execute_request(disk, request) : TCMU_EXT_STATUS_BUSY;
}

/* The kernel has moved all bytes of a request: ends a READ or WRITE as its execution would. */
static bool accept_transfer(void *context, struct engine_request *request, unsigned int thread)
{
	struct tcmu_ext_disk *disk = context;
	struct tcmu_ext_lane *lane = &disk->engine_lanes[thread];
	struct range range = range_of_cdb(request->command.cdb);
	bool is_read = request->transfer == ENGINE_READ;

	/* The cache has been turned off meanwhile: written again, it will be durable. */
	if (!is_read && !request->call_flags && !atomic_load(&disk->write_cache))
		return false;
	request->command.lane = lane;
	if (is_read)
		count_read(disk, &request->command, range, TCMU_EXT_STATUS_GOOD);
	else
		count_write(disk, &request->command, range, TCMU_EXT_STATUS_GOOD);
	counter_add(&lane->counters.commands, 1);
	return true;
}

static bool is_queueable(const struct tcmu_ext_disk *disk, const struct tcmu_ext_command *command,
			 const struct command_row *row, bool durable)
{
	if (command->iov_count > IOV_MAX)
		return false;
	if (row->execute == execute_read)
		return !wants_unit_access(command->cdb) || !atomic_load(&disk->write_cache);
	/* Of a page cache's error more has to be known than the kernel would tell: flush_lock. */
	return row->execute == execute_write && (disk->direct || !durable);
}

/* Says what of a command the kernel can do by itself. */
static void describe_transfer(struct tcmu_ext_disk *disk, const struct command_row *row,
			      struct engine_request *request)
{
	struct tcmu_ext_command *command = &request->command;
	struct range range = range_of_cdb(command->cdb);
	bool durable = wants_unit_access(command->cdb) || !atomic_load(&disk->write_cache);

	if (!is_queueable(disk, command, row, durable))
		return;
	if (row->execute == execute_read &&
	    range_check_data_in(disk, command, range) == TCMU_EXT_STATUS_GOOD)
		request->transfer = ENGINE_READ;
	if (row->execute == execute_write &&
	    range_check_data_out(disk, command, range) == TCMU_EXT_STATUS_GOOD)
		request->transfer = ENGINE_WRITE;
	if (request->transfer == ENGINE_WRITE && durable)
		request->call_flags = RWF_DSYNC;
}

void tcmu_ext_disk_submit(struct tcmu_ext_disk *disk, const struct tcmu_ext_command *command)
{
	struct engine_request request = { .command = *command, .kind = REQUEST_COMMAND };
	const struct command_row *row = command_table_find(disk, command->cdb);
	struct extent extent = { 0 };

	if (!disk->engine || !row || command->cdb_bytes < row->cdb_bytes) {
		command->complete(command->context, command->caller_command,
				  tcmu_ext_disk_execute(disk, &request.command));
		return;
	}
	if (row->extent)
		extent = row->extent(disk, &request.command);
	request.offset = extent.lba << disk->block_shift;
	request.bytes = extent.blocks << disk->block_shift;
	request.changes = row->writes;
	describe_transfer(disk, row, &request);
	engine_submit(disk->engine, &request);
}

static void submit_access(struct tcmu_ext_disk *disk, const struct tcmu_ext_command *command,
			  enum request_kind kind, uint64_t offset, size_t bytes)
{
	struct engine_request request = {
		.command = *command,
		.kind = (int)kind,
		.offset = offset,
		.bytes = bytes,
		.changes = kind == REQUEST_WRITE,
	};
	enum tcmu_ext_status status = TCMU_EXT_STATUS_TASK_SET_FULL;

	if (!disk->engine)
		status = execute_request(disk, &request);
	else if (!engine_submit_allocated(disk->engine, &request))
		return;
	command->complete(command->context, command->caller_command, status);
}

void tcmu_ext_disk_submit_read(struct tcmu_ext_disk *disk, const struct tcmu_ext_command *command,
			       uint64_t offset, size_t bytes)
{
	submit_access(disk, command, REQUEST_READ, offset, bytes);
}

void tcmu_ext_disk_submit_write(struct tcmu_ext_disk *disk, const struct tcmu_ext_command *command,
				uint64_t offset, size_t bytes)
{
	submit_access(disk, command, REQUEST_WRITE, offset, bytes);
}

void tcmu_ext_disk_drain(struct tcmu_ext_disk *disk)
{
	if (disk->engine)
		engine_drain(disk->engine);
}

bool tcmu_ext_disk_has_engine(const struct tcmu_ext_disk *disk)
{
	return disk->engine;
}

bool tcmu_ext_disk_heeds_alone(const struct tcmu_ext_disk *disk)
{
	return disk->engine && disk->read_admission == ADMIT_ALONE;
}

/* Asks the backend. Returns false when it cannot have an engine. */
static bool describe_queue(const struct tcmu_ext_disk *disk, struct tcmu_ext_backend_queue *queue)
{
	const struct tcmu_ext_backend *backend = disk->backend;

	*queue =
		(struct tcmu_ext_backend_queue){ .struct_bytes = sizeof(*queue), .descriptor = -1 };
	if (!backend->operations.describe_queue)
		return false;
	backend->operations.describe_queue(backend->instance, queue);
	return true;
}

/*
 * Which descriptor transfers are queued on. A process that is killed leaves transfers behind that
 * the kernel still carries out, to and from memory that by then may serve other commands: with
 * O_DIRECT only where that keeps its successor from opening the backing. A thread that waits for
 * one, by contrast, keeps the process from ending. And no ring where no transfer would use it.
 */
static int queue_descriptor(const struct tcmu_ext_backend_queue *queue, enum tcmu_ext_io_mode mode)
{
	if (queue->direct && !queue->exclusive)
		return -1;
	if (queue->never_waits && mode == TCMU_EXT_IO_MODE_AUTO)
		return -1;
	return queue->descriptor;
}

int submit_init(struct tcmu_ext_disk *disk, enum tcmu_ext_io_mode mode)
{
	const struct engine_owner owner = { .context = disk,
					    .execute = execute,
					    .accept = accept_transfer };
	struct tcmu_ext_backend_queue queue;
	int error;

	if (mode == TCMU_EXT_IO_MODE_INLINE || !describe_queue(disk, &queue))
		return 0;
	disk->direct = queue.direct;
	admission_init(disk, &queue, mode);
	disk->engine_lanes = calloc(ENGINE_THREADS, sizeof(*disk->engine_lanes));
	if (!disk->engine_lanes)
		return -ENOMEM;
	error = engine_create(&owner, queue_descriptor(&queue, mode), &disk->log, &disk->engine);
	if (!error || error == -ENOMEM)
		return error;
	log_message(
		&disk->log, TCMU_EXT_LOG_WARNING,
		"no thread could be made (%s): commands are executed one after another, as with "
		"io=inline",
		strerror(-error));
	return 0;
}

void submit_release(struct tcmu_ext_disk *disk)
{
	engine_destroy(disk->engine);
	for (unsigned int i = 0; disk->engine_lanes && i < ENGINE_THREADS; i++)
		if (disk->engine_lanes[i].scratch)
			munmap(disk->engine_lanes[i].scratch, SCRATCH_BYTES);
	free(disk->engine_lanes);
}
