/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* No storage at all: reads return zeroes, writes go nowhere. What is left is the path's own cost.
 */
#include <tcmu-ext/backend.h>

#include <errno.h>
#include <stdlib.h>

#include <tcmu-ext/iovec.h>

#include "plumbing/log.h"

enum { NULL_BLOCK_BYTES = 4096 };

struct null_backend {
	uint64_t size_bytes;
};

/* Whoever names a file or device may think that it keeps the data. */
static void warn_of_path(const struct tcmu_ext_backend_config *config)
{
	char *name;

	if (!config->path || config->path[0] != '/')
		return;
	name = tcmu_ext_options_escape(config->path);
	if (name)
		log_message(&config->log, TCMU_EXT_LOG_WARNING,
			    "user:null has no backing: %s is not used, reads return zeroes and "
			    "writes are dropped; for a disk that keeps data use user:file or "
			    "user:block",
			    name);
	free(name);
}

static int null_open(const struct tcmu_ext_backend_config *config, void **instance)
{
	struct null_backend *null = calloc(1, sizeof(*null));

	if (!null)
		return -ENOMEM;
	null->size_bytes = config->size_bytes;
	warn_of_path(config);
	*instance = null;
	return 0;
}

static void null_close(void *instance)
{
	free(instance);
}

static void null_describe(void *instance, struct tcmu_ext_backend_properties *properties)
{
	const struct null_backend *null = instance;

	properties->size_bytes = null->size_bytes;
	properties->logical_block_bytes = 1;
	properties->physical_block_bytes = NULL_BLOCK_BYTES;
	properties->discard_granularity_bytes = NULL_BLOCK_BYTES;
	properties->discard_reads_zero = true;
}

static int null_read(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
		     size_t bytes, unsigned int flags, size_t *done_bytes)
{
	(void)instance;
	(void)offset;
	(void)flags;
	*done_bytes = tcmu_ext_iovec_clear(iov, iov_count, 0, bytes);
	return 0;
}

static int null_write(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
		      size_t bytes, unsigned int flags, size_t *done_bytes)
{
	(void)instance;
	(void)iov;
	(void)iov_count;
	(void)offset;
	(void)flags;
	*done_bytes = bytes;
	return 0;
}

static int null_flush(void *instance)
{
	(void)instance;
	return 0;
}

static int null_write_zeroes(void *instance, uint64_t offset, uint64_t bytes, unsigned int flags)
{
	(void)instance;
	(void)offset;
	(void)bytes;
	(void)flags;
	return 0;
}

static int null_discard(void *instance, uint64_t offset, uint64_t bytes)
{
	return null_write_zeroes(instance, offset, bytes, TCMU_EXT_IO_UNMAP);
}

static int null_allocation(void *instance, uint64_t offset, uint64_t bytes, uint64_t *run_bytes,
			   enum tcmu_ext_allocation *allocation)
{
	(void)instance;
	(void)offset;
	*run_bytes = bytes;
	*allocation = TCMU_EXT_DEALLOCATED;
	return 0;
}

static int null_prefetch(void *instance, uint64_t offset, uint64_t bytes)
{
	(void)instance;
	(void)offset;
	(void)bytes;
	return 0;
}

static int null_resize(void *instance, uint64_t size_bytes)
{
	struct null_backend *null = instance;

	if (size_bytes < null->size_bytes)
		return -EINVAL;
	null->size_bytes = size_bytes;
	return 0;
}

const struct tcmu_ext_backend_operations tcmu_ext_backend_null = {
	.struct_bytes = sizeof(struct tcmu_ext_backend_operations),
	.name = "null",
	.open = null_open,
	.close = null_close,
	.describe = null_describe,
	.read = null_read,
	.write = null_write,
	.flush = null_flush,
	.write_zeroes = null_write_zeroes,
	.discard = null_discard,
	.allocation = null_allocation,
	.prefetch = null_prefetch,
	.resize = null_resize,
};
