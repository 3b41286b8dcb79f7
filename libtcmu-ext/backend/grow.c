/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Making room for a larger LUN in a file. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/file.h"
#include "plumbing/log.h"

/*
 * Lets go of what was reserved beyond the end, by setting the size the file has. Not where that
 * could cut off what the LUN is writing: when the file has become shorter than the LUN.
 */
static void let_go(const struct storage *storage)
{
	struct stat status;

	if (fstat(storage->fd, &status) || (uint64_t)status.st_size < storage->lun_bytes)
		return;
	if (ftruncate(storage->fd, status.st_size))
		log_message(&storage->log, TCMU_EXT_LOG_WARNING,
			    "%s keeps space reserved beyond its end: %m", storage->name);
}

/* Beyond the end first, so that the file grows either wholly or not at all. */
static int reserve(const struct storage *storage, off_t size, off_t new_size)
{
	int error;

	do
		error = fallocate(storage->fd, FALLOC_FL_KEEP_SIZE, size, new_size - size) ? -errno
											   : 0;
	while (error == -EINTR);
	if (error)
		let_go(storage);
	return error;
}

static int extend(struct file *file, off_t size, off_t new_size)
{
	struct storage *storage = &file->storage;
	int error = 0;

	if (storage->read_only)
		return -EROFS;
	if (file->allocate)
		error = reserve(storage, size, new_size);
	if (!error && ftruncate(storage->fd, new_size))
		error = -errno;
	return error;
}

int file_resize(void *instance, uint64_t size_bytes)
{
	struct file *file = instance;
	struct storage *storage = &file->storage;
	struct stat status;
	int error = 0;

	if (size_bytes < storage->lun_bytes)
		return -EINVAL;
	if (fstat(storage->fd, &status))
		error = -errno;
	else if ((uint64_t)status.st_size < size_bytes)
		error = extend(file, status.st_size, (off_t)size_bytes);
	if (!error) {
		storage->lun_bytes = size_bytes;
		return 0;
	}
	errno = -error;
	log_message(&storage->log, TCMU_EXT_LOG_ERROR,
		    "%s cannot be extended to %" PRIu64
		    " bytes: %m; the LUN keeps its size of %" PRIu64,
		    storage->name, size_bytes, storage->lun_bytes);
	return error;
}
