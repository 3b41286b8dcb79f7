/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The manual pages name the options that there are, with their choices and defaults. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tcmu-ext/backend.h>

#include "cmocka_test.h"

static char *read_page(const char *name)
{
	char path[4096];
	char *text = NULL;
	size_t bytes = 0;
	FILE *page;

	snprintf(path, sizeof(path), "%s/tcmu-ext-%s.5.scd", MANUAL_DIRECTORY, name);
	page = fopen(path, "r");
	check(page, "%s cannot be read", path);
	assert_true(getdelim(&text, &bytes, '\0', page) > 0);
	fclose(page);
	return text;
}

/* The line above an option's description: *name=*_choice_|_choice_ */
static char *heading_of(const struct tcmu_ext_option *option)
{
	char *text = NULL;
	size_t bytes;
	FILE *stream = open_memstream(&text, &bytes);

	assert_non_null(stream);
	fprintf(stream, "\n*%s=*", option->name);
	for (size_t i = 0; option->choices[i]; i++)
		fprintf(stream, "%s_%s_", i ? "|" : "", option->choices[i]);
	fprintf(stream, "\n\t");
	fclose(stream);
	return text;
}

static void check_option(const char *page, const struct tcmu_ext_option *option)
{
	char *heading = heading_of(option);
	const char *at = strstr(page, heading);
	char default_choice[64];
	const char *end;

	check(at, "there is no paragraph that begins with:%s", heading);
	snprintf(default_choice, sizeof(default_choice), "Default: _%s_.",
		 option->choices[option->default_choice]);
	end = strstr(at, "\n\n");
	at = strstr(at, default_choice);
	check(at && at < end, "%s is not described with %s", option->name, default_choice);
	free(heading);
}

/* How many lines look like the one above an option's description. */
static size_t count_headings(char *page)
{
	size_t count = 0;
	char *rest = NULL;

	for (char *line = strtok_r(page, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		count += *line == '*' && strstr(line, "=*_") && *rest == '\t';
	return count;
}

static void check_page(const char *name, const struct tcmu_ext_backend_operations *operations)
{
	const struct tcmu_ext_option *options;
	char *page = read_page(name);
	size_t count;

	options = tcmu_ext_backend_options(operations, &count);
	for (size_t i = 0; i < count; i++)
		check_option(page, &options[i]);
	assert_int_equal(count_headings(page), count);
	free(page);
}

static void file_page(void **state)
{
	(void)state;
	check_page("file", &tcmu_ext_backend_file);
}

static void block_page(void **state)
{
	(void)state;
	check_page("block", &tcmu_ext_backend_block);
}

static void null_page(void **state)
{
	(void)state;
	check_page("null", &tcmu_ext_backend_null);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_page),
		cmocka_unit_test(block_page),
		cmocka_unit_test(null_page),
	};

	return run_unit_tests(tests);
}
