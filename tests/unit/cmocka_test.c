/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

int end_unit_tests(int failures)
{
	if (!failures)
		return 0;
	fflush(NULL);
	_exit(EXIT_FAILURE);
}
