/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Parsing of configuration strings. */
#include "cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tcmu-ext/options.h>

static const char *const colours[] = { "red", "green", "blue-ish", NULL };

struct values {
	int guard;
	int colour;
	int fast;
	int size;
	int guard_behind;
};

static const char *const sizes[] = { "small", "large", NULL };

static const struct tcmu_ext_option options[] = {
	{ .name = "colour",
	  .choices = colours,
	  .default_choice = 1,
	  .bare_choice = -1,
	  .value_offset = offsetof(struct values, colour),
	  .summary = "What it looks like." },
	{ .name = "fast",
	  .choices = tcmu_ext_option_switch,
	  .default_choice = 0,
	  .bare_choice = 1,
	  .value_offset = offsetof(struct values, fast),
	  .summary = "Whether it hurries." },
	{ .name = "size",
	  .choices = sizes,
	  .default_choice = 1,
	  .bare_choice = 0,
	  .value_offset = offsetof(struct values, size),
	  .summary = "How much of it there is." },
};

enum { GUARD = 0x5a5a5a5a, UNSET = 77 };

static const struct values untouched = { GUARD, UNSET, UNSET, UNSET, GUARD };

static int parse(const char *config, struct values *values, char **path, char **reason)
{
	/* A copy of its exact size: reading beyond the end is seen by AddressSanitizer. */
	char *copy = strdup(config);
	int result;

	*values = untouched;
	*path = (char *)(uintptr_t)0xdead;
	*reason = NULL;
	result = tcmu_ext_options_parse(copy, options, ARRAY_COUNT(options), values, path, reason);
	assert_string_equal(copy, config);
	free(copy);
	assert_int_equal(values->guard, GUARD);
	assert_int_equal(values->guard_behind, GUARD);
	return result;
}

static void expect_accepted(const char *config, const char *expected_path, struct values expected)
{
	struct values values;
	char *path, *reason;
	int result = parse(config, &values, &path, &reason);

	check(result == 0, "'%s' gave %d: %s", config, result, reason);
	check(path && !strcmp(path, expected_path), "'%s' gave the path '%s'", config, path);
	check(!reason, "'%s' was accepted and gave the reason '%s'", config, reason);
	check(values.colour == expected.colour && values.fast == expected.fast &&
		      values.size == expected.size,
	      "'%s' gave colour %d, fast %d, size %d", config, values.colour, values.fast,
	      values.size);
	free(path);
}

/*
 * Expects a refusal whose reason holds `advice`, what to write instead. The reason must also be one
 * line of printable ASCII, since it goes to terminals and through D-Bus, which takes only UTF-8.
 */
static void expect_refused_with(const char *config, int error, const char *advice)
{
	struct values values;
	char *path, *reason;
	int result = parse(config, &values, &path, &reason);

	check(result == error, "'%s' gave %d", config, result);
	check(!path, "'%s' was refused but left a path", config);
	check(reason && strlen(reason) > 20, "'%s' gave no proper reason: '%s'", config, reason);
	check(strstr(reason, advice), "'%s': '%s' is not in the reason '%s'", config, advice,
	      reason);
	for (const char *byte = reason; *byte; byte++)
		check(*byte >= ' ' && *byte < 0x7f, "'%s': the reason has the byte %02x", config,
		      (unsigned char)*byte);
	free(reason);

	result =
		tcmu_ext_options_parse(config, options, ARRAY_COUNT(options), &values, &path, NULL);
	check(result == error, "'%s' gave %d when no reason was wanted", config, result);
	check(!path, "'%s' was refused but left a path", config);
}

static void expect_refused(const char *config, const char *advice)
{
	expect_refused_with(config, -EINVAL, advice);
}

static void test_path_alone_gives_defaults(void **state)
{
	const struct values defaults = { .colour = 1, .fast = 0, .size = 1 };

	(void)state;
	expect_accepted("/srv/disk.img", "/srv/disk.img", defaults);
	expect_accepted("/a", "/a", defaults);
	expect_accepted("/dev/disk/by-id/wwn-0x5000=1~_+@!", "/dev/disk/by-id/wwn-0x5000=1~_+@!",
			defaults);
}

static void test_options_are_set_in_any_order(void **state)
{
	(void)state;
	expect_accepted("/d;colour=red", "/d",
			(struct values){ .colour = 0, .fast = 0, .size = 1 });
	expect_accepted("/d;colour=blue-ish;fast=yes;size=small", "/d",
			(struct values){ .colour = 2, .fast = 1, .size = 0 });
	expect_accepted("/d;size=large;fast=no;colour=green", "/d",
			(struct values){ .colour = 1, .fast = 0, .size = 1 });
}

static void test_option_without_a_value_takes_its_bare_choice(void **state)
{
	(void)state;
	expect_accepted("/d;fast", "/d", (struct values){ .colour = 1, .fast = 1, .size = 1 });
	expect_accepted("/d;size;fast", "/d", (struct values){ .colour = 1, .fast = 1, .size = 0 });
	/* `colour` has none, so the administrator is told the choices. */
	expect_refused("/d;colour", "red");
	expect_refused("/d;colour", "write colour=red, colour=green or colour=blue-ish");
	expect_refused("/d;fast=", "write fast=no or fast=yes");
}

static void test_switch_has_no_and_yes(void **state)
{
	(void)state;
	assert_string_equal(tcmu_ext_option_switch[0], "no");
	assert_string_equal(tcmu_ext_option_switch[1], "yes");
	assert_null(tcmu_ext_option_switch[2]);
}

static void test_escapes_work_in_path_and_values(void **state)
{
	const struct values defaults = { .colour = 1, .fast = 0, .size = 1 };

	(void)state;
	expect_accepted("/a%2cb%3Ac%3bd%25e%20f%0ag", "/a,b:c;d%e f\ng", defaults);
	expect_accepted("/%c3%A4", "/\xc3\xa4", defaults);
	expect_accepted("/a%2f%2e", "/a/.", defaults);
	/* What an escape gives is taken literally. */
	expect_accepted("/a%2541", "/a%41", defaults);
	expect_accepted("/a%3bfast", "/a;fast", defaults);
	expect_accepted("/d;colour=%72%65d", "/d", (struct values){ .colour = 0, .size = 1 });
}

static void test_bytes_above_ascii_are_taken_as_they_are(void **state)
{
	const struct values defaults = { .colour = 1, .fast = 0, .size = 1 };
	char config[] = "/x?";

	(void)state;
	for (int byte = 0x80; byte <= 0xff; byte++) {
		config[2] = (char)byte;
		expect_accepted(config, config, defaults);
	}
}

static void test_path_must_be_absolute(void **state)
{
	(void)state;
	expect_refused("", "/");
	expect_refused("disk.img", "/");
	expect_refused("./disk.img", "/");
	expect_refused("~/disk.img", "/");
	expect_refused(";fast", "/");
	expect_refused("fast=yes;/d", "/");
}

static void test_unknown_key_is_refused(void **state)
{
	(void)state;
	expect_refused("/d;colr=red", "colour");
	expect_refused("/d;colr=red", "there is no option \"colr\"; options are colour, fast, size "
				      "(did you mean colour?)");
	expect_refused("/d;colou=red", "colour");
	expect_refused("/d;colours=red", "colour");
	expect_refused("/d;Colour=red", "colour");
	expect_refused("/d;slow", "fast");
	expect_refused("/d;=red", "colour");
	/* An escape in a key is no way to write a key. */
	expect_refused("/d;%3d=red", "colour");
}

static void expect_no_guess(const char *config)
{
	struct values values;
	char *path, *reason;

	assert_int_equal(parse(config, &values, &path, &reason), -EINVAL);
	check(!strstr(reason, "did you mean"), "'%s': %s", config, reason);
	free(reason);
}

static void test_the_nearest_key_is_suggested(void **state)
{
	(void)state;
	expect_refused("/d;colours=red", "did you mean colour?");
	expect_refused("/d;clor=red", "did you mean colour?");
	expect_refused("/d;COLOUR=red", "did you mean colour?");
	expect_refused("/d;fst", "did you mean fast?");
	expect_refused("/d;sizes", "did you mean size?");
	expect_no_guess("/d;");
	expect_no_guess("/d;=red");
	expect_no_guess("/d;clr");   /* three letters off */
	expect_no_guess("/d;last1"); /* half of it differs */
	expect_no_guess("/d;slow");
	/* Longer than anything that is compared. */
	expect_no_guess("/d;colourcolourcolourcolourcolourcolourcolourcolour");
}

static void test_what_is_quoted_is_bounded(void **state)
{
	char forty[] = "0123456789012345678901234567890123456789";
	char config[100], quoted[100];

	(void)state;
	snprintf(config, sizeof(config), "/d;%s", forty);
	snprintf(quoted, sizeof(quoted), "\"%s\"", forty);
	expect_refused(config, quoted);
	strcat(config, "x=1");
	snprintf(quoted, sizeof(quoted), "\"%s...\"", forty);
	expect_refused(config, quoted);
	snprintf(config, sizeof(config), "/d;size=%s1", forty);
	expect_refused(config, quoted);
	expect_refused(config, "write size=small or size=large");
}

static void test_repeated_key_is_refused(void **state)
{
	(void)state;
	expect_refused("/d;fast;fast", "fast");
	expect_refused("/d;fast=yes;colour=red;fast=yes", "fast");
	expect_refused("/d;colour=red;colour=green", "colour");
	/* Also when the first one set what is the default anyway. */
	expect_refused("/d;colour=green;colour=green", "colour");
}

static void test_bad_value_is_refused_with_the_choices(void **state)
{
	static const char *const bad[] = { "/d;colour=",
					   "/d;colour=re",
					   "/d;colour=redd",
					   "/d;colour=Red",
					   "/d;colour==red",
					   "/d;colour=red=",
					   "/d;colour=0",
					   "/d;colour=blue",
					   "/d;colour=red%20",
					   "/d;colour=r%c3d",
					   NULL };

	(void)state;
	for (const char *const *config = bad; *config; config++) {
		expect_refused(*config, "red");
		expect_refused(*config, "green");
		expect_refused(*config, "blue-ish");
	}
	expect_refused("/d;colour=redd",
		       "option colour does not take \"redd\": write colour=red, ");
	expect_refused("/d;colour=%72%65dd", "\"%72%65dd\"");
	expect_refused("/d;colour=r\xc3\xb6t", "\"r%C3%B6t\"");
	expect_refused("/d;colour=r\033t",
		       "option colour does not take \"r%1Bt\": write colour=red");
	expect_refused("/d;colour=%zz", "option colour does not take \"%zz\": write colour=red");
	expect_refused("/d;colour=", "option colour has no value: write colour=red");
	expect_refused("/d;fast=maybe", "yes");
	expect_refused("/d;fast=1", "no");
	expect_refused("/d;fast=", "yes");
}

static void test_empty_option_is_refused(void **state)
{
	(void)state;
	expect_refused("/d;", "semicolon");
	expect_refused("/d;;", "semicolon");
	expect_refused("/d;;fast", "semicolon");
	expect_refused("/d;fast;", "semicolon");
	expect_refused("/d;fast;;colour=red", "semicolon");
}

static void test_damaged_escape_is_refused(void **state)
{
	static const char *const bad[] = { "/a%",          "/a%4",          "/a%g1",
					   "/a%1g",        "/a%%41",        "/a% 1",
					   "/a%-1",        "/a%+1",         "/a%0x41",
					   "/a%;fast",     "/a%4;fast",     "/d;colour=red%",
					   "/d;colour=%7", "/d;colour=%zz", NULL };

	(void)state;
	for (const char *const *config = bad; *config; config++) {
		expect_refused(*config, "two hexadecimal digits");
		expect_refused(*config, "%25");
	}
}

static void test_zero_byte_is_refused(void **state)
{
	(void)state;
	expect_refused("/a%00", "%00");
	expect_refused("/a%00b", "%00");
	expect_refused("/d;colour=red%00", "%00");
}

/* Puts `byte` where `config` has a question mark, and expects the advice to write its escape. */
static void expect_byte_refused(const char *config, char byte, const char *escape)
{
	char *text = strdup(config);

	*strchr(text, '?') = byte;
	expect_refused(text, escape);
	free(text);
}

static void test_byte_that_tools_damage_is_refused_with_its_escape(void **state)
{
	(void)state;
	for (int byte = 1; byte < 0x80; byte++) {
		char escape[8];

		if (byte > ' ' && byte != 0x7f && byte != ',' && byte != ':')
			continue;
		snprintf(escape, sizeof(escape), "%%%02X", (unsigned int)byte);
		expect_byte_refused("/a?b", (char)byte, escape);
		expect_byte_refused("/a?", (char)byte, escape);
		expect_byte_refused("/d;colour=?red", (char)byte, escape);
		expect_byte_refused("/d;colour=red?", (char)byte, escape);
		expect_byte_refused("/d;colour=red?;fast", (char)byte, escape);
	}
}

/* Whatever an unknown key is made of, the administrator is told the known ones. */
static void test_odd_bytes_in_a_key_are_refused(void **state)
{
	(void)state;
	for (int byte = 1; byte <= 0xff; byte++)
		if (byte != ';' && byte != '=')
			expect_byte_refused("/d;fa?st", (char)byte, "fast");
	expect_refused("/d;f\xc3\xbcr=1", "colour");
}

static void fill_path(char *config, size_t length)
{
	memset(config, 'x', length);
	config[0] = '/';
	config[length] = 0;
}

static void test_string_that_may_have_been_cut_is_refused(void **state)
{
	static const size_t long_bytes[] = { 255, 256, 300, 5000 };
	char config[5001];

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(long_bytes); i++) {
		fill_path(config, long_bytes[i]);
		expect_refused_with(config, -ENAMETOOLONG, "254");
	}
	/* What is wrong with a string that was cut may be the cut: the length is the cause. */
	memset(config, ';', 300);
	expect_refused_with(config, -ENAMETOOLONG, "254");
}

static void test_string_of_just_the_longest_length_is_taken(void **state)
{
	char config[TCMU_EXT_CONFIG_STRING_MAXIMUM_BYTES + 1];
	const size_t subtype_bytes = strlen("file/");
	const size_t bytes = sizeof(config) - 1 - subtype_bytes;

	(void)state;
	assert_int_equal(TCMU_EXT_CONFIG_STRING_MAXIMUM_BYTES, 254);
	fill_path(config, bytes);
	expect_accepted(config, config, (struct values){ .colour = 1, .size = 1 });
	memcpy(config + bytes - 5, ";fast", 5);
	config[bytes - 5] = 0;
	char *path = strdup(config);
	config[bytes - 5] = ';';
	expect_accepted(config, path, (struct values){ .colour = 1, .fast = 1, .size = 1 });
	free(path);
}

static void test_no_options_at_all(void **state)
{
	char *path, *reason = NULL;

	(void)state;
	assert_int_equal(tcmu_ext_options_parse("/d", NULL, 0, NULL, &path, &reason), 0);
	assert_string_equal(path, "/d");
	free(path);
	assert_int_equal(tcmu_ext_options_parse("/d;x", NULL, 0, NULL, &path, &reason), -EINVAL);
	assert_non_null(reason);
	free(reason);
}

static void test_more_options_than_a_parse_can_track_are_refused(void **state)
{
	struct tcmu_ext_option many[65];
	struct values values = { 0 };
	char *path = (char *)state;
	char *reason = (char *)state;

	for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++)
		many[i] = options[0];
	assert_int_equal(tcmu_ext_options_parse("/d", many, 65, &values, &path, &reason), -EINVAL);
	assert_null(path);
	assert_null(reason);
	assert_int_equal(tcmu_ext_options_parse("/d", many, 64, &values, &path, NULL), 0);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_alone_gives_defaults),
		cmocka_unit_test(test_options_are_set_in_any_order),
		cmocka_unit_test(test_option_without_a_value_takes_its_bare_choice),
		cmocka_unit_test(test_switch_has_no_and_yes),
		cmocka_unit_test(test_escapes_work_in_path_and_values),
		cmocka_unit_test(test_bytes_above_ascii_are_taken_as_they_are),
		cmocka_unit_test(test_path_must_be_absolute),
		cmocka_unit_test(test_unknown_key_is_refused),
		cmocka_unit_test(test_the_nearest_key_is_suggested),
		cmocka_unit_test(test_what_is_quoted_is_bounded),
		cmocka_unit_test(test_repeated_key_is_refused),
		cmocka_unit_test(test_bad_value_is_refused_with_the_choices),
		cmocka_unit_test(test_empty_option_is_refused),
		cmocka_unit_test(test_damaged_escape_is_refused),
		cmocka_unit_test(test_zero_byte_is_refused),
		cmocka_unit_test(test_byte_that_tools_damage_is_refused_with_its_escape),
		cmocka_unit_test(test_odd_bytes_in_a_key_are_refused),
		cmocka_unit_test(test_string_that_may_have_been_cut_is_refused),
		cmocka_unit_test(test_string_of_just_the_longest_length_is_taken),
		cmocka_unit_test(test_no_options_at_all),
		cmocka_unit_test(test_more_options_than_a_parse_can_track_are_refused),
	};

	return run_unit_tests(tests);
}
