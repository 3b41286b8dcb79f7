/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The backend `file`: a regular file. */
#ifndef BACKEND_FILE_H
#define BACKEND_FILE_H

#include "backend/storage.h"

struct file {
	struct storage storage; /* first: the operations shared with `block` take it */
	uint32_t block_bytes;   /* of the file system */
	bool allocate;          /* create=full: growing allocates as well */
};

/* Operations; see tcmu-ext/backend.h. */
int file_check(const struct tcmu_ext_backend_config *config, char **reason);
int file_allocation(void *instance, uint64_t offset, uint64_t bytes, uint64_t *run_bytes,
		    enum tcmu_ext_allocation *allocation);
int file_resize(void *instance, uint64_t size_bytes);

#endif
