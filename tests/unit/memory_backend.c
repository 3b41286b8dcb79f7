/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "memory_backend.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tcmu-ext/iovec.h>

#include "test_failure.h"

enum { DISCARDED_BYTE = 0xd5 };

/* The part of a range that has memory, as an offset into it. */
struct window {
	uint64_t offset;
	size_t bytes;
	size_t skipped; /* of the range, before the part */
};

static struct window window_of(const struct memory_backend *memory, uint64_t offset, uint64_t bytes)
{
	uint64_t first = offset > memory->window_offset ? offset : memory->window_offset;
	uint64_t end = offset + bytes;
	uint64_t window_end = memory->window_offset + memory->window_bytes;

	if (end > window_end)
		end = window_end;
	if (first >= end)
		return (struct window){ 0 };
	return (struct window){ .offset = first - memory->window_offset,
				.bytes = (size_t)(end - first),
				.skipped = (size_t)(first - offset) };
}

static void check_range(const struct memory_backend *memory, uint64_t offset, uint64_t bytes)
{
	const struct tcmu_ext_backend_properties *properties = &memory->properties;

	check(memory->open, "called while closed");
	check(bytes > 0, "an operation on nothing");
	check(offset <= properties->size_bytes && bytes <= properties->size_bytes - offset,
	      "offset %" PRIu64 ", %" PRIu64 " bytes of %" PRIu64, offset, bytes,
	      properties->size_bytes);
	check(offset % properties->logical_block_bytes == 0 &&
		      bytes % properties->logical_block_bytes == 0,
	      "offset %" PRIu64 ", %" PRIu64 " bytes in blocks of %" PRIu32, offset, bytes,
	      properties->logical_block_bytes);
}

/* Remembers a call. Returns 0, or the error it is to fail with after `*after_bytes` bytes. */
static int begin(struct memory_backend *memory, enum memory_operation operation, uint64_t offset,
		 uint64_t bytes, unsigned int flags, size_t *after_bytes)
{
	struct memory_failure *failure = &memory->failures[operation];

	*after_bytes = 0;
	memory->counts[operation]++;
	if (memory->call_count < MEMORY_CALLS_KEPT)
		memory->calls[memory->call_count++] =
			(struct memory_call){ operation, offset, bytes, flags };
	if (!failure->countdown || --failure->countdown)
		return 0;
	if (failure->again)
		failure->countdown = 1;
	*after_bytes = failure->after_bytes < bytes ? failure->after_bytes : (size_t)bytes;
	return failure->error;
}

static void set_mapped(struct memory_backend *memory, struct window window, bool mapped)
{
	uint64_t first = window.offset / MEMORY_UNIT_BYTES;
	uint64_t end = (window.offset + window.bytes + MEMORY_UNIT_BYTES - 1) / MEMORY_UNIT_BYTES;

	for (uint64_t unit = first; unit < end && window.bytes; unit++)
		memory->mapped[unit] = mapped;
}

static int memory_open(const struct tcmu_ext_backend_config *config, void **instance)
{
	struct memory_backend *memory = config->log.context;
	struct tcmu_ext_backend_properties *properties = &memory->properties;

	if (!properties->size_bytes)
		properties->size_bytes = config->size_bytes;
	if (!properties->logical_block_bytes)
		properties->logical_block_bytes = 1;
	if (!properties->physical_block_bytes)
		properties->physical_block_bytes = config->logical_block_bytes;
	if (!memory->window_bytes)
		memory->window_bytes = properties->size_bytes;
	memory->medium = calloc(1, memory->window_bytes + 1);
	memory->durable = calloc(1, memory->window_bytes + 1);
	memory->mapped = calloc(memory->window_bytes / MEMORY_UNIT_BYTES + 1, sizeof(bool));
	memory->open = true;
	*instance = memory;
	return 0;
}

static void memory_close(void *instance)
{
	struct memory_backend *memory = instance;

	check(memory->open, "closed twice");
	free(memory->medium);
	free(memory->durable);
	free(memory->mapped);
	memory->open = false;
}

static void memory_describe(void *instance, struct tcmu_ext_backend_properties *properties)
{
	const struct memory_backend *memory = instance;
	size_t struct_bytes = properties->struct_bytes;

	check(struct_bytes == sizeof(*properties), "properties of %zu bytes", struct_bytes);
	*properties = memory->properties;
	properties->struct_bytes = struct_bytes;
}

static void check_array(const struct iovec *iov, size_t iov_count, size_t bytes)
{
	check(tcmu_ext_iovec_bytes(iov, iov_count) == bytes,
	      "an array of %zu bytes for an operation on %zu", tcmu_ext_iovec_bytes(iov, iov_count),
	      bytes);
}

/* Entries are the backend's to change: leave nothing in them that a caller could still use. */
static void spoil_array(struct iovec *iov, size_t iov_count)
{
	for (size_t i = 0; i < iov_count; i++)
		iov[i] = (struct iovec){ .iov_base = NULL, .iov_len = SIZE_MAX / 2 };
}

static int memory_read(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
		       size_t bytes, unsigned int flags, size_t *done_bytes)
{
	struct memory_backend *memory = instance;
	int error = begin(memory, MEMORY_READ, offset, bytes, flags, done_bytes);
	struct window window;

	check_range(memory, offset, bytes);
	check_array(iov, iov_count, bytes);
	check(!flags, "flags %x of a read", flags);
	if (!error)
		*done_bytes = bytes;
	window = window_of(memory, offset, *done_bytes);
	tcmu_ext_iovec_clear(iov, iov_count, 0, *done_bytes);
	tcmu_ext_iovec_scatter(iov, iov_count, window.skipped, memory->medium + window.offset,
			       window.bytes);
	spoil_array(iov, iov_count);
	return error;
}

static int memory_write(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
			size_t bytes, unsigned int flags, size_t *done_bytes)
{
	struct memory_backend *memory = instance;
	int error = begin(memory, MEMORY_WRITE, offset, bytes, flags, done_bytes);
	struct window window;

	check_range(memory, offset, bytes);
	check_array(iov, iov_count, bytes);
	check(!(flags & ~(unsigned int)TCMU_EXT_IO_DURABLE), "flags %x of a write", flags);
	check(!memory->properties.read_only, "a write to a read-only backend");
	if (!error)
		*done_bytes = bytes;
	window = window_of(memory, offset, *done_bytes);
	check(window.bytes == *done_bytes, "a write outside the part that has memory");
	tcmu_ext_iovec_gather(iov, iov_count, 0, memory->medium + window.offset, window.bytes);
	if (!error && (flags & TCMU_EXT_IO_DURABLE))
		memcpy(memory->durable + window.offset, memory->medium + window.offset,
		       window.bytes);
	set_mapped(memory, window, true);
	spoil_array(iov, iov_count);
	return error;
}

static int memory_flush(void *instance)
{
	struct memory_backend *memory = instance;
	size_t after_bytes;
	int error = begin(memory, MEMORY_FLUSH, 0, 0, 0, &after_bytes);

	check(memory->open, "called while closed");
	if (!error)
		memcpy(memory->durable, memory->medium, memory->window_bytes);
	return error;
}

/* Zeroes a range, or its first `after_bytes` bytes before an error. */
static int memory_write_zeroes(void *instance, uint64_t offset, uint64_t bytes, unsigned int flags)
{
	struct memory_backend *memory = instance;
	size_t after_bytes;
	int error = begin(memory, MEMORY_WRITE_ZEROES, offset, bytes, flags, &after_bytes);
	struct window window = window_of(memory, offset, error ? after_bytes : bytes);

	check_range(memory, offset, bytes);
	check(!(flags & ~(unsigned int)TCMU_EXT_IO_UNMAP), "flags %x of zeroes", flags);
	check(!memory->properties.read_only, "zeroes to a read-only backend");
	memset(memory->medium + window.offset, 0, window.bytes);
	set_mapped(memory, window, !(flags & TCMU_EXT_IO_UNMAP));
	return error;
}

/* The whole granules within a range, whose space is given back. */
static struct window granules(const struct memory_backend *memory, uint64_t offset, uint64_t bytes)
{
	uint64_t granularity = memory->properties.discard_granularity_bytes;
	uint64_t alignment = memory->properties.discard_alignment_bytes % granularity;
	uint64_t first = offset, end = offset + bytes;

	while (first % granularity != alignment)
		first++;
	while (end > first && end % granularity != alignment)
		end--;
	return window_of(memory, first, end > first ? end - first : 0);
}

static int memory_discard(void *instance, uint64_t offset, uint64_t bytes)
{
	struct memory_backend *memory = instance;
	size_t after_bytes;
	int error = begin(memory, MEMORY_DISCARD, offset, bytes, 0, &after_bytes);
	struct window window;

	check_range(memory, offset, bytes);
	check(!memory->properties.read_only, "a discard on a read-only backend");
	check(memory->properties.discard_granularity_bytes, "a discard where there is none");
	window = window_of(memory, offset, error ? after_bytes : bytes);
	memset(memory->medium + window.offset,
	       memory->properties.discard_reads_zero ? 0 : DISCARDED_BYTE, window.bytes);
	set_mapped(memory, granules(memory, offset, error ? after_bytes : bytes), false);
	return error;
}

static int memory_allocation(void *instance, uint64_t offset, uint64_t bytes, uint64_t *run_bytes,
			     enum tcmu_ext_allocation *allocation)
{
	struct memory_backend *memory = instance;
	size_t after_bytes;
	int error = begin(memory, MEMORY_ALLOCATION, offset, bytes, 0, &after_bytes);
	uint64_t unit = offset / MEMORY_UNIT_BYTES;
	bool mapped;

	check_range(memory, offset, bytes);
	if (error)
		return error;
	mapped = memory->mapped[unit];
	*run_bytes = 0;
	while (*run_bytes < bytes && memory->mapped[unit] == mapped) {
		*run_bytes += MEMORY_UNIT_BYTES;
		unit++;
	}
	if (*run_bytes > bytes)
		*run_bytes = bytes;
	*allocation = mapped ? TCMU_EXT_MAPPED : TCMU_EXT_DEALLOCATED;
	return 0;
}

static int memory_prefetch(void *instance, uint64_t offset, uint64_t bytes)
{
	struct memory_backend *memory = instance;
	size_t after_bytes;

	check_range(memory, offset, bytes);
	return begin(memory, MEMORY_PREFETCH, offset, bytes, 0, &after_bytes);
}

static int memory_resize(void *instance, uint64_t size_bytes)
{
	struct memory_backend *memory = instance;
	size_t after_bytes;
	int error = begin(memory, MEMORY_RESIZE, 0, size_bytes, 0, &after_bytes);
	uint64_t units = size_bytes / MEMORY_UNIT_BYTES + 1;

	if (error)
		return error;
	if (size_bytes > memory->resize_limit_bytes)
		return -ENOSPC;
	if (size_bytes <= memory->properties.size_bytes)
		return 0;
	memory->medium = realloc(memory->medium, size_bytes + 1);
	memory->durable = realloc(memory->durable, size_bytes + 1);
	memory->mapped = realloc(memory->mapped, units * sizeof(bool));
	memset(memory->medium + memory->window_bytes, 0, size_bytes - memory->window_bytes);
	memset(memory->durable + memory->window_bytes, 0, size_bytes - memory->window_bytes);
	memset(memory->mapped, 1, units * sizeof(bool));
	memory->window_bytes = memory->properties.size_bytes = size_bytes;
	return 0;
}

struct tcmu_ext_backend_operations memory_backend_operations(unsigned int without)
{
	struct tcmu_ext_backend_operations operations = {
		.struct_bytes = sizeof(operations),
		.name = "memory",
		.open = memory_open,
		.close = memory_close,
		.describe = memory_describe,
		.read = memory_read,
		.write = memory_write,
		.flush = memory_flush,
		.write_zeroes = memory_write_zeroes,
		.discard = memory_discard,
		.allocation = memory_allocation,
		.prefetch = memory_prefetch,
		.resize = memory_resize,
	};

	if (without & 1u << MEMORY_WRITE_ZEROES)
		operations.write_zeroes = NULL;
	if (without & 1u << MEMORY_DISCARD)
		operations.discard = NULL;
	if (without & 1u << MEMORY_ALLOCATION)
		operations.allocation = NULL;
	if (without & 1u << MEMORY_PREFETCH)
		operations.prefetch = NULL;
	if (without & 1u << MEMORY_RESIZE)
		operations.resize = NULL;
	return operations;
}

int memory_backend_open(struct memory_backend *memory,
			const struct tcmu_ext_backend_operations *operations, uint64_t size_bytes,
			uint32_t block_bytes, struct tcmu_ext_backend **backend)
{
	char path[] = "/memory";
	const struct tcmu_ext_backend_config config = {
		.struct_bytes = sizeof(config),
		.path = path,
		.size_bytes = size_bytes,
		.logical_block_bytes = block_bytes,
		.log = { .context = memory }, /* how memory_open() finds its instance */
	};

	return tcmu_ext_backend_open(operations, &config, backend);
}

void memory_backend_fail(struct memory_backend *memory, enum memory_operation operation, int error,
			 size_t after_bytes)
{
	memory->failures[operation] = (struct memory_failure){ .countdown = 1,
							       .error = -error,
							       .after_bytes = after_bytes };
}

void memory_backend_forget_calls(struct memory_backend *memory)
{
	memset(memory->counts, 0, sizeof(memory->counts));
	memory->call_count = 0;
}

unsigned int memory_backend_calls(const struct memory_backend *memory)
{
	unsigned int calls = 0;

	for (int operation = 0; operation < MEMORY_OPERATION_COUNT; operation++)
		calls += memory->counts[operation];
	return calls;
}
