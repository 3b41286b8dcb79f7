/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A backend in memory for tests of the disk. It holds what was written and what of it is durable,
 * fails on demand, remembers its calls, and insists on what tcmu-ext/backend.h promises it: ranges
 * within its size, arrays that hold exactly the bytes of the call.
 */
#ifndef MEMORY_BACKEND_H
#define MEMORY_BACKEND_H

#include <tcmu-ext/backend.h>

enum memory_operation {
	MEMORY_READ,
	MEMORY_WRITE,
	MEMORY_FLUSH,
	MEMORY_WRITE_ZEROES,
	MEMORY_DISCARD,
	MEMORY_ALLOCATION,
	MEMORY_PREFETCH,
	MEMORY_RESIZE,
	MEMORY_OPERATION_COUNT,
};

struct memory_call {
	enum memory_operation operation;
	uint64_t offset;
	uint64_t bytes;
	unsigned int flags;
};

/* What is to go wrong: the `countdown`-th call from now on, or nothing when that is 0. */
struct memory_failure {
	unsigned int countdown;
	int error; /* negative errno */
	size_t after_bytes;
	bool again; /* and every call after it */
};

enum {
	MEMORY_CALLS_KEPT = 64,
	MEMORY_UNIT_BYTES = 512, /* granularity of `mapped` */
};

struct memory_backend {
	/* Set before opening; a size_bytes of 0 becomes that of the configuration. */
	struct tcmu_ext_backend_properties properties;
	/* Where the part that has memory begins, for disks larger than memory; else 0. */
	uint64_t window_offset;
	uint64_t window_bytes; /* 0: all */
	uint64_t resize_limit_bytes;

	uint8_t *medium;  /* as a read sees it */
	uint8_t *durable; /* as a read would see it after a loss of power */
	bool *mapped;     /* of each MEMORY_UNIT_BYTES */

	struct memory_failure failures[MEMORY_OPERATION_COUNT];
	unsigned int counts[MEMORY_OPERATION_COUNT];
	struct memory_call calls[MEMORY_CALLS_KEPT]; /* the first of them */
	size_t call_count;
	bool open;
};

/* The table, with the optional operations in `without` (bit per memory_operation) left out. */
struct tcmu_ext_backend_operations memory_backend_operations(unsigned int without);

/* Opens through tcmu_ext_backend_open(), as `size_bytes` bytes in blocks of `block_bytes`. */
int memory_backend_open(struct memory_backend *memory,
			const struct tcmu_ext_backend_operations *operations, uint64_t size_bytes,
			uint32_t block_bytes, struct tcmu_ext_backend **backend);

void memory_backend_fail(struct memory_backend *memory, enum memory_operation operation, int error,
			 size_t after_bytes);
void memory_backend_forget_calls(struct memory_backend *memory);

/* How many calls there were in all since they were last forgotten. */
unsigned int memory_backend_calls(const struct memory_backend *memory);

#endif
