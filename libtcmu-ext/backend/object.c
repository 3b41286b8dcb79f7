/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "backend/object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plumbing/log.h"

bool object_is(enum object_kind wanted, mode_t mode)
{
	return wanted == OBJECT_FILE ? S_ISREG(mode) : S_ISBLK(mode);
}

const char *object_kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFCHR:
		return "a character device";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFREG:
		return "a regular file";
	case S_IFBLK:
		return "a block device";
	default:
		return "of an unknown kind";
	}
}

char *object_refusal(enum object_kind wanted, const char *name, mode_t mode)
{
	const char *advice;

	if (S_ISBLK(mode))
		advice = "use user:block for it";
	else if (S_ISREG(mode))
		advice = "use user:file for it";
	else if (wanted == OBJECT_FILE)
		advice = "give the path of a regular file";
	else
		advice = "give the path of a block device";
	return format_text("%s is %s: %s", name, object_kind_name(mode), advice);
}

static const char *open_advice(const struct storage *storage, int error)
{
	switch (error) {
	case -EBUSY:
		if (storage->succeeds)
			return PREDECESSOR_ADVICE;
		return "; it is mounted, part of a volume or array, used by another LUN or opened "
		       "for itself by a program: stop that, or give another device";
	case -EROFS:
	case -EACCES:
	case -EPERM:
		return storage->read_only ? "" : "; add ;ro for a LUN that cannot be written to";
	case -ENXIO:
	case -ENODEV:
	case -ENOMEDIUM:
		return "; check that the device is attached and has a medium";
	case -EWOULDBLOCK:
		return "; another program has a lease on it";
	default:
		return "";
	}
}

int object_refuse_open(const struct storage *storage, int error)
{
	errno = -error;
	log_message(&storage->log, TCMU_EXT_LOG_ERROR, "%s cannot be opened: %m%s", storage->name,
		    open_advice(storage, error));
	return error;
}

/* Opens what `path_fd` (made with O_PATH) refers to, whatever the path leads to by now. */
static int reopen(struct storage *storage, int path_fd, int flags)
{
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(path_fd)];
	unsigned int waits = 0;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	do
		storage->fd = open(link, flags | O_CLOEXEC | O_NOCTTY);
	while (storage->fd < 0 && errno == EBUSY && storage_wait_for_predecessor(storage, &waits));
	if (storage->fd >= 0 && (flags & O_NONBLOCK) &&
	    fcntl(storage->fd, F_SETFL, flags & ~O_NONBLOCK))
		return object_refuse_open(storage, -errno);
	if (storage->fd >= 0)
		return 0;
	if (errno != ENOENT)
		return object_refuse_open(storage, -errno);
	log_message(&storage->log, TCMU_EXT_LOG_ERROR,
		    "%s cannot be opened without /proc/self/fd: mount /proc", storage->name);
	return -EIO;
}

static int refuse_kind(enum object_kind wanted, const struct storage *storage, mode_t mode)
{
	char *refusal = object_refusal(wanted, storage->name, mode);

	if (refusal)
		log_message(&storage->log, TCMU_EXT_LOG_ERROR, "%s", refusal);
	free(refusal);
	return -EINVAL;
}

int object_open(enum object_kind wanted, struct storage *storage, int flags)
{
	int path_fd = open(storage->path, O_PATH | O_CLOEXEC);
	struct stat status;
	int error;

	if (path_fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? -errno
							   : object_refuse_open(storage, -errno);
	if (fstat(path_fd, &status))
		error = object_refuse_open(storage, -errno);
	else if (!object_is(wanted, status.st_mode))
		error = refuse_kind(wanted, storage, status.st_mode);
	else
		error = reopen(storage, path_fd, flags);
	close(path_fd);
	return error;
}
