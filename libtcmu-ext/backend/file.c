/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The backend `file`: a regular file. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/create.h"
#include "backend/file.h"
#include "backend/lock.h"
#include "backend/missing.h"
#include "backend/object.h"
#include "backend/transfer.h"
#include "plumbing/log.h"

enum {
	BLOCK_MINIMUM_BYTES = 512,
	BLOCK_USUAL_BYTES = 4096,
};

/* The file system's block, if it says anything usable. */
static uint32_t block_of(const struct stat *status)
{
	uint64_t bytes = (uint64_t)status->st_blksize;

	if (bytes < BLOCK_MINIMUM_BYTES || bytes > UINT32_MAX || (bytes & (bytes - 1)))
		return BLOCK_USUAL_BYTES;
	return (uint32_t)bytes;
}

/* Sets the descriptor to the file there is, or begins to make one. */
static int open_or_create(struct storage *storage, const struct tcmu_ext_backend_config *config,
			  struct creation *creation)
{
	/* O_NONBLOCK: do not wait for a program that has a lease on the file. */
	int flags = (storage->read_only ? O_RDONLY : O_RDWR) | O_NONBLOCK;
	int error = object_open(OBJECT_FILE, storage, flags);

	if (error != -ENOENT && error != -ENOTDIR)
		return error;
	error = missing_report(OBJECT_FILE, config, error);
	return error ? error : creation_begin(creation, storage);
}

static int check_size(const struct storage *storage, const struct stat *status)
{
	if ((uint64_t)status->st_size >= storage->lun_bytes)
		return 0;
	log_message(&storage->log, TCMU_EXT_LOG_ERROR,
		    "%s has %" PRIu64 " bytes, fewer than the %" PRIu64 " of the LUN: extend it "
		    "(truncate -s %" PRIu64 " %s), or create a smaller LUN",
		    storage->name, (uint64_t)status->st_size, storage->lun_bytes,
		    storage->lun_bytes, storage->shell_name);
	return -EINVAL;
}

/*
 * Whether holes can be punched, found out where there is nothing: beyond the end. A file that
 * others only read is not touched at all.
 */
static enum discard_method probe_discard(const struct storage *storage, const struct stat *status,
					 uint32_t block_bytes)
{
	off_t beyond = (off_t)round_up((uint64_t)status->st_size, block_bytes);

	if (storage->read_only || fallocate(storage->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					    beyond, (off_t)block_bytes))
		return DISCARD_NONE;
	return DISCARD_ZERO;
}

static int finish_opening(struct file *file, const struct tcmu_ext_backend_config *config)
{
	struct storage *storage = &file->storage;
	struct stat status;
	int error;

	if (fstat(storage->fd, &status))
		return object_refuse_open(storage, -errno);
	error = check_size(storage, &status);
	if (error)
		return error;
	file->block_bytes = block_of(&status);
	storage->discard_method = probe_discard(storage, &status, file->block_bytes);
	if (config->cache != TCMU_EXT_CACHE_NONE)
		return 0;
	return storage_set_direct(storage, BLOCK_MINIMUM_BYTES);
}

static int file_open(const struct tcmu_ext_backend_config *config, void **instance)
{
	struct file *file = calloc(1, sizeof(*file));
	struct creation creation = CREATION_NONE;
	int error;

	if (!file)
		return -ENOMEM;
	file->allocate = config->create == TCMU_EXT_CREATE_FULL;
	error = storage_init(&file->storage, config);
	if (!error)
		error = open_or_create(&file->storage, config, &creation);
	if (!error && config->lock)
		error = lock_file(&file->storage);
	if (!error && creation.directory_fd >= 0)
		error = creation_fill(&creation, &file->storage, file->allocate);
	if (!error)
		error = finish_opening(file, config);
	creation_end(&creation, error);
	if (error) {
		storage_release(&file->storage);
		free(file);
		return error;
	}
	*instance = file;
	return 0;
}

static void file_close(void *instance)
{
	struct file *file = instance;

	storage_release(&file->storage);
	free(file);
}

static void file_describe(void *instance, struct tcmu_ext_backend_properties *properties)
{
	const struct file *file = instance;
	const struct storage *storage = &file->storage;
	struct stat status;

	properties->size_bytes = storage->lun_bytes;
	if (!fstat(storage->fd, &status) && (uint64_t)status.st_size > storage->lun_bytes)
		properties->size_bytes = (uint64_t)status.st_size;
	properties->logical_block_bytes = storage->transfer_alignment_bytes;
	properties->physical_block_bytes =
		file->block_bytes < BLOCK_USUAL_BYTES ? file->block_bytes : BLOCK_USUAL_BYTES;
	if (file->block_bytes > BLOCK_USUAL_BYTES)
		properties->optimal_transfer_bytes = file->block_bytes;
	properties->read_only = storage->read_only;
	if (storage->discard_method == DISCARD_NONE)
		return;
	properties->discard_granularity_bytes = file->block_bytes;
	properties->discard_reads_zero = true;
}

const struct tcmu_ext_backend_operations tcmu_ext_backend_file = {
	.struct_bytes = sizeof(struct tcmu_ext_backend_operations),
	.name = "file",
	.check = file_check,
	.open = file_open,
	.close = file_close,
	.describe = file_describe,
	.read = storage_read,
	.write = storage_write,
	.flush = storage_flush,
	.write_zeroes = storage_write_zeroes,
	.discard = storage_discard,
	.allocation = file_allocation,
	.prefetch = storage_prefetch,
	.resize = file_resize,
	.get_counters = storage_get_counters,
	.describe_queue = storage_describe_queue,
};
