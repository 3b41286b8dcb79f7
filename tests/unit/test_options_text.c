/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What the library writes about configuration strings: descriptions and escaped paths. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tcmu-ext/options.h>

/* Whether the tools between the administrator and the handler take a byte, and a terminal, too. */
static bool byte_survives_tools(unsigned char byte)
{
	return byte > ' ' && byte < 0x7f && !strchr(",:;%\"'`^{|}", byte);
}

static void expect_round_trip(const char *path)
{
	char *escaped = tcmu_ext_options_escape(path);
	char *parsed, *reason = NULL;

	assert_non_null(escaped);
	check(tcmu_ext_options_parse(escaped, NULL, 0, NULL, &parsed, &reason) == 0,
	      "the escaped path '%s' is refused: %s", escaped, reason);
	assert_string_equal(parsed, path);
	free(parsed);
	free(escaped);
}

static void test_every_byte_survives_escape_and_parse(void **state)
{
	char all[127 + 2] = "/";
	char one[] = "/?", middle[] = "/a?b";

	(void)state;
	for (int byte = 1; byte <= 255; byte++) {
		one[1] = middle[2] = (char)byte;
		expect_round_trip(one);
		expect_round_trip(middle);
	}
	/* Many at once, as far as the longest string allows. */
	for (int first = 1; first <= 255; first += 64) {
		for (int i = 0; i < 64; i++)
			all[1 + i] = (char)(first + i > 255 ? 255 : first + i);
		all[65] = 0;
		expect_round_trip(all);
	}
}

static void test_only_what_must_be_is_escaped(void **state)
{
	char path[] = "/?", expected[8];

	(void)state;
	for (int byte = 1; byte <= 255; byte++) {
		char *escaped;

		path[1] = (char)byte;
		escaped = tcmu_ext_options_escape(path);
		if (byte_survives_tools((unsigned char)byte))
			snprintf(expected, sizeof(expected), "/%c", byte);
		else
			snprintf(expected, sizeof(expected), "/%%%02X", (unsigned int)byte);
		check(!strcasecmp(escaped, expected), "byte %02x is written '%s'", byte, escaped);
		free(escaped);
	}
}

static void test_empty_path_stays_empty(void **state)
{
	char *escaped = tcmu_ext_options_escape("");

	(void)state;
	assert_string_equal(escaped, "");
	free(escaped);
}

static void test_long_path_is_escaped_whole(void **state)
{
	char path[4096];
	char *escaped;

	(void)state;
	memset(path, ' ', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	escaped = tcmu_ext_options_escape(path);
	assert_int_equal(strlen(escaped), 3 * (sizeof(path) - 1));
	free(escaped);
}

static void test_description_names_form_options_choices_and_defaults(void **state)
{
	static const char *const modes[] = { "alpha", "beta", "gamma", NULL };
	const struct tcmu_ext_option options[] = {
		{ .name = "mode",
		  .choices = modes,
		  .default_choice = 2,
		  .bare_choice = -1,
		  .summary = "How it goes." },
		{ .name = "eager",
		  .choices = tcmu_ext_option_switch,
		  .default_choice = 0,
		  .bare_choice = 1,
		  .summary = "Whether it waits." },
	};
	static const char *const wanted[] = { "file/<path>[;option]",
					      "mode",
					      "alpha",
					      "beta",
					      "gamma",
					      "eager",
					      "yes",
					      "no",
					      "How it goes.",
					      "Whether it waits." };
	char *text = tcmu_ext_options_describe("file/<path>[;option]", options, 2);
	char *other;
	struct tcmu_ext_option changed[2];

	(void)state;
	assert_non_null(text);
	assert_memory_equal(text, wanted[0], strlen(wanted[0]));
	for (size_t i = 0; i < ARRAY_COUNT(wanted); i++)
		check(strstr(text, wanted[i]), "'%s' is not in '%s'", wanted[i], text);
	assert_true(strstr(text, "mode") < strstr(text, "eager"));

	/* Another default is another text. */
	memcpy(changed, options, sizeof(changed));
	changed[0].default_choice = 0;
	other = tcmu_ext_options_describe("file/<path>[;option]", changed, 2);
	assert_string_not_equal(text, other);
	free(other);
	free(text);
}

static void test_description_without_options_is_the_form(void **state)
{
	char *text = tcmu_ext_options_describe("null/", NULL, 0);

	(void)state;
	assert_memory_equal(text, "null/", 5);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_byte_survives_escape_and_parse),
		cmocka_unit_test(test_only_what_must_be_is_escaped),
		cmocka_unit_test(test_empty_path_stays_empty),
		cmocka_unit_test(test_long_path_is_escaped_whole),
		cmocka_unit_test(test_description_names_form_options_choices_and_defaults),
		cmocka_unit_test(test_description_without_options_is_the_form),
	};

	return run_unit_tests(tests);
}
