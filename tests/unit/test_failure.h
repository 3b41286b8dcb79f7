/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Failing with a text of one's own: for checks in loops and in what unit tests and fuzz targets
 * share, where the line alone does not say which case it was.
 */
#ifndef TEST_FAILURE_H
#define TEST_FAILURE_H

/* Ends the test, or the fuzz target's run. */
_Noreturn void test_failure(const char *file, int line, const char *condition, const char *format,
			    ...) __attribute__((format(printf, 4, 5)));

#define check(condition, ...)                                                      \
	do {                                                                       \
		if (!(condition))                                                  \
			test_failure(__FILE__, __LINE__, #condition, __VA_ARGS__); \
	} while (0)

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
