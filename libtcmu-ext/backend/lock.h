/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Keeping a file to ourselves. */
#ifndef BACKEND_LOCK_H
#define BACKEND_LOCK_H

#include "backend/storage.h"

/*
 * Takes an open file description lock (fcntl(2)) on all of the file: shared by readers, exclusive
 * for a writer. It conflicts with every other LUN, also one of this process, and with other
 * programs that lock. It goes with the descriptor. Returns 0 or -errno after saying who has the
 * file.
 */
int lock_file(const struct storage *storage);

#endif
