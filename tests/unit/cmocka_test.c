/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

enum { EXIT_SKIPPED = 77 };

static bool skipped;

void test_failure(const char *file, int line, const char *condition, const char *format, ...)
{
	va_list arguments;

	print_error("%s:%d: not so: %s\n", file, line, condition);
	va_start(arguments, format);
	vprint_error(format, arguments);
	va_end(arguments);
	print_error("\n");
	_fail(file, line);
	abort(); /* _fail() jumps out of the test; compilers are not told */
}

void need_direct_io(const char *directory)
{
	struct statfs file_system;

	assert_int_equal(statfs(directory, &file_system), 0);
	if (file_system.f_type != TMPFS_MAGIC)
		return;
	print_message("SKIP: files in %s are in memory, which has no direct I/O to test\n",
		      directory);
	skipped = true;
	skip();
}

int end_unit_tests(int failures)
{
	if (!failures)
		return skipped ? EXIT_SKIPPED : 0;
	fflush(NULL);
	_exit(EXIT_FAILURE);
}
