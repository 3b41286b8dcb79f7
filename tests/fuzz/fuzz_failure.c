/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* A property that does not hold ends the run the way a crash does: the fuzzer keeps the input. */
#include "test_failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void test_failure(const char *file, int line, const char *condition, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	abort();
}
