/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* A handler that the runner cannot use does not get as far as being registered. */
#include <errno.h>
#include <string.h>

#include "standin.h"

/* The program is given the directory in which the plugins to be refused lie. */
static const char *directory;

static void refuses_a_subtype_that_dbus_cannot_name(void **state)
{
	static const char *const plugins[] = { "with-hyphen", "empty", "not_ascii" };

	(void)state;
	for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++) {
		standin_log_clear();
		assert_int_equal(standin_load_refused(directory, plugins[i]), -EINVAL);
		assert_non_null(strstr(standin_log(), "letters, digits and underscores"));
	}
}

static void refuses_a_backend_that_lacks_an_operation(void **state)
{
	(void)state;
	standin_log_clear();
	assert_int_equal(standin_load_refused(directory, "incomplete"), -EINVAL);
	assert_non_null(strstr(standin_log(), "lacks one of name, open,"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_a_subtype_that_dbus_cannot_name),
		cmocka_unit_test(refuses_a_backend_that_lacks_an_operation),
	};

	if (argc != 2)
		return 1;
	directory = argv[1];
	return standin_end(cmocka_run_group_tests(tests, NULL, NULL));
}
