/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Checking a configuration on behalf of anybody who asks: by stat(2) alone. Whoever asks may lack
 * the right to look for himself, so that little is told.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "backend/block.h"
#include "backend/file.h"
#include "backend/missing.h"
#include "backend/object.h"
#include "plumbing/log.h"

static int check(enum object_kind wanted, const struct tcmu_ext_backend_config *config,
		 char **reason)
{
	struct stat status;
	int error = stat(config->path, &status) ? -errno : 0;
	char *name;

	*reason = NULL;
	if (error == -ENOENT || error == -ENOTDIR)
		return missing_explain(wanted, config, error, reason);
	if (!error && object_is(wanted, status.st_mode))
		return 0;
	name = tcmu_ext_options_escape(config->path);
	if (!name)
		return -ENOMEM;
	*reason = error ? format_text(OBJECT_UNUSABLE, name)
			: object_refusal(wanted, name, status.st_mode);
	free(name);
	return -EINVAL;
}

int file_check(const struct tcmu_ext_backend_config *config, char **reason)
{
	return check(OBJECT_FILE, config, reason);
}

int block_check(const struct tcmu_ext_backend_config *config, char **reason)
{
	return check(OBJECT_DEVICE, config, reason);
}
