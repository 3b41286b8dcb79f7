/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* cmocka with the headers it wants before it, and what its assertions lack. */
#ifndef CMOCKA_TEST_H
#define CMOCKA_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Fails with a text of one's own: for checks in a loop, where the line alone does not say which. */
#define check(condition, ...)                            \
	do {                                             \
		if (!(condition)) {                      \
			print_error("%s: ", #condition); \
			fail_msg(__VA_ARGS__);           \
		}                                        \
	} while (0)

#endif
