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

#include "test_failure.h"

/*
 * Runs an array of struct CMUnitTest, for main() to return: 77, by which CTest knows that something
 * was skipped, if need_direct_io() did and nothing failed. A test that failed leaves its memory
 * behind: LeakSanitizer is spared it, so that the failure stays readable.
 */
#define run_unit_tests(tests) end_unit_tests(cmocka_run_group_tests(tests, NULL, NULL))
int end_unit_tests(int failures);

/* Skips the test, and says so, where files in this directory are in memory: before Linux 6.6 these
 * have no O_DIRECT, and no transfer ever waits for them. */
void need_direct_io(const char *directory);

#endif
