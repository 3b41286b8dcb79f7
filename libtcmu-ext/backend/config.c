/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The options of the built-in backends, and their configuration strings. */
#include <tcmu-ext/backend.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plumbing/log.h"
#include "plumbing/refusal.h"

static const char *const cache_choices[] = {
	[TCMU_EXT_CACHE_WRITEBACK] = "writeback",
	[TCMU_EXT_CACHE_WRITETHROUGH] = "writethrough",
	[TCMU_EXT_CACHE_NONE] = "none",
	NULL,
};

static const char *const create_choices[] = {
	[TCMU_EXT_CREATE_NO] = "no",
	[TCMU_EXT_CREATE_SPARSE] = "sparse",
	[TCMU_EXT_CREATE_FULL] = "full",
	NULL,
};

static const char *const io_choices[] = {
	[TCMU_EXT_IO_MODE_INLINE] = "inline",
	[TCMU_EXT_IO_MODE_AUTO] = "auto",
	[TCMU_EXT_IO_MODE_ASYNC] = "async",
	NULL,
};

enum { SWITCH_NO, SWITCH_YES };

/* `block` takes all but the last. */
static const struct tcmu_ext_option storage_options[] = {
	{
		.name = "cache",
		.choices = cache_choices,
		.default_choice = TCMU_EXT_CACHE_WRITEBACK,
		.bare_choice = -1,
		.value_offset = offsetof(struct tcmu_ext_backend_config, cache),
		.summary = "Where writes wait: in the page cache until a flush (writeback), "
			   "nowhere (writethrough), or past the page cache, O_DIRECT (none).",
	},
	{
		.name = "ro",
		.choices = tcmu_ext_option_switch,
		.default_choice = SWITCH_NO,
		.bare_choice = SWITCH_YES,
		.value_offset = offsetof(struct tcmu_ext_backend_config, read_only),
		.summary = "Open for reading only and write-protect the LUN.",
	},
	{
		.name = "lock",
		.choices = tcmu_ext_option_switch,
		.default_choice = SWITCH_YES,
		.bare_choice = SWITCH_YES,
		.value_offset = offsetof(struct tcmu_ext_backend_config, lock),
		.summary = "Keep other LUNs and programs from using it at the same time.",
	},
	{
		.name = "io",
		.choices = io_choices,
		.default_choice = TCMU_EXT_IO_MODE_AUTO,
		.bare_choice = -1,
		.value_offset = offsetof(struct tcmu_ext_backend_config, io),
		.summary = "Commands that would wait for the storage: do them beside the others "
			   "(auto), one after another (inline), or do all beside (async).",
	},
	{
		.name = "create",
		.choices = create_choices,
		.default_choice = TCMU_EXT_CREATE_NO,
		.bare_choice = -1,
		.value_offset = offsetof(struct tcmu_ext_backend_config, create),
		.summary = "Make the file if it does not exist, without space of its own (sparse) "
			   "or with all of it (full). A file that exists is never changed.",
	},
};

enum { STORAGE_OPTION_COUNT = sizeof(storage_options) / sizeof(storage_options[0]) };

const struct tcmu_ext_option *tcmu_ext_backend_options(
	const struct tcmu_ext_backend_operations *operations, size_t *count)
{
	*count = 0;
	if (operations == &tcmu_ext_backend_file)
		*count = STORAGE_OPTION_COUNT;
	else if (operations == &tcmu_ext_backend_block)
		*count = STORAGE_OPTION_COUNT - 1;
	return *count ? storage_options : NULL;
}

static int refuse_null_options(const char *options, char **reason)
{
	char *quoted = refusal_quote(options, strlen(options));

	if (quoted && reason)
		*reason = format_text("user:null has no backing and takes no options: leave %s "
				      "out; cfgstring may be any text without a semicolon",
				      quoted);
	free(quoted);
	return -EINVAL;
}

/* `null` opens nothing: any text will do for a path, or none. */
static int parse_null(const char *text, char **path, char **reason)
{
	const char *options = strchr(text, ';');

	if (options)
		return refuse_null_options(options, reason);
	*path = strdup(text);
	return *path ? 0 : -ENOMEM;
}

int tcmu_ext_backend_config_parse(const struct tcmu_ext_backend_operations *operations,
				  const char *text, struct tcmu_ext_backend_config *config,
				  char **reason)
{
	const struct tcmu_ext_option *options;
	size_t count;

	options = tcmu_ext_backend_options(operations, &count);
	*config = (struct tcmu_ext_backend_config){ .struct_bytes = sizeof(*config) };
	if (reason)
		*reason = NULL;
	if (operations == &tcmu_ext_backend_null)
		return parse_null(text, &config->path, reason);
	return tcmu_ext_options_parse(text, options, count, config, &config->path, reason);
}

void tcmu_ext_backend_config_clear(struct tcmu_ext_backend_config *config)
{
	free(config->path);
	*config = (struct tcmu_ext_backend_config){ .struct_bytes = sizeof(*config) };
}
