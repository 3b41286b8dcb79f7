/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Why a path leads to nothing, and what to do about it. */
#ifndef BACKEND_MISSING_H
#define BACKEND_MISSING_H

#include "backend/object.h"

/*
 * For a path that could not be followed: `error` is -ENOENT or -ENOTDIR. Returns 0 when the
 * configuration has a file made there, and its directory is there; else -errno with `*reason` set,
 * a sentence the caller frees, NULL if memory ran out. Opens nothing: it calls stat(2), lstat(2)
 * and readlink(2), and tells only what whoever asks could find out by asking for parts of the path.
 */
int missing_explain(enum object_kind wanted, const struct tcmu_ext_backend_config *config,
		    int error, char **reason);

/* As above, but the reason goes to the configuration's log. */
int missing_report(enum object_kind wanted, const struct tcmu_ext_backend_config *config,
		   int error);

#endif
