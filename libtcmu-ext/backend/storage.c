/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "backend/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "plumbing/escape.h"
#include "plumbing/log.h"

/* Reading ahead starts requests, of which a device takes only so many without waiting. */
enum { PREFETCH_MAXIMUM_BYTES = 8 * 1024 * 1024 };

/* Ten seconds in all: whoever opens, and in a daemon the other LUNs, wait as long. */
enum {
	WAIT_NANOSECONDS = 20 * 1000 * 1000,
	WAITS_MAXIMUM = 500,
};

int storage_init(struct storage *storage, const struct tcmu_ext_backend_config *config)
{
	*storage = (struct storage){ .fd = -1 };
	if (!config->path) {
		log_message(&config->log, TCMU_EXT_LOG_ERROR,
			    "no path is given: set `path` of the backend's configuration");
		return -EINVAL;
	}
	*storage = (struct storage){
		.fd = -1,
		.read_only = config->read_only,
		.memory_alignment_bytes = 1,
		.transfer_alignment_bytes = 1,
		.range_alignment_bytes = 1,
		.lun_block_bytes = config->logical_block_bytes,
		.lun_bytes = config->size_bytes,
		.locked = config->lock,
		.succeeds = config->succeeds,
		.path = strdup(config->path),
		.name = tcmu_ext_options_escape(config->path),
		.shell_name = escape_for_shell(config->path),
		.log = config->log,
	};
	return storage->path && storage->name && storage->shell_name ? 0 : -ENOMEM;
}

bool storage_wait_for_predecessor(const struct storage *storage, unsigned int *waits)
{
	const struct timespec moment = { .tv_nsec = WAIT_NANOSECONDS };

	if (!storage->succeeds || *waits >= WAITS_MAXIMUM)
		return false;
	if (!(*waits)++)
		log_message(&storage->log, TCMU_EXT_LOG_INFO,
			    "%s is still in use: waiting for what a process that was killed has "
			    "left under way",
			    storage->name);
	nanosleep(&moment, NULL);
	return true;
}

void storage_release(struct storage *storage)
{
	if (storage->fd >= 0)
		close(storage->fd);
	free(storage->path);
	free(storage->name);
	free(storage->shell_name);
}

int storage_device_error(const struct storage *storage, int error, uint64_t end)
{
	uint64_t device_bytes;

	if (!storage->is_device)
		return error;
	if (ioctl(storage->fd, BLKGETSIZE64, &device_bytes) || !device_bytes)
		return -ENXIO;
	return device_bytes < end ? -EIO : error;
}

int storage_prefetch(void *instance, uint64_t offset, uint64_t bytes)
{
	const struct storage *storage = instance;

	if (storage->direct || !bytes)
		return 0;
	if (bytes > PREFETCH_MAXIMUM_BYTES)
		bytes = PREFETCH_MAXIMUM_BYTES;
	return -posix_fadvise(storage->fd, (off_t)offset, (off_t)bytes, POSIX_FADV_WILLNEED);
}

void storage_get_counters(void *instance, struct tcmu_ext_backend_counters *counters)
{
	const struct tcmu_ext_backend_counters *from = &((struct storage *)instance)->counters;

	counters->punch_hole = __atomic_load_n(&from->punch_hole, __ATOMIC_RELAXED);
	counters->zero_range = __atomic_load_n(&from->zero_range, __ATOMIC_RELAXED);
	counters->blkzeroout = __atomic_load_n(&from->blkzeroout, __ATOMIC_RELAXED);
	counters->blkdiscard = __atomic_load_n(&from->blkdiscard, __ATOMIC_RELAXED);
	counters->written = __atomic_load_n(&from->written, __ATOMIC_RELAXED);
}

/* Whether all of it is in memory: a file system that keeps its files there, or a RAM disk. */
static bool is_in_memory(const struct storage *storage)
{
	struct statfs file_system;
	struct stat status;

	if (storage->is_device)
		return !fstat(storage->fd, &status) && major(status.st_rdev) == RAMDISK_MAJOR;
	return !fstatfs(storage->fd, &file_system) &&
	       (file_system.f_type == TMPFS_MAGIC || file_system.f_type == RAMFS_MAGIC ||
		file_system.f_type == HUGETLBFS_MAGIC);
}

void storage_describe_queue(void *instance, struct tcmu_ext_backend_queue *queue)
{
	const struct storage *storage = instance;

	queue->descriptor = storage->fd;
	queue->never_waits = is_in_memory(storage);
	queue->direct = storage->direct;
	/* Readers of a file share their lock. */
	queue->exclusive = storage->locked && (storage->is_device || !storage->read_only);
}
