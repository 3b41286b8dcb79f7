/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "backend/create.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plumbing/log.h"

static int open_directory(const char *path, const char *name)
{
	/* The slash stays: it makes the root directory's name. */
	char *directory = strndup(path, (size_t)(name - path));
	int fd;

	if (!directory)
		return -ENOMEM;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	free(directory);
	return fd;
}

static int make_file(struct creation *creation, struct storage *storage)
{
	struct stat status;
	int fd = openat(creation->directory_fd, creation->name,
			O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, S_IRUSR | S_IWUSR);

	if (fd < 0)
		return -errno;
	storage->fd = fd;
	if (fstat(fd, &status)) {
		int error = -errno;

		unlinkat(creation->directory_fd, creation->name, 0);
		return error;
	}
	creation->device = status.st_dev;
	creation->inode = status.st_ino;
	return 0;
}

static int log_failure(const struct storage *storage, int error, const char *advice)
{
	errno = -error;
	log_message(&storage->log, TCMU_EXT_LOG_ERROR, "%s cannot be created: %m%s", storage->name,
		    advice);
	return error;
}

int creation_begin(struct creation *creation, struct storage *storage)
{
	const char *slash = strrchr(storage->path, '/');
	int error;

	if (!slash)
		return log_failure(storage, -EINVAL, "; give an absolute path");
	creation->name = slash + 1;
	creation->directory_fd = open_directory(storage->path, creation->name);
	if (creation->directory_fd < 0)
		return log_failure(storage, creation->directory_fd, " (its directory)");
	error = make_file(creation, storage);
	if (!error)
		return 0;
	close(creation->directory_fd);
	creation->directory_fd = -1;
	if (error == -EEXIST)
		return log_failure(storage, error,
				   ": something else has just been made there; try again");
	return log_failure(storage, error, "");
}

/* A directory that cannot be flushed is one whose file system needs none of it. */
static int flush_directory(int directory_fd)
{
	return fsync(directory_fd) && errno != EINVAL ? -errno : 0;
}

static int set_size(const struct storage *storage, bool full)
{
	off_t size = (off_t)storage->lun_bytes;
	int error;

	if (!full)
		return ftruncate(storage->fd, size) ? -errno : 0;
	do
		error = fallocate(storage->fd, 0, 0, size) ? -errno : 0;
	while (error == -EINTR);
	return error;
}

int creation_fill(const struct creation *creation, const struct storage *storage, bool full)
{
	int error = set_size(storage, full);

	if (error == -EOPNOTSUPP)
		return log_failure(storage, error,
				   "; its file system cannot reserve space, use create=sparse");
	if (!error && fsync(storage->fd))
		error = -errno;
	if (!error)
		error = flush_directory(creation->directory_fd);
	if (error)
		return log_failure(storage, error, "");
	/* Nobody can tell a LUN's first start from one at which the file has gone. */
	log_message(&storage->log, TCMU_EXT_LOG_WARNING,
		    "%s did not exist: this disk is new and empty (%" PRIu64 " bytes, %s "
		    "allocated); if it should hold data, delete the backstore, then look for the "
		    "file and whether its file system is mounted",
		    storage->name, storage->lun_bytes, full ? "all" : "none");
	return 0;
}

static void remove_file(const struct creation *creation)
{
	struct stat status;

	if (!fstatat(creation->directory_fd, creation->name, &status, AT_SYMLINK_NOFOLLOW) &&
	    status.st_dev == creation->device && status.st_ino == creation->inode)
		unlinkat(creation->directory_fd, creation->name, 0);
}

void creation_end(struct creation *creation, int error)
{
	if (creation->directory_fd < 0)
		return;
	if (error)
		remove_file(creation);
	close(creation->directory_fd);
	*creation = CREATION_NONE;
}
