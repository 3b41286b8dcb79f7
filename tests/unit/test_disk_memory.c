/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Making a disk while memory runs out: each allocation fails once, nothing leaks. */
#include "cmocka_test.h"

#include <errno.h>
#include <stdlib.h>

#include "disk_fixture.h"

/* Counts down to the allocation that fails; negative: none does. */
static int allocations_until_failure = -1;

static bool allocation_fails(void)
{
	return allocations_until_failure >= 0 && allocations_until_failure-- == 0;
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
	return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
	return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
	return allocation_fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

static const struct tcmu_ext_command_description other = { .operation_code = 0x04, .cdb_bytes = 6 };

/* Makes a disk with one allocation failing. Returns whether that one was reached. */
static bool create_with_failure(struct tcmu_ext_backend *backend, int failing)
{
	const struct tcmu_ext_disk_config config = { .struct_bytes = sizeof(config),
						     .size_bytes = 65536,
						     .logical_block_bytes = 512,
						     .other_commands = &other,
						     .other_command_count = 1 };
	struct tcmu_ext_disk *disk = (struct tcmu_ext_disk *)(uintptr_t)0xdead;
	int result;
	bool reached;

	allocations_until_failure = failing;
	result = tcmu_ext_disk_create(backend, &config, &disk);
	reached = allocations_until_failure < 0;
	allocations_until_failure = -1;
	assert_int_equal(result, reached ? -ENOMEM : 0);
	assert_int_equal(disk == NULL, reached);
	tcmu_ext_disk_destroy(disk);
	return reached;
}

static void test_create(void **state)
{
	const struct tcmu_ext_backend_operations operations = memory_backend_operations(0);
	struct memory_backend memory = { .open = false };
	struct tcmu_ext_backend *backend;
	int failing = 0;

	(void)state;
	assert_int_equal(memory_backend_open(&memory, &operations, 65536, 512, &backend), 0);
	while (create_with_failure(backend, failing))
		failing++;
	assert_true(failing > 0);
	tcmu_ext_backend_close(backend);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),
	};

	return run_unit_tests(tests);
}
