/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "backend/missing.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plumbing/escape.h"
#include "plumbing/log.h"

/* A path in the forms that messages show. */
struct shown {
	char *name;
	char *shell_name;
};

static bool show(struct shown *shown, const char *path)
{
	shown->name = tcmu_ext_options_escape(path);
	shown->shell_name = escape_for_shell(path);
	return shown->name && shown->shell_name;
}

static void free_shown(struct shown *shown)
{
	free(shown->name);
	free(shown->shell_name);
}

static bool is_directory(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

/* `truncate -s SIZE PATH`, where the size is not always known. */
static char *no_file(const struct tcmu_ext_backend_config *config, const struct shown *shown)
{
	char size[sizeof("18446744073709551615")] = "SIZE";

	if (config->size_bytes)
		snprintf(size, sizeof(size), "%" PRIu64, config->size_bytes);
	return format_text("there is no file %s: make it first (truncate -s %s %s)%s", shown->name,
			   size, shown->shell_name,
			   config->read_only ? "" : ", or add ;create=sparse");
}

static char *no_directory(const struct tcmu_ext_backend_config *config, const struct shown *shown,
			  const char *directory)
{
	char *shell_name = escape_for_shell(directory);
	char *text = NULL;

	if (shell_name && config->create == TCMU_EXT_CREATE_NO)
		text = format_text("there is no file %s, nor the directory it would be in: make "
				   "that first (mkdir -p %s), then the file",
				   shown->name, shell_name);
	else if (shell_name)
		text = format_text("%s cannot be created: make its directory first (mkdir -p %s)",
				   shown->name, shell_name);
	free(shell_name);
	return text;
}

static int explain_file(const struct tcmu_ext_backend_config *config, const struct shown *shown,
			char **reason)
{
	const char *slash = strrchr(config->path, '/');
	/* The slash stays where it is all of the path. */
	size_t bytes = slash ? (size_t)(slash - config->path) + (slash == config->path) : 0;
	char *directory = slash ? strndup(config->path, bytes) : strdup(".");
	int error = -ENOENT;

	if (!directory)
		return -ENOMEM;
	if (config->create != TCMU_EXT_CREATE_NO && config->read_only)
		*reason = format_text("there is no file %s, and one created for a LUN with ;ro "
				      "would stay empty: make the file first, or leave ;ro out",
				      shown->name);
	else if (!is_directory(directory))
		*reason = no_directory(config, shown, directory);
	else if (config->create == TCMU_EXT_CREATE_NO)
		*reason = no_file(config, shown);
	else
		error = 0;
	free(directory);
	return error;
}

/* Shortens the path to the first part of it that is there and no directory. */
static bool find_obstacle(char *path, struct stat *status)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (stat(path, status))
			return false;
		if (!S_ISDIR(status->st_mode))
			return true;
		*slash = '/';
	}
	return false;
}

/* Shortens the path to the first part of it that is a link to nothing. */
static bool find_idle_link(char *path)
{
	char *end = path;

	do {
		struct stat status;
		char separator;

		end += strspn(end, "/");
		end += strcspn(end, "/");
		separator = *end;
		*end = '\0';
		if (lstat(path, &status))
			return false;
		if (S_ISLNK(status.st_mode) && stat(path, &status) && errno == ENOENT)
			return true;
		*end = separator;
	} while (*end);
	return false;
}

/* Returns 0 when no link is to blame. */
static int explain_link(const char *path, char **reason)
{
	char part[PATH_MAX], target[PATH_MAX];
	char *part_name, *target_name;
	ssize_t bytes;

	if (strlen(path) >= sizeof(part) || !find_idle_link(strcpy(part, path)))
		return 0;
	bytes = readlink(part, target, sizeof(target) - 1);
	if (bytes < 0)
		return 0;
	target[bytes] = '\0';
	part_name = tcmu_ext_options_escape(part);
	target_name = tcmu_ext_options_escape(target);
	if (part_name && target_name)
		*reason = format_text("%s is a link to %s, and nothing is there: make what it "
				      "leads to, or mend or remove the link",
				      part_name, target_name);
	free(part_name);
	free(target_name);
	return *reason ? -ENOENT : -ENOMEM;
}

static int explain_obstacle(const char *path, const char *name, char **reason)
{
	char *part = strdup(path);
	char *part_name = NULL;
	struct stat status;

	if (part && find_obstacle(part, &status))
		part_name = tcmu_ext_options_escape(part);
	if (part_name)
		*reason = format_text("there can be nothing at %s, since %s is %s: give a path "
				      "that leads through directories only",
				      name, part_name, object_kind_name(status.st_mode));
	else
		*reason = format_text(OBJECT_UNUSABLE, name);
	free(part);
	free(part_name);
	return -EINVAL;
}

int missing_explain(enum object_kind wanted, const struct tcmu_ext_backend_config *config,
		    int error, char **reason)
{
	size_t bytes = strlen(config->path);
	struct shown shown;
	int link_error;

	*reason = NULL;
	link_error = error == -ENOENT ? explain_link(config->path, reason) : 0;
	if (link_error)
		return link_error;
	if (!show(&shown, config->path)) {
		error = -ENOMEM;
	} else if (bytes && config->path[bytes - 1] == '/') {
		*reason = format_text("%s ends with a slash, as only a directory's path may: leave "
				      "the slash out, or add the name of a file or device",
				      shown.name);
		error = -EINVAL;
	} else if (error == -ENOTDIR) {
		error = explain_obstacle(config->path, shown.name, reason);
	} else if (wanted == OBJECT_FILE) {
		error = explain_file(config, &shown, reason);
	} else {
		*reason = format_text("there is no device %s: check the path, and that the device "
				      "is attached",
				      shown.name);
	}
	free_shown(&shown);
	return error;
}

int missing_report(enum object_kind wanted, const struct tcmu_ext_backend_config *config, int error)
{
	char *reason;

	error = missing_explain(wanted, config, error, &reason);
	if (reason)
		log_message(&config->log, TCMU_EXT_LOG_ERROR, "%s", reason);
	free(reason);
	return error;
}
