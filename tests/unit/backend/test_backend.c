/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What is common to all backends: tables, configurations, properties, counters; and `null`. */
#include "fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tcmu-ext/iovec.h>

#include "../iovec_split.h"

/* -- a backend of one's own -------------------------------------------------------------------- */

static struct tcmu_ext_backend_config seen_config;
static int open_result;
static unsigned int closed;
static uint64_t stub_bytes;

static int stub_open(const struct tcmu_ext_backend_config *config, void **instance)
{
	seen_config = *config;
	*instance = &stub_bytes;
	return open_result;
}

static void stub_close(void *instance)
{
	assert_ptr_equal(instance, &stub_bytes);
	closed++;
}

static void stub_describe(void *instance, struct tcmu_ext_backend_properties *properties)
{
	static const struct tcmu_ext_backend_properties none;

	assert_ptr_equal(instance, &stub_bytes);
	assert_int_equal(properties->struct_bytes, sizeof(*properties));
	assert_memory_equal(&properties->size_bytes, &none.size_bytes,
			    sizeof(none) -
				    offsetof(struct tcmu_ext_backend_properties, size_bytes));
	properties->size_bytes = stub_bytes;
	properties->physical_block_bytes = 4096;
}

static int stub_transfer(void *instance, struct iovec *iov, size_t iov_count, uint64_t offset,
			 size_t bytes, unsigned int flags, size_t *done_bytes)
{
	(void)instance;
	(void)flags;
	(void)iov;
	(void)iov_count;
	(void)offset;
	(void)flags;
	*done_bytes = bytes;
	return 0;
}

static int stub_flush(void *instance)
{
	(void)instance;
	return 0;
}

static int stub_resize(void *instance, uint64_t size_bytes)
{
	assert_ptr_equal(instance, &stub_bytes);
	if (size_bytes > 1000000)
		return -ENOSPC;
	stub_bytes = size_bytes + 1;
	return 0;
}

static void stub_get_counters(void *instance, struct tcmu_ext_backend_counters *counters)
{
	assert_ptr_equal(instance, &stub_bytes);
	*counters = (struct tcmu_ext_backend_counters){ 1, 2, 3, 4, 5 };
}

static const struct tcmu_ext_backend_operations stub = {
	.struct_bytes = sizeof(stub),
	.name = "stub",
	.open = stub_open,
	.close = stub_close,
	.describe = stub_describe,
	.read = stub_transfer,
	.write = stub_transfer,
	.flush = stub_flush,
};

static int setup(void **state)
{
	open_result = 0;
	closed = 0;
	stub_bytes = 4711;
	return fixture_setup(state);
}

static void test_open_and_close(void **state)
{
	struct fixture *fixture = *state;

	fixture_open(fixture, &stub, 1024);
	assert_int_equal(seen_config.size_bytes, 1024);
	assert_ptr_equal(seen_config.path, fixture->config.path);
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->size_bytes, 4711);
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->physical_block_bytes, 4096);
	/* Not described: any multiple will do. */
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->logical_block_bytes, 1);
	fixture_close(fixture);
	assert_int_equal(closed, 1);
	tcmu_ext_backend_close(NULL);
	assert_int_equal(closed, 1);
}

static void test_open_that_fails(void **state)
{
	struct fixture *fixture = *state;
	struct tcmu_ext_backend *backend = (void *)fixture;

	open_result = -EXDEV;
	assert_int_equal(tcmu_ext_backend_open(&stub, &fixture->config, &backend), -EXDEV);
	assert_null(backend);
	assert_int_equal(closed, 0);
	shim_script(SHIM_ALLOCATE_MEMORY, -ENOMEM);
	backend = (void *)fixture;
	assert_int_equal(tcmu_ext_backend_open(&stub, &fixture->config, &backend), -ENOMEM);
	assert_null(backend);
}

static void test_what_a_table_must_have(void **state)
{
	struct fixture *fixture = *state;
	struct tcmu_ext_backend *backend;

	for (int missing = 0; missing < 7; missing++) {
		struct tcmu_ext_backend_operations lacking = stub;

		if (missing == 0)
			lacking.name = NULL;
		else if (missing == 1)
			lacking.open = NULL;
		else if (missing == 2)
			lacking.close = NULL;
		else if (missing == 3)
			lacking.describe = NULL;
		else if (missing == 4)
			lacking.read = NULL;
		else if (missing == 5)
			lacking.write = NULL;
		else
			lacking.flush = NULL;
		assert_int_equal(tcmu_ext_backend_operations_check(&lacking), -EINVAL);
		backend = (void *)fixture;
		assert_int_equal(tcmu_ext_backend_open(&lacking, &fixture->config, &backend),
				 -EINVAL);
		assert_null(backend);
	}
	assert_int_equal(tcmu_ext_backend_operations_check(NULL), -EINVAL);
	assert_int_equal(tcmu_ext_backend_operations_check(&stub), 0);
}

/* A table, and a configuration, as a newer or an older header has them. */
struct larger_table {
	struct tcmu_ext_backend_operations operations;
	void (*unknown[8])(void);
};

struct larger_config {
	struct tcmu_ext_backend_config config;
	char unknown[64];
};

static void test_tables_of_other_sizes(void **state)
{
	struct fixture *fixture = *state;
	struct larger_table table = { .operations = stub };
	size_t all = sizeof(struct tcmu_ext_backend_operations);

	memset(table.unknown, 0xee, sizeof(table.unknown));
	table.operations.resize = stub_resize;
	table.operations.get_counters = stub_get_counters;
	table.operations.struct_bytes = sizeof(table);
	fixture_open(fixture, &table.operations, 1024);
	assert_int_equal(fixture->backend->operations.struct_bytes, all);
	assert_ptr_equal(fixture->backend->operations.get_counters, stub_get_counters);
	fixture_close(fixture);

	table.operations.struct_bytes = offsetof(struct tcmu_ext_backend_operations, get_counters);
	fixture_open(fixture, &table.operations, 1024);
	assert_null(fixture->backend->operations.get_counters);
	assert_ptr_equal(fixture->backend->operations.resize, stub_resize);
	fixture_close(fixture);

	table.operations.struct_bytes = offsetof(struct tcmu_ext_backend_operations, flush);
	assert_int_equal(
		tcmu_ext_backend_open(&table.operations, &fixture->config, &fixture->backend),
		-EINVAL);
	table.operations.struct_bytes = 0;
	assert_int_equal(
		tcmu_ext_backend_open(&table.operations, &fixture->config, &fixture->backend),
		-EINVAL);
}

static void test_configurations_of_other_sizes(void **state)
{
	struct fixture *fixture = *state;
	struct larger_config larger = { .config = fixture->config };

	memset(larger.unknown, 0xee, sizeof(larger.unknown));
	larger.config.struct_bytes = sizeof(larger);
	assert_int_equal(tcmu_ext_backend_open(&stub, &larger.config, &fixture->backend), 0);
	assert_int_equal(seen_config.struct_bytes, sizeof(seen_config));
	assert_ptr_equal(seen_config.log.context, fixture);
	fixture_close(fixture);
	larger.config.struct_bytes = offsetof(struct tcmu_ext_backend_config, log);
	larger.config.size_bytes = 512;
	assert_int_equal(tcmu_ext_backend_open(&stub, &larger.config, &fixture->backend), 0);
	assert_int_equal(seen_config.size_bytes, 512);
	assert_null(seen_config.log.write);
}

static void test_resize(void **state)
{
	struct fixture *fixture = *state;
	struct tcmu_ext_backend_operations growing = stub;

	/* Without an operation, what there is must do. */
	fixture_open(fixture, &stub, 1024);
	assert_int_equal(backend_resize(fixture->backend, 4711), 0);
	assert_int_equal(backend_resize(fixture->backend, 4712), -EOPNOTSUPP);
	growing.resize = stub_resize;
	fixture_open(fixture, &growing, 1024);
	assert_int_equal(backend_resize(fixture->backend, 8192), 0);
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->size_bytes, 8193);
	assert_int_equal(backend_resize(fixture->backend, 1000001), -ENOSPC);
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->size_bytes, 8193);
}

static void test_counters_of_other_sizes(void **state)
{
	struct fixture *fixture = *state;
	struct tcmu_ext_backend_operations counting = stub;
	uint64_t counters[8];

	memset(counters, 0xee, sizeof(counters));
	fixture_open(fixture, &stub, 1024);
	tcmu_ext_backend_get_counters(fixture->backend, (void *)counters, sizeof(counters));
	for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
		assert_int_equal(counters[i], 0);
	counting.get_counters = stub_get_counters;
	fixture_open(fixture, &counting, 1024);
	memset(counters, 0xee, sizeof(counters));
	tcmu_ext_backend_get_counters(fixture->backend, (void *)counters, sizeof(counters));
	for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
		assert_int_equal(counters[i], i < 5 ? i + 1 : 0);
	memset(counters, 0xee, sizeof(counters));
	tcmu_ext_backend_get_counters(fixture->backend, (void *)counters, 2 * sizeof(uint64_t));
	assert_int_equal(counters[1], 2);
	assert_int_equal(counters[2], UINT64_C(0xeeeeeeeeeeeeeeee));
}

/* -- configuration strings --------------------------------------------------------------------- */

static void parse(const struct tcmu_ext_backend_operations *operations, const char *text,
		  struct tcmu_ext_backend_config *config)
{
	char *reason = NULL;
	int error;

	memset(config, 0xee, sizeof(*config));
	error = tcmu_ext_backend_config_parse(operations, text, config, &reason);
	check(!error, "\"%s\": %s", text, reason);
	assert_null(reason);
	assert_int_equal(config->struct_bytes, sizeof(*config));
	assert_int_equal(config->size_bytes, 0);
	assert_null(config->log.write);
}

static void parse_fails(const struct tcmu_ext_backend_operations *operations, const char *text,
			const char *expected)
{
	struct tcmu_ext_backend_config config;
	char *reason = NULL;

	memset(&config, 0xee, sizeof(config));
	assert_int_equal(tcmu_ext_backend_config_parse(operations, text, &config, &reason),
			 -EINVAL);
	assert_non_null(reason);
	check(strstr(reason, expected), "\"%s\" is not in: %s", expected, reason);
	free(reason);
	assert_null(config.path);
	tcmu_ext_backend_config_clear(&config);
	assert_int_equal(tcmu_ext_backend_config_parse(operations, text, &config, NULL), -EINVAL);
}

static void test_options_of_files(void **state)
{
	static const char *const caches[] = { "writeback", "writethrough", "none" };
	static const char *const modes[] = { "inline", "auto", "async" };
	static const char *const creations[] = { "no", "sparse", "full" };
	struct tcmu_ext_backend_config config;
	char text[64];

	(void)state;
	parse(&tcmu_ext_backend_file, "/a%20b", &config);
	assert_string_equal(config.path, "/a b");
	assert_int_equal(config.cache, TCMU_EXT_CACHE_WRITEBACK);
	assert_int_equal(config.read_only, 0);
	assert_int_equal(config.lock, 1);
	assert_int_equal(config.create, TCMU_EXT_CREATE_NO);
	assert_int_equal(config.io, TCMU_EXT_IO_MODE_AUTO);
	tcmu_ext_backend_config_clear(&config);
	assert_null(config.path);
	tcmu_ext_backend_config_clear(&config);
	for (int i = 0; i < 9; i++) {
		strcpy(text, "/a;cache=");
		strcat(text, caches[i % 3]);
		strcat(text, ";create=");
		strcat(text, creations[i / 3]);
		parse(&tcmu_ext_backend_file, text, &config);
		assert_int_equal(config.cache, i % 3);
		assert_int_equal(config.create, i / 3);
		tcmu_ext_backend_config_clear(&config);
	}
	parse(&tcmu_ext_backend_file, "/a;ro;lock=no", &config);
	assert_int_equal(config.read_only, 1);
	assert_int_equal(config.lock, 0);
	tcmu_ext_backend_config_clear(&config);
	parse(&tcmu_ext_backend_file, "/a;lock;ro=no", &config);
	assert_int_equal(config.read_only, 0);
	assert_int_equal(config.lock, 1);
	tcmu_ext_backend_config_clear(&config);
	for (int i = 0; i < 3; i++) {
		strcpy(text, "/a;io=");
		strcat(text, modes[i]);
		parse(&tcmu_ext_backend_file, text, &config);
		assert_int_equal(config.io, i);
		tcmu_ext_backend_config_clear(&config);
	}
	parse_fails(&tcmu_ext_backend_file, "/a;io", "io=");
	parse_fails(&tcmu_ext_backend_file, "", "path");
	parse_fails(&tcmu_ext_backend_file, "a", "absolute");
	parse_fails(&tcmu_ext_backend_file, "/a;cache", "cache=none");
	parse_fails(&tcmu_ext_backend_file, "/a;create", "create=sparse");
	parse_fails(&tcmu_ext_backend_file, "/a;size=3", "cache, ro, lock, io, create");
}

static void test_options_of_devices(void **state)
{
	struct tcmu_ext_backend_config config;

	(void)state;
	parse(&tcmu_ext_backend_block, "/dev/sdx;cache=none;ro;lock=no", &config);
	assert_string_equal(config.path, "/dev/sdx");
	assert_int_equal(config.cache, TCMU_EXT_CACHE_NONE);
	assert_int_equal(config.read_only, 1);
	assert_int_equal(config.lock, 0);
	assert_int_equal(config.create, TCMU_EXT_CREATE_NO);
	tcmu_ext_backend_config_clear(&config);
	parse_fails(&tcmu_ext_backend_block, "/dev/sdx;create=full", "cache, ro, lock, io");
}

static void test_option_tables(void **state)
{
	const struct tcmu_ext_option *options;
	size_t count = 9;

	(void)state;
	options = tcmu_ext_backend_options(&tcmu_ext_backend_file, &count);
	assert_int_equal(count, 5);
	for (size_t i = 0; i < count; i++)
		assert_true(options[i].summary && strlen(options[i].summary) > 10);
	assert_non_null(tcmu_ext_backend_options(&tcmu_ext_backend_block, &count));
	assert_int_equal(count, 4);
	assert_null(tcmu_ext_backend_options(&tcmu_ext_backend_null, &count));
	assert_int_equal(count, 0);
	assert_null(tcmu_ext_backend_options(&stub, &count));
	assert_int_equal(count, 0);
}

/* -- null -------------------------------------------------------------------------------------- */

static void test_null_takes_any_path(void **state)
{
	static const char *const texts[] = { "", "/", "x", "/a b", "a:b,c" };
	struct tcmu_ext_backend_config config;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
		parse(&tcmu_ext_backend_null, texts[i], &config);
		assert_string_equal(config.path, texts[i]);
		tcmu_ext_backend_config_clear(&config);
	}
	parse_fails(&tcmu_ext_backend_null, "/a;cache=none",
		    "user:null has no backing and takes no options: leave \";cache=none\" out");
	parse_fails(&tcmu_ext_backend_null, "x;ro;\n", "leave \";ro;%0A\" out");
	assert_int_equal(
		tcmu_ext_backend_config_parse(&tcmu_ext_backend_null, "x;ro", &config, NULL),
		-EINVAL);
	shim_script(SHIM_ALLOCATE_MEMORY, -ENOMEM);
	assert_int_equal(tcmu_ext_backend_config_parse(&tcmu_ext_backend_null, "", &config, NULL),
			 -ENOMEM);
	assert_null(config.path);
}

static void test_null_warns_of_a_path(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.path = (char[]){ "/srv/a b" };
	fixture_open(fixture, &tcmu_ext_backend_null, 4096);
	assert_int_equal(fixture->warnings, 1);
	assert_non_null(strstr(fixture->message, "no backing: /srv/a%20b is not used"));
	fixture->config.path = (char[]){ "x" };
	fixture_open(fixture, &tcmu_ext_backend_null, 4096);
	fixture->config.path = NULL;
	fixture_open(fixture, &tcmu_ext_backend_null, 4096);
	assert_int_equal(fixture->messages, 1);
}

static void test_null_reads_zeroes_and_forgets_writes(void **state)
{
	static const size_t uneven[] = { 1, 4095, 511, 1, SPLIT_END };
	struct fixture *fixture = *state;
	struct iovec_split split;
	uint8_t memory[10000];
	size_t done;

	fixture->config.path = NULL;
	fixture_open(fixture, &tcmu_ext_backend_null, UINT64_C(1) << 60);
	iovec_split_make(&split, sizeof(memory), uneven);
	iovec_split_fill(&split, 0xee);
	shim_forget_records();
	assert_int_equal(fixture->backend->operations.read(fixture->backend->instance, split.iov,
							   split.iov_count, 12345, split.bytes, 0,
							   &done),
			 0);
	assert_int_equal(done, split.bytes);
	assert_int_equal(shim_count_all(), 0);
	iovec_split_rewind(&split);
	assert_true(tcmu_ext_iovec_is_zero(split.iov, split.iov_count, 0, split.bytes));
	iovec_split_free(&split);

	memset(memory, 0xee, sizeof(memory));
	assert_int_equal(
		backend_write(fixture, memory, 0, sizeof(memory), TCMU_EXT_IO_DURABLE, &done), 0);
	assert_int_equal(done, sizeof(memory));
	assert_int_equal(memory[0], 0xee);
	assert_int_equal(backend_flush(fixture), 0);
	assert_int_equal(backend_read(fixture, memory, 0, sizeof(memory), &done), 0);
	assert_int_equal(memory[0], 0);
}

static void test_null_does_everything_else(void **state)
{
	struct fixture *fixture = *state;
	const struct tcmu_ext_backend_operations *operations;
	const struct tcmu_ext_backend_properties *properties;
	enum tcmu_ext_allocation allocation;
	uint64_t run_bytes;

	fixture_open(fixture, &tcmu_ext_backend_null, 1 << 20);
	operations = &fixture->backend->operations;
	properties = tcmu_ext_backend_properties(fixture->backend);
	assert_int_equal(properties->size_bytes, 1 << 20);
	assert_int_equal(properties->logical_block_bytes, 1);
	assert_true(properties->discard_granularity_bytes);
	assert_true(properties->discard_reads_zero);
	assert_false(properties->read_only);
	assert_int_equal(backend_write_zeroes(fixture, 0, 4096, TCMU_EXT_IO_UNMAP), 0);
	assert_int_equal(backend_discard(fixture, 0, 4096), 0);
	assert_int_equal(operations->prefetch(fixture->backend->instance, 0, 4096), 0);
	assert_int_equal(operations->allocation(fixture->backend->instance, 0, 4096, &run_bytes,
						&allocation),
			 0);
	assert_int_equal(run_bytes, 4096);
	assert_int_equal(allocation, TCMU_EXT_DEALLOCATED);
	assert_int_equal(backend_resize(fixture->backend, 1 << 21), 0);
	assert_int_equal(properties->size_bytes, 1 << 21);
	assert_int_equal(backend_resize(fixture->backend, 1 << 20), -EINVAL);
	fixture_close(fixture);
	shim_script(SHIM_ALLOCATE_MEMORY, SHIM_PASS, -ENOMEM);
	assert_int_equal(
		tcmu_ext_backend_open(&tcmu_ext_backend_null, &fixture->config, &fixture->backend),
		-ENOMEM);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_open_and_close),
		TEST(test_open_that_fails),
		TEST(test_what_a_table_must_have),
		TEST(test_tables_of_other_sizes),
		TEST(test_configurations_of_other_sizes),
		TEST(test_resize),
		TEST(test_counters_of_other_sizes),
		TEST(test_options_of_files),
		TEST(test_options_of_devices),
		TEST(test_option_tables),
		TEST(test_null_takes_any_path),
		TEST(test_null_warns_of_a_path),
		TEST(test_null_reads_zeroes_and_forgets_writes),
		TEST(test_null_does_everything_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
