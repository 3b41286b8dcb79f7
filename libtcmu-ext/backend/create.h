/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Making a file that does not exist, and taking it back when the rest of the opening fails. */
#ifndef BACKEND_CREATE_H
#define BACKEND_CREATE_H

#include "backend/storage.h"

/* A file on its way to existing. Initialise with CREATION_NONE. */
struct creation {
	int directory_fd; /* -1: no file was made */
	const char *name; /* within the directory; points into the path */
	uint64_t device;
	uint64_t inode;
};

#define CREATION_NONE ((struct creation){ .directory_fd = -1 })

/* Makes an empty file at the storage's path and sets its descriptor. Returns 0, or -errno after
 * saying why; then nothing was made. */
int creation_begin(struct creation *creation, struct storage *storage);

/* Gives the file its size, and with `full` its space, durably. To be called with the file locked:
 * until then others take it for too short. Returns 0, or -errno after saying why. */
int creation_fill(const struct creation *creation, const struct storage *storage, bool full);

/* Ends it, also where nothing was made. With an `error` the file is removed, if it still is the one
 * made. */
void creation_end(struct creation *creation, int error);

#endif
