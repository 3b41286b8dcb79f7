/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What a path leads to: finding out without side effects, and saying what is wrong with it. */
#ifndef BACKEND_OBJECT_H
#define BACKEND_OBJECT_H

#include <sys/types.h>

#include "backend/storage.h"

enum object_kind {
	OBJECT_FILE,   /* a regular file */
	OBJECT_DEVICE, /* a block device */
};

bool object_is(enum object_kind wanted, mode_t mode);

/* What it is, with the article: "a directory". */
const char *object_kind_name(mode_t mode);

/* Where nothing more can be said, or told to whoever asks: a format for the path's name. */
#define OBJECT_UNUSABLE "%s cannot be used: check the path"

/* Why an object of another kind is not the one wanted, and what to give instead: a sentence the
 * caller frees. NULL if memory ran out. */
char *object_refusal(enum object_kind wanted, const char *name, mode_t mode);

/*
 * Sets the storage's descriptor to its path, opened with `flags` (of open(2)) if that is of the
 * kind wanted: what a path leads to is looked at before it is opened, so that no FIFO, terminal or
 * other device is ever touched. Returns 0; -ENOENT or -ENOTDIR when there is nothing, which the
 * caller reports; else -errno after saying what is wrong.
 */
int object_open(enum object_kind wanted, struct storage *storage, int flags);

/* Says that the storage cannot be opened for `error`, and what can be done. Returns `error`. */
int object_refuse_open(const struct storage *storage, int error);

#endif
