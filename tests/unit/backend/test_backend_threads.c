/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Several threads that move data, and one that grows the backing and reads the counters meanwhile.
 * ThreadSanitizer (the preset `thread`) sees what else they share.
 */
#include "../cmocka_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend/backend.h"

enum {
	LUN_BYTES = 1024 * 1024,
	GROWTHS = 64,
	WORKERS = 2,
};

struct work {
	struct tcmu_ext_backend *backend;
	uint64_t first_offset; /* each worker has a part of the LUN to itself */
	int error;
	bool stop;
};

static int move_data(struct tcmu_ext_backend *backend, uint64_t offset, unsigned int flags)
{
	const struct tcmu_ext_backend_operations *operations = &backend->operations;
	char memory[4096] = { 1 };
	struct iovec iov = { memory, sizeof(memory) };
	size_t done;
	int error =
		operations->write(backend->instance, &iov, 1, offset, sizeof(memory), flags, &done);

	iov = (struct iovec){ memory, sizeof(memory) };
	if (!error)
		error = operations->read(backend->instance, &iov, 1, offset, sizeof(memory), 0,
					 &done);
	if (!error)
		error = operations->write_zeroes(backend->instance, offset, sizeof(memory),
						 TCMU_EXT_IO_UNMAP);
	if (!error && backend->properties.discard_granularity_bytes)
		error = operations->discard(backend->instance, offset, sizeof(memory));
	return error;
}

static void *work(void *argument)
{
	struct work *work = argument;
	for (uint64_t round = 0; !__atomic_load_n(&work->stop, __ATOMIC_RELAXED) && !work->error;
	     round++)
		work->error = move_data(work->backend,
					work->first_offset + round * 4096 % (LUN_BYTES / WORKERS),
					round % 16 ? 0 : TCMU_EXT_IO_DURABLE);
	return NULL;
}

static void grow_beside(struct tcmu_ext_backend *backend)
{
	struct work loads[WORKERS] = { 0 };
	struct tcmu_ext_backend_counters counters;
	uint64_t seen = 0;
	pthread_t threads[WORKERS];

	for (size_t i = 0; i < WORKERS; i++) {
		loads[i].backend = backend;
		loads[i].first_offset = i * (LUN_BYTES / WORKERS);
		assert_int_equal(pthread_create(&threads[i], NULL, work, &loads[i]), 0);
	}
	for (uint64_t i = 1; i <= GROWTHS; i++) {
		assert_int_equal(backend_resize(backend, LUN_BYTES + i * 4096), 0);
		assert_true(backend->properties.size_bytes >= LUN_BYTES + i * 4096);
		tcmu_ext_backend_get_counters(backend, &counters, sizeof(counters));
		assert_true(counters.punch_hole + counters.written >= seen);
		seen = counters.punch_hole + counters.written;
	}
	for (size_t i = 0; i < WORKERS; i++) {
		__atomic_store_n(&loads[i].stop, true, __ATOMIC_RELAXED);
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(loads[i].error, 0);
	}
}

static void test_growing_a_file_beside_commands(void **state)
{
	char path[] = "backend-test-XXXXXX";
	struct tcmu_ext_backend_config config = {
		.struct_bytes = sizeof(config),
		.path = path,
		.lock = 1,
		.size_bytes = LUN_BYTES,
		.logical_block_bytes = 512,
	};
	struct tcmu_ext_backend *backend;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, LUN_BYTES), 0);
	close(fd);
	assert_int_equal(tcmu_ext_backend_open(&tcmu_ext_backend_file, &config, &backend), 0);
	unlink(path);
	grow_beside(backend);
	tcmu_ext_backend_close(backend);
}

static void test_growing_nothing_beside_commands(void **state)
{
	struct tcmu_ext_backend_config config = {
		.struct_bytes = sizeof(config),
		.size_bytes = LUN_BYTES,
		.logical_block_bytes = 512,
	};
	struct tcmu_ext_backend *backend;

	(void)state;
	assert_int_equal(tcmu_ext_backend_open(&tcmu_ext_backend_null, &config, &backend), 0);
	grow_beside(backend);
	tcmu_ext_backend_close(backend);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growing_a_file_beside_commands),
		cmocka_unit_test(test_growing_nothing_beside_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
