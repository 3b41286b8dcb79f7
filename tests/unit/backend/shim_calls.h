/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What the parts of the shim share; tests use shim.h. */
#ifndef SHIM_CALLS_H
#define SHIM_CALLS_H

#include <sys/stat.h>

#include "shim.h"

/* Records a call and returns what it is to do. */
long shim_enter(enum shim_call call, struct shim_record record);

/* Whether the action ends the call; its result is then in `*result`. */
bool shim_is_settled(long action, int *result);

bool shim_is_device(const struct stat *status);
bool shim_is_device_fd(int fd);

/* Which descriptors were switched to O_DIRECT under the shim's rules. */
enum { SHIM_DIRECT_FDS = 1024 };
extern bool shim_direct_fds[SHIM_DIRECT_FDS];

#endif
