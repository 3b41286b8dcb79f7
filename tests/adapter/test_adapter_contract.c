/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What a handler registers, and what it must leave unset. */
#include <string.h>

#include <tcmu-ext/backend.h>

#include "standin.h"

static const struct {
	const char *subtype;
	const struct tcmu_ext_backend_operations *operations;
} handlers[] = {
	{ "file", &tcmu_ext_backend_file },
	{ "block", &tcmu_ext_backend_block },
	{ "null", &tcmu_ext_backend_null },
};

enum { HANDLERS = sizeof(handlers) / sizeof(handlers[0]) };

static void names_itself(void **state)
{
	(void)state;
	for (size_t i = 0; i < HANDLERS; i++) {
		const struct tcmur_handler *handler = standin_load(handlers[i].subtype);

		assert_string_equal(handler->subtype, handlers[i].subtype);
		assert_non_null(handler->name);
	}
}

/* The text that targetcli's `help create` shows. */
static void describes_each_option(void **state)
{
	(void)state;
	for (size_t i = 0; i < HANDLERS; i++) {
		const struct tcmur_handler *handler = standin_load(handlers[i].subtype);
		const struct tcmu_ext_option *options;
		size_t count;

		options = tcmu_ext_backend_options(handlers[i].operations, &count);
		for (size_t j = 0; j < count; j++) {
			assert_non_null(strstr(handler->cfg_desc, options[j].name));
			assert_non_null(strstr(handler->cfg_desc, options[j].summary));
		}
		assert_non_null(strstr(handler->cfg_desc, "tcmu-ext-"));
	}
}

/*
 * handle_cmd together with read, write and flush: without the latter the runner takes the handler
 * for one that does everything itself, and never reports a changed capacity. unmap must be absent:
 * with it the runner's own WRITE SAME divides by the unmap alignment.
 */
static void sets_the_right_callouts(void **state)
{
	(void)state;
	for (size_t i = 0; i < HANDLERS; i++) {
		const struct tcmur_handler *handler = standin_load(handlers[i].subtype);

		assert_non_null(handler->check_config);
		assert_non_null(handler->reconfig);
		assert_non_null(handler->open);
		assert_non_null(handler->close);
		assert_non_null(handler->handle_cmd);
		assert_non_null(handler->read);
		assert_non_null(handler->write);
		assert_non_null(handler->flush);
		assert_int_equal(handler->nr_threads, 0);
		assert_null(handler->unmap);
		assert_null(handler->writesame);
		assert_null(handler->caw);
		assert_null(handler->report_event);
		assert_null(handler->lock);
		assert_null(handler->unlock);
		assert_null(handler->get_lock_tag);
		assert_null(handler->get_lock_state);
		assert_null(handler->update_logdir);
		assert_null(handler->init);
		assert_null(handler->destroy);
		assert_false(handler->_is_dbus_handler);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_itself),
		cmocka_unit_test(describes_each_option),
		cmocka_unit_test(sets_the_right_callouts),
	};

	return standin_end(cmocka_run_group_tests(tests, NULL, NULL));
}
