/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The backend `block`: a block device. */
#include "backend/block.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "backend/missing.h"
#include "plumbing/log.h"

static int open_device(struct storage *storage, const struct tcmu_ext_backend_config *config)
{
	int flags = (storage->read_only ? O_RDONLY : O_RDWR) | (config->lock ? O_EXCL : 0);
	int error = object_open(OBJECT_DEVICE, storage, flags);

	if (error == -ENOENT || error == -ENOTDIR)
		return missing_report(OBJECT_DEVICE, config, error);
	return error;
}

/* Opening a read-only device for writing succeeds; only the writes would fail. */
static int check_writable(const struct storage *storage)
{
	int device_read_only;

	if (storage->read_only || ioctl(storage->fd, BLKROGET, &device_read_only) ||
	    !device_read_only)
		return 0;
	return object_refuse_open(storage, -EROFS);
}

static uint64_t device_bytes(const struct storage *storage)
{
	uint64_t bytes;

	return ioctl(storage->fd, BLKGETSIZE64, &bytes) ? 0 : bytes;
}

static int check_size(const struct storage *storage)
{
	uint64_t bytes = device_bytes(storage);

	if (bytes >= storage->lun_bytes)
		return 0;
	log_message(&storage->log, TCMU_EXT_LOG_ERROR,
		    "%s has %" PRIu64 " bytes, fewer than the %" PRIu64
		    " of the LUN: create the LUN "
		    "with size=%" PRIu64 " at most, or enlarge the device",
		    storage->name, bytes, storage->lun_bytes, bytes);
	return -EINVAL;
}

static int finish_opening(struct block *block, const struct tcmu_ext_backend_config *config)
{
	struct storage *storage = &block->storage;
	int error = check_writable(storage);

	if (!error)
		error = check_size(storage);
	if (!error)
		error = block_learn_limits(block);
	if (error)
		return error;
	storage->range_alignment_bytes = block->logical_block_bytes;
	if (config->cache != TCMU_EXT_CACHE_NONE)
		return 0;
	return storage_set_direct(storage, block->logical_block_bytes);
}

static int block_open(const struct tcmu_ext_backend_config *config, void **instance)
{
	struct block *block = calloc(1, sizeof(*block));
	int error;

	if (!block)
		return -ENOMEM;
	error = storage_init(&block->storage, config);
	block->storage.is_device = true;
	if (!error)
		error = open_device(&block->storage, config);
	if (!error)
		error = finish_opening(block, config);
	if (error) {
		storage_release(&block->storage);
		free(block);
		return error;
	}
	*instance = block;
	return 0;
}

static void block_close(void *instance)
{
	struct block *block = instance;

	storage_release(&block->storage);
	free(block);
}

static void block_describe(void *instance, struct tcmu_ext_backend_properties *properties)
{
	const struct block *block = instance;
	const struct storage *storage = &block->storage;
	uint64_t bytes = device_bytes(storage);

	properties->size_bytes = bytes > storage->lun_bytes ? bytes : storage->lun_bytes;
	properties->logical_block_bytes = storage->transfer_alignment_bytes;
	properties->physical_block_bytes = block->physical_block_bytes;
	properties->physical_alignment_bytes = block->physical_alignment_bytes;
	properties->optimal_transfer_bytes = block->optimal_transfer_bytes;
	properties->discard_granularity_bytes = block->discard_granularity_bytes;
	properties->discard_alignment_bytes = block->discard_alignment_bytes;
	properties->discard_reads_zero = storage->discard_method == DISCARD_ZERO;
	properties->read_only = storage->read_only;
	properties->rotational = block->rotational;
}

static int block_resize(void *instance, uint64_t size_bytes)
{
	struct block *block = instance;
	struct storage *storage = &block->storage;
	uint64_t bytes = device_bytes(storage);

	if (size_bytes < storage->lun_bytes)
		return -EINVAL;
	if (bytes >= size_bytes) {
		storage->lun_bytes = size_bytes;
		return 0;
	}
	log_message(&storage->log, TCMU_EXT_LOG_ERROR,
		    "%s has %" PRIu64 " bytes, too few for a LUN of %" PRIu64
		    ": enlarge the device "
		    "first; the LUN keeps its size of %" PRIu64,
		    storage->name, bytes, size_bytes, storage->lun_bytes);
	return -ENOSPC;
}

const struct tcmu_ext_backend_operations tcmu_ext_backend_block = {
	.struct_bytes = sizeof(struct tcmu_ext_backend_operations),
	.name = "block",
	.check = block_check,
	.open = block_open,
	.close = block_close,
	.describe = block_describe,
	.read = storage_read,
	.write = storage_write,
	.flush = storage_flush,
	.write_zeroes = storage_write_zeroes,
	.discard = storage_discard,
	.prefetch = storage_prefetch,
	.resize = block_resize,
	.get_counters = storage_get_counters,
	.describe_queue = storage_describe_queue,
};
