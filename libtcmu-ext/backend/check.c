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

/* Whether the directory that a path's last part is to be made in is there: 0 or -errno. */
static int find_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat status;
	char *directory;
	bool found;

	if (!slash || !slash[1])
		return -ENOENT;
	directory = strndup(path, (size_t)(slash + 1 - path));
	if (!directory)
		return -ENOMEM;
	found = !stat(directory, &status) && S_ISDIR(status.st_mode);
	free(directory);
	return found ? 0 : -ENOENT;
}

static int examine_missing_file(const struct tcmu_ext_backend_config *config, const char *name,
				char **reason)
{
	int error = -ENOENT;

	if (config->create == TCMU_EXT_CREATE_NO)
		*reason = format_text("there is no file %s: make it first (truncate -s SIZE '%s'), "
				      "or add ;create=sparse",
				      name, name);
	else if (config->read_only)
		*reason = format_text("there is no file %s, and one created for a LUN with ;ro "
				      "would stay empty: make the file first, or leave ;ro out",
				      name);
	else if ((error = find_directory(config->path)) == -ENOENT)
		*reason = format_text("%s cannot be created: make its directory first", name);
	return error;
}

static int examine_missing_device(const char *name, char **reason)
{
	*reason = format_text(
		"there is no device %s: check the path, and that the device is attached", name);
	return -ENOENT;
}

static int examine(enum object_kind wanted, const struct tcmu_ext_backend_config *config,
		   const char *name, char **reason)
{
	struct stat status;

	if (!stat(config->path, &status)) {
		if (object_is(wanted, status.st_mode))
			return 0;
		*reason = object_refusal(wanted, name, status.st_mode);
		return -EINVAL;
	}
	if (errno != ENOENT) {
		*reason = format_text("%s cannot be used: check the path", name);
		return -EINVAL;
	}
	return wanted == OBJECT_FILE ? examine_missing_file(config, name, reason)
				     : examine_missing_device(name, reason);
}

static int check(enum object_kind wanted, const struct tcmu_ext_backend_config *config,
		 char **reason)
{
	char *name = object_name(config->path);
	int error = -ENOMEM;

	*reason = NULL;
	if (name)
		error = examine(wanted, config, name, reason);
	free(name);
	return error;
}

int file_check(const struct tcmu_ext_backend_config *config, char **reason)
{
	return check(OBJECT_FILE, config, reason);
}

int block_check(const struct tcmu_ext_backend_config *config, char **reason)
{
	return check(OBJECT_DEVICE, config, reason);
}
