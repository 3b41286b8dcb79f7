/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Handlers that are not to be registered. */
#include <tcmu-ext/handler.h>

#ifdef WITHOUT_FLUSH

static int open_nothing(const struct tcmu_ext_backend_config *config, void **instance)
{
	(void)config;
	*instance = NULL;
	return 0;
}

static void close_nothing(void *instance)
{
	(void)instance;
}

static void describe_nothing(void *instance, struct tcmu_ext_backend_properties *properties)
{
	(void)instance;
	properties->logical_block_bytes = 512;
}

static int transfer_nothing(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
			    size_t bytes, unsigned int flags, size_t *done_bytes)
{
	(void)instance, (void)iov, (void)iov_count, (void)offset, (void)bytes, (void)flags;
	*done_bytes = 0;
	return 0;
}

static const struct tcmu_ext_backend_operations operations = {
	.struct_bytes = sizeof(operations),
	.name = "incomplete",
	.open = open_nothing,
	.close = close_nothing,
	.describe = describe_nothing,
	.read = transfer_nothing,
	.write = transfer_nothing,
};
#define OPERATIONS &operations

#else
#define OPERATIONS &tcmu_ext_backend_null
#endif

const struct tcmu_ext_handler tcmu_ext_handler = {
	.name = "Unusable (test)",
	.subtype = SUBTYPE,
	.operations = OPERATIONS,
	.form = "anything",
	.product_identification = "unusable",
};
