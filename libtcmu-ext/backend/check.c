/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Checking a configuration on behalf of anybody who asks: by stat(2) alone. Whoever asks may lack
 * the right to look for himself, so that little is told.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/block.h"
#include "backend/file.h"
#include "backend/object.h"
#include "plumbing/log.h"

static int refuse(char *text, int error, char **reason)
{
	if (reason)
		*reason = text;
	else
		free(text);
	return error;
}

static int refuse_unreachable(const char *path, char **reason)
{
	return refuse(format_text("%s cannot be used: check the path", path), -EINVAL, reason);
}

/* Whether the directory a path's last part is to be made in is one. */
static bool has_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat status;
	char *directory;
	bool found;

	if (!slash || !slash[1])
		return false;
	directory = strndup(path, (size_t)(slash + 1 - path));
	found = directory && !stat(directory, &status) && S_ISDIR(status.st_mode);
	free(directory);
	return found;
}

static int check_missing_file(const struct tcmu_ext_backend_config *config, char **reason)
{
	const char *path = config->path;

	if (config->create == TCMU_EXT_CREATE_NO)
		return refuse(format_text("there is no file %s: make it first (truncate -s SIZE "
					  "'%s'), or add ;create=sparse",
					  path, path),
			      -ENOENT, reason);
	if (config->read_only)
		return refuse(format_text("there is no file %s, and one created for a LUN with ;ro "
					  "would stay empty: make the file first, or leave ;ro out",
					  path),
			      -EINVAL, reason);
	if (!has_directory(path))
		return refuse(format_text("%s cannot be created: make its directory first", path),
			      -ENOENT, reason);
	return 0;
}

int file_check(const struct tcmu_ext_backend_config *config, char **reason)
{
	struct stat status;

	if (!stat(config->path, &status))
		return object_is(OBJECT_FILE, status.st_mode)
			       ? 0
			       : refuse(object_refusal(OBJECT_FILE, config->path, status.st_mode),
					-EINVAL, reason);
	if (errno == ENOENT)
		return check_missing_file(config, reason);
	return refuse_unreachable(config->path, reason);
}

int block_check(const struct tcmu_ext_backend_config *config, char **reason)
{
	struct stat status;

	if (!stat(config->path, &status))
		return object_is(OBJECT_DEVICE, status.st_mode)
			       ? 0
			       : refuse(object_refusal(OBJECT_DEVICE, config->path, status.st_mode),
					-EINVAL, reason);
	if (errno == ENOENT)
		return refuse(format_text("there is no device %s: check the path, and that the "
					  "device is attached",
					  config->path),
			      -ENOENT, reason);
	return refuse_unreachable(config->path, reason);
}
