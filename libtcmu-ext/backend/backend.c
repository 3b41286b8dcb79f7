/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "backend/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Copies a struct that carries its size in its first member, made against this header or another:
 * members the source lacks become zero, members this library does not know are left out.
 */
static void copy_sized(void *destination, size_t destination_bytes, const void *source,
		       size_t source_bytes)
{
	size_t bytes = source_bytes < destination_bytes ? source_bytes : destination_bytes;

	memset(destination, 0, destination_bytes);
	memcpy(destination, source, bytes);
	*(size_t *)destination = destination_bytes;
}

int tcmu_ext_backend_operations_check(const struct tcmu_ext_backend_operations *operations)
{
	struct tcmu_ext_backend_operations known;

	if (!operations)
		return -EINVAL;
	copy_sized(&known, sizeof(known), operations, operations->struct_bytes);
	return known.name && known.open && known.close && known.describe && known.read &&
			       known.write && known.flush
		       ? 0
		       : -EINVAL;
}

static void describe(const struct tcmu_ext_backend *backend,
		     struct tcmu_ext_backend_properties *properties)
{
	*properties = (struct tcmu_ext_backend_properties){ .struct_bytes = sizeof(*properties) };
	backend->operations.describe(backend->instance, properties);
	/* A backend fills what it knows, and the disk divides by this. */
	if (!properties->logical_block_bytes)
		properties->logical_block_bytes = 1;
}

int tcmu_ext_backend_open(const struct tcmu_ext_backend_operations *operations,
			  const struct tcmu_ext_backend_config *config,
			  struct tcmu_ext_backend **backend)
{
	struct tcmu_ext_backend_config known;
	struct tcmu_ext_backend *opened;
	int error;

	*backend = NULL;
	if (tcmu_ext_backend_operations_check(operations))
		return -EINVAL;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	copy_sized(&opened->operations, sizeof(opened->operations), operations,
		   operations->struct_bytes);
	copy_sized(&known, sizeof(known), config, config->struct_bytes);
	error = opened->operations.open(&known, &opened->instance);
	if (error) {
		free(opened);
		return error;
	}
	describe(opened, &opened->properties);
	*backend = opened;
	return 0;
}

void tcmu_ext_backend_close(struct tcmu_ext_backend *backend)
{
	if (!backend)
		return;
	backend->operations.close(backend->instance);
	free(backend);
}

const struct tcmu_ext_backend_properties *tcmu_ext_backend_properties(
	const struct tcmu_ext_backend *backend)
{
	return &backend->properties;
}

void tcmu_ext_backend_get_counters(const struct tcmu_ext_backend *backend,
				   struct tcmu_ext_backend_counters *counters,
				   size_t counters_bytes)
{
	struct tcmu_ext_backend_counters all = { 0 };
	size_t bytes = counters_bytes < sizeof(all) ? counters_bytes : sizeof(all);

	if (backend->operations.get_counters)
		backend->operations.get_counters(backend->instance, &all);
	memset(counters, 0, counters_bytes);
	memcpy(counters, &all, bytes);
}

int backend_resize(struct tcmu_ext_backend *backend, uint64_t size_bytes)
{
	struct tcmu_ext_backend_properties properties;
	int error;

	if (!backend->operations.resize)
		return size_bytes <= backend->properties.size_bytes ? 0 : -EOPNOTSUPP;
	error = backend->operations.resize(backend->instance, size_bytes);
	if (error)
		return error;
	describe(backend, &properties);
	__atomic_store_n(&backend->properties.size_bytes, properties.size_bytes, __ATOMIC_RELAXED);
	return 0;
}
