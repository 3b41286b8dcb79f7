/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What a path leads to: finding out without side effects, and saying what is wrong with it. */
#ifndef BACKEND_OBJECT_H
#define BACKEND_OBJECT_H

#include <stdbool.h>
#include <sys/types.h>

#include <tcmu-ext/log.h>

enum object_kind {
	OBJECT_FILE,   /* a regular file */
	OBJECT_DEVICE, /* a block device */
};

/* Why an object of this mode is not of the kind wanted, and what to give instead: a sentence the
 * caller frees. NULL when it is of that kind, or if memory ran out. */
char *object_refusal(enum object_kind wanted, const char *path, mode_t mode);
bool object_is(enum object_kind wanted, mode_t mode);

/*
 * Opens an object of the kind wanted and nothing else: what a path leads to is looked at before it
 * is opened, so that no FIFO, terminal or other device is ever touched. `flags` are of open(2).
 * Returns the descriptor; -ENOENT without a message when there is nothing; -errno after saying what
 * is wrong. The message for a failing open() is the caller's: `*opening` is then set.
 */
int object_open(enum object_kind wanted, const char *path, int flags,
		const struct tcmu_ext_log *log, bool *opening);

#endif
