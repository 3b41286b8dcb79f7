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

static const char *kind_name(mode_t mode)
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

char *object_refusal(enum object_kind wanted, const char *path, mode_t mode)
{
	const char *advice;

	if (object_is(wanted, mode))
		return NULL;
	if (S_ISBLK(mode))
		advice = "use user:block for it";
	else if (S_ISREG(mode))
		advice = "use user:file for it";
	else if (wanted == OBJECT_FILE)
		advice = "give the path of a regular file";
	else
		advice = "give the path of a block device";
	return format_text("%s is %s: %s", path, kind_name(mode), advice);
}

/* Opens what `path_fd` (made with O_PATH) refers to, whatever the path leads to by now. */
static int reopen(int path_fd, int flags)
{
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(path_fd)];
	int fd_error;
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, flags | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if ((flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK)) {
		fd_error = -errno;
		close(fd);
		return fd_error;
	}
	return fd;
}

static int log_unreachable(const char *path, const struct tcmu_ext_log *log)
{
	int error = -errno;

	if (error != -ENOENT)
		log_message(log, TCMU_EXT_LOG_ERROR, "%s cannot be reached: %m; check the path",
			    path);
	return error;
}

static int log_refusal(enum object_kind wanted, const char *path, mode_t mode,
		       const struct tcmu_ext_log *log)
{
	char *refusal = object_refusal(wanted, path, mode);

	log_message(log, TCMU_EXT_LOG_ERROR, "%s", refusal ? refusal : path);
	free(refusal);
	return -EINVAL;
}

int object_open(enum object_kind wanted, const char *path, int flags,
		const struct tcmu_ext_log *log, bool *opening)
{
	struct stat status;
	int path_fd;
	int fd;

	*opening = false;
	path_fd = open(path, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return log_unreachable(path, log);
	if (fstat(path_fd, &status)) {
		fd = log_unreachable(path, log);
	} else if (!object_is(wanted, status.st_mode)) {
		fd = log_refusal(wanted, path, status.st_mode, log);
	} else {
		*opening = true;
		fd = reopen(path_fd, flags);
	}
	close(path_fd);
	return fd;
}
