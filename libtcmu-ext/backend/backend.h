/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* An open backend as the disk sees it; the interface to others is tcmu-ext/backend.h. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include <tcmu-ext/backend.h>

/*
 * The disk calls the operations itself: on the read and write path there is no wrapper between a
 * command and its one system call. Operations the table does not know are NULL.
 */
struct tcmu_ext_backend {
	struct tcmu_ext_backend_operations operations;
	struct tcmu_ext_backend_properties properties;
	void *instance;
};

/*
 * Grows the backing and takes over its new size; nothing else in the properties changes, so that
 * commands may read them meanwhile. Returns 0 or what the operation returned; -EOPNOTSUPP when
 * there is no such operation and the size found at open does not do.
 */
int backend_resize(struct tcmu_ext_backend *backend, uint64_t size_bytes);

#endif
