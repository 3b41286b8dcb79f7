/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * user:ram_example, a handler of one's own: a disk in memory. docs/handler-authors.md goes through
 * it. Only what tcmu-ext installs is needed to build it.
 *
 * What is written is gone when the daemon ends.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tcmu-ext/handler.h>
#include <tcmu-ext/iovec.h>

struct ram {
	char *memory;
	uint64_t size_bytes;
	uint64_t page_bytes;
};

/* Says what is wrong with which LUN, and what to do. A path may hold any byte, a newline too. */
static void report(const struct tcmu_ext_backend_config *config, const char *what)
{
	char *name = tcmu_ext_options_escape(config->path);
	char message[1024];

	if (name && config->log.write) {
		snprintf(message, sizeof(message), "%s: %s", name, what);
		config->log.write(config->log.context, TCMU_EXT_LOG_ERROR, message);
	}
	free(name);
}

static int allocate(struct ram *ram, const struct tcmu_ext_backend_config *config)
{
	void *memory = MAP_FAILED;

	if (config->size_bytes <= SIZE_MAX)
		memory = mmap(NULL, (size_t)config->size_bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		report(config, "there is not enough memory: create a smaller LUN");
		return -ENOMEM;
	}
	ram->memory = memory;
	ram->size_bytes = config->size_bytes;
	ram->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

/*
 * A LUN that was in use when an earlier daemon ended has lost its data with it. Its initiators do
 * not know: they would read zeroes where they wrote a file system.
 */
static int ram_open(const struct tcmu_ext_backend_config *config, void **instance)
{
	struct ram *ram;
	int error;

	if (config->succeeds) {
		report(config, "its data went with the daemon that had it: delete this backstore, "
			       "and create it anew");
		return -ENODATA;
	}
	ram = calloc(1, sizeof(*ram));
	if (!ram)
		return -ENOMEM;
	error = allocate(ram, config);
	if (error) {
		free(ram);
		return error;
	}
	*instance = ram;
	return 0;
}

static void ram_close(void *instance)
{
	struct ram *ram = instance;

	munmap(ram->memory, (size_t)ram->size_bytes);
	free(ram);
}

static void ram_describe(void *instance, struct tcmu_ext_backend_properties *properties)
{
	const struct ram *ram = instance;

	properties->size_bytes = ram->size_bytes;
	properties->logical_block_bytes = 1;
	properties->physical_block_bytes = (uint32_t)ram->page_bytes;
	properties->discard_granularity_bytes = (uint32_t)ram->page_bytes;
	properties->discard_reads_zero = true;
}

/* The disk has checked that the range lies within the size, and that `iov` holds just as much. */
static int ram_read(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
		    size_t bytes, unsigned int flags, size_t *done_bytes)
{
	const struct ram *ram = instance;

	(void)flags; /* TCMU_EXT_IO_NOWAIT: memory never waits */
	*done_bytes = tcmu_ext_iovec_scatter(iov, iov_count, 0, ram->memory + offset, bytes);
	return 0;
}

static int ram_write(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
		     size_t bytes, unsigned int flags, size_t *done_bytes)
{
	const struct ram *ram = instance;

	(void)flags; /* TCMU_EXT_IO_DURABLE: it is as durable as it will ever be */
	*done_bytes = tcmu_ext_iovec_gather(iov, iov_count, 0, ram->memory + offset, bytes);
	return 0;
}

static int ram_flush(void *instance)
{
	(void)instance;
	return 0;
}

/*
 * Whole pages are given back to the kernel, and read as zeroes afterwards; parts of pages are
 * cleared. Memory that is locked (mlockall) cannot be given back: then all of it is cleared.
 */
static int ram_discard(void *instance, uint64_t offset, uint64_t bytes)
{
	const struct ram *ram = instance;
	uint64_t end = offset + bytes;
	uint64_t first_page = (offset + ram->page_bytes - 1) / ram->page_bytes * ram->page_bytes;
	uint64_t end_page = end / ram->page_bytes * ram->page_bytes;

	if (first_page >= end_page ||
	    madvise(ram->memory + first_page, (size_t)(end_page - first_page), MADV_DONTNEED)) {
		memset(ram->memory + offset, 0, (size_t)bytes);
		return 0;
	}
	memset(ram->memory + offset, 0, (size_t)(first_page - offset));
	memset(ram->memory + end_page, 0, (size_t)(end - end_page));
	return 0;
}

static int ram_write_zeroes(void *instance, uint64_t offset, uint64_t bytes, unsigned int flags)
{
	const struct ram *ram = instance;

	if (flags & TCMU_EXT_IO_UNMAP)
		return ram_discard(instance, offset, bytes);
	memset(ram->memory + offset, 0, (size_t)bytes);
	return 0;
}

/*
 * That this is there at all says that read, write and the others may run on several threads, which
 * io=auto and io=async need. No two at once touch the same bytes, unless both only read: the disk
 * sees to that.
 */
static void ram_describe_queue(void *instance, struct tcmu_ext_backend_queue *queue)
{
	(void)instance;
	queue->descriptor = -1;
	queue->never_waits = true;
}

static const struct tcmu_ext_backend_operations ram_operations = {
	.struct_bytes = sizeof(struct tcmu_ext_backend_operations),
	.name = "ram",
	.open = ram_open,
	.close = ram_close,
	.describe = ram_describe,
	.read = ram_read,
	.write = ram_write,
	.flush = ram_flush,
	.write_zeroes = ram_write_zeroes,
	.discard = ram_discard,
	.describe_queue = ram_describe_queue,
};

static const char *const io_choices[] = {
	[TCMU_EXT_IO_MODE_INLINE] = "inline",
	[TCMU_EXT_IO_MODE_AUTO] = "auto",
	[TCMU_EXT_IO_MODE_ASYNC] = "async",
	NULL,
};

static const struct tcmu_ext_option ram_options[] = {
	{
		.name = "io",
		.choices = io_choices,
		.default_choice = TCMU_EXT_IO_MODE_AUTO,
		.bare_choice = -1,
		.value_offset = offsetof(struct tcmu_ext_backend_config, io),
		.summary = "Long commands: beside the others (auto), or one after another "
			   "(inline). All commands: beside one another (async).",
	},
};

const struct tcmu_ext_handler tcmu_ext_handler = {
	.name = "Memory (example of tcmu-ext)",
	.subtype = "ram_example",
	.operations = &ram_operations,
	.form = "/name[;option=value]...  a disk in memory, whose data goes with the daemon",
	.product_identification = "RAM example",
	.options = ram_options,
	.option_count = sizeof(ram_options) / sizeof(ram_options[0]),
};
