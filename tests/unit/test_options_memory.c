/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Configuration strings while memory runs out: each allocation fails once, nothing leaks. */
#include "cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tcmu-ext/options.h>

/* Counts down to the allocation that fails; negative: none does. */
static int allocations_until_failure = -1;

static bool allocation_fails(void)
{
	if (allocations_until_failure < 0)
		return false;
	if (allocations_until_failure-- > 0)
		return false;
	errno = ENOMEM;
	return true;
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
	return allocation_fails() ? NULL : __real_malloc(bytes);
}

FILE *__real_open_memstream(char **text, size_t *bytes);
FILE *__wrap_open_memstream(char **text, size_t *bytes);
FILE *__wrap_open_memstream(char **text, size_t *bytes)
{
	return allocation_fails() ? NULL : __real_open_memstream(text, bytes);
}

char *__wrap_format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *__wrap_format_text(const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	if (allocation_fails())
		return NULL;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	return text;
}

static const char *const modes[] = { "alpha", "beta", NULL };

static const struct tcmu_ext_option options[] = {
	{ .name = "mode", .choices = modes, .bare_choice = -1, .summary = "How it goes." },
};

/* Parses with the allocation numbered `failing` failing. Returns whether it was reached. */
static bool parse_with_failure(const char *config, int failing, int error_otherwise)
{
	char *path = (char *)(uintptr_t)0xdead;
	char *reason = (char *)(uintptr_t)0xdead;
	int mode, result;
	bool reached;

	allocations_until_failure = failing;
	result = tcmu_ext_options_parse(config, options, 1, &mode, &path, &reason);
	reached = allocations_until_failure < 0;
	allocations_until_failure = -1;
	if (reached) {
		check(result == -ENOMEM || (error_otherwise && result == error_otherwise),
		      "'%s', allocation %d: %d", config, failing, result);
		assert_null(path);
		assert_null(reason);
		return true;
	}
	assert_int_equal(result, error_otherwise);
	assert_int_equal(path != NULL, result == 0);
	assert_int_equal(reason != NULL, result != 0);
	free(path);
	free(reason);
	return false;
}

static void expect_each_failure_survived(const char *config, int error_otherwise)
{
	int failing = 0;

	while (parse_with_failure(config, failing, error_otherwise))
		failing++;
	check(failing > 0, "'%s' allocates nothing: the test proves nothing", config);
}

static void test_parse(void **state)
{
	char too_long[301] = "/";

	(void)state;
	memset(too_long + 1, 'x', 299);
	expect_each_failure_survived("/disk", 0);
	expect_each_failure_survived("/disk;mode=beta", 0);
	expect_each_failure_survived("/disk;mode", -EINVAL);
	expect_each_failure_survived("/disk;mode=gamma", -EINVAL);
	expect_each_failure_survived("/disk;mode=%zz", -EINVAL);
	expect_each_failure_survived("/disk;mode=alpha;mode=alpha", -EINVAL);
	expect_each_failure_survived("/disk;other", -EINVAL);
	expect_each_failure_survived("/disk;", -EINVAL);
	expect_each_failure_survived("/disk%00", -EINVAL);
	expect_each_failure_survived("/dis,k", -EINVAL);
	expect_each_failure_survived("disk", -EINVAL);
	expect_each_failure_survived("", -EINVAL);
	expect_each_failure_survived(too_long, -ENAMETOOLONG);
}

static void test_escape_and_describe(void **state)
{
	(void)state;
	allocations_until_failure = 0;
	assert_null(tcmu_ext_options_escape("/a b"));
	allocations_until_failure = 0;
	assert_null(tcmu_ext_options_describe("form", options, 1));
	allocations_until_failure = -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_escape_and_describe),
	};

	return run_unit_tests(tests);
}
