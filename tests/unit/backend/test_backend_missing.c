/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* How messages write a path, and what they say of one that leads to nothing. */
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LUN_BYTES = 64 * 1024 };

static int setup(void **state)
{
	return fixture_setup_lun(state, LUN_BYTES);
}

static void test_odd_bytes_stay_out_of_messages(void **state)
{
	struct fixture *fixture = *state;
	char path[] = "/a\nb\033c\x7f\xffz'; d/e";
	char *reason = NULL;

	fixture->config.path = path;
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -ENOENT,
			   "/a%0Ab%1Bc%7F%FFz%27%3B%20d/e");
	assert_int_equal(fixture_check_config(fixture, &reason), -ENOENT);
	assert_non_null(strstr(reason, "/a%0Ab%1Bc%7F%FFz%27%3B%20d/e"));
	for (const char *byte = reason; *byte; byte++)
		assert_in_range((unsigned char)*byte, ' ', '~');
	free(reason);
}

/* A shell reads the word that follows the command in a message as what is expected. */
static void check_command(const char *message, const char *command, const char *expected)
{
	const char *word = strstr(message, command);
	char script[2048], read_word[512] = "";
	FILE *shell;

	check(word, "\"%s\" is not in: %s", command, message);
	word += strlen(command);
	snprintf(script, sizeof(script), "printf %%s %.*s", (int)strcspn(word, ")\""), word);
	assert_int_equal(setenv("SCRIPT", script, 1), 0);
	shell = popen("exec bash -c \"$SCRIPT\"", "r");
	assert_non_null(shell);
	read_word[fread(read_word, 1, sizeof(read_word) - 1, shell)] = '\0';
	assert_int_equal(pclose(shell), 0);
	check(!strcmp(read_word, expected), "a shell reads \"%s\" of: %s", read_word, message);
}

static const char *const awkward_names[] = {
	"a b",     "it's",          "a;reboot",  "$HOME`id`",          "a\\b",
	"x'\n\tb", "\xc3\xa4\x1b'", "\\'\x7f*?", "!!#&|<>{}[]~^%2C%=", "-",
};

static void test_commands_in_messages_can_be_pasted(void **state)
{
	struct fixture *fixture = *state;
	char directory[sizeof(fixture->path)];
	char path[2 * sizeof(fixture->path)];
	struct tcmu_ext_backend *second;
	char *reason = NULL;

	for (size_t i = 0; i < ARRAY_COUNT(awkward_names); i++) {
		snprintf(directory, sizeof(directory), "%s/%s", fixture->directory,
			 awkward_names[i]);
		snprintf(path, sizeof(path), "%s/%s", directory, awkward_names[i]);
		fixture->config.path = path;
		assert_int_equal(fixture_check_config(fixture, &reason), -ENOENT);
		check_command(reason, "mkdir -p ", directory);
		assert_int_equal(mkdir(directory, 0700), 0);
		assert_int_equal(fixture_check_config(fixture, &reason), -ENOENT);
		check_command(reason, "truncate -s 65536 ", path);
		fixture_make_file(path, 1);
		fixture_open_fails(fixture, &tcmu_ext_backend_file, -EINVAL, "smaller LUN");
		check_command(fixture->message, "truncate -s 65536 ", path);
		fixture_make_file(path, LUN_BYTES);
		fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
		assert_int_equal(
			tcmu_ext_backend_open(&tcmu_ext_backend_file, &fixture->config, &second),
			-EBUSY);
		check_command(fixture->message, "lsof ", path);
		fixture_close(fixture);
	}
	free(reason);
}

/* What messages call a path can be written in a configuration string. */
static void test_names_in_messages_are_configuration_strings(void **state)
{
	struct fixture *fixture = *state;
	struct tcmu_ext_backend_config config;
	char path[sizeof(fixture->path)];

	for (size_t i = 0; i < ARRAY_COUNT(awkward_names); i++) {
		char *reason = NULL;

		snprintf(path, sizeof(path), "/no-such-file-%s", awkward_names[i]);
		fixture->config.path = path;
		assert_int_equal(fixture_check_config(fixture, &reason), -ENOENT);
		*strchr(reason, ':') = '\0';
		assert_int_equal(tcmu_ext_backend_config_parse(&tcmu_ext_backend_file,
							       strchr(reason, '/'), &config, NULL),
				 0);
		assert_string_equal(config.path, path);
		tcmu_ext_backend_config_clear(&config);
		free(reason);
	}
}

/* The check and the opening say the same, and neither makes anything. */
static void check_missing(struct fixture *fixture, const char *path, int error, const char *text)
{
	char *reason = NULL;
	char copy[PATH_MAX + 64];

	strcpy(copy, path);
	fixture->config.path = copy;
	assert_int_equal(fixture_check_config(fixture, &reason), error);
	check(strstr(reason, text), "\"%s\" is not in: %s", text, reason);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, error, text);
	assert_string_equal(fixture->message, reason);
	free(reason);
	assert_int_equal(shim_count(SHIM_OPENAT), 0);
}

static void test_a_slash_at_the_end(void **state)
{
	struct fixture *fixture = *state;
	char path[sizeof(fixture->path) + 8];

	snprintf(path, sizeof(path), "%s/", fixture->path);
	for (int create = 0; create <= TCMU_EXT_CREATE_FULL; create++) {
		fixture->config.create = create;
		check_missing(fixture, path, -EINVAL, "disk/ ends with a slash");
		check_missing(fixture, path, -EINVAL, "leave the slash out");
		fixture_make_file(fixture->path, LUN_BYTES);
		check_missing(fixture, path, -EINVAL, "leave the slash out");
		unlink(fixture->path);
		assert_int_equal(mkdir(fixture->path, 0700), 0);
		check_missing(fixture, path, -EINVAL, "is a directory: give the path");
		assert_int_equal(rmdir(fixture->path), 0);
	}
}

static void test_a_directory_that_is_missing(void **state)
{
	struct fixture *fixture = *state;
	char path[sizeof(fixture->path) + 8];
	char advice[sizeof(path) + 64];

	snprintf(path, sizeof(path), "%s/a/b", fixture->path);
	snprintf(advice, sizeof(advice), "make that first (mkdir -p '%s/a'), then", fixture->path);
	check_missing(fixture, path, -ENOENT, advice);
	snprintf(advice, sizeof(advice), "make its directory first (mkdir -p '%s/a')",
		 fixture->path);
	fixture->config.create = TCMU_EXT_CREATE_SPARSE;
	check_missing(fixture, path, -ENOENT, advice);
	fixture->config.read_only = 1;
	check_missing(fixture, path, -ENOENT, "leave ;ro out");
	fixture->config.create = TCMU_EXT_CREATE_NO;
	check_missing(fixture, "/backend-test-none", -ENOENT,
		      "(truncate -s 65536 '/backend-test-none')");
	check_missing(fixture, "backend-test-none", -ENOENT,
		      "(truncate -s 65536 'backend-test-none')");
	assert_null(strstr(fixture->message, "create=sparse")); /* of no use to readers */
}

static void test_a_path_through_a_file(void **state)
{
	struct fixture *fixture = *state;
	char path[sizeof(fixture->path) + 8];
	char advice[sizeof(path) + 64];
	char *reason = NULL;

	fixture_make_file(fixture->path, LUN_BYTES);
	snprintf(path, sizeof(path), "%s/a/b/c", fixture->path);
	snprintf(advice, sizeof(advice), "since %s is a regular file: give a path that leads",
		 fixture->path);
	for (int create = 0; create <= TCMU_EXT_CREATE_FULL; create++) {
		fixture->config.create = create;
		check_missing(fixture, path, -EINVAL, advice);
	}
	unlink(fixture->path);
	assert_int_equal(mkfifo(fixture->path, 0600), 0);
	check_missing(fixture, path, -EINVAL, "is a FIFO: give a path that leads");
	/* It is gone when it is looked for. */
	fixture->config.path = path;
	fixture->config.create = TCMU_EXT_CREATE_NO;
	shim_script(SHIM_STAT, -ENOTDIR, -ENOENT);
	assert_int_equal(fixture_check_config(fixture, &reason), -EINVAL);
	assert_non_null(strstr(reason, "cannot be used: check the path"));
	free(reason);
}

static void test_a_link_to_nothing(void **state)
{
	struct fixture *fixture = *state;
	char path[sizeof(fixture->path) + 8];
	char text[2 * sizeof(path) + 64];
	char *reason = NULL;

	assert_int_equal(symlink("no where", fixture->path), 0);
	snprintf(text, sizeof(text), "%s is a link to no%%20where, and nothing is there",
		 fixture->path);
	snprintf(path, sizeof(path), "%s/a/b", fixture->path);
	for (int create = 0; create <= TCMU_EXT_CREATE_FULL; create++) {
		fixture->config.create = create;
		check_missing(fixture, fixture->path, -ENOENT, text);
		check_missing(fixture, path, -ENOENT, text);
	}
	for (int failing = 0; failing < 2; failing++) {
		shim_script(SHIM_ALLOCATE_MEMORY, failing ? SHIM_PASS : -ENOMEM, -ENOMEM);
		assert_int_equal(fixture_check_config(fixture, &reason), -ENOMEM);
		assert_null(reason);
	}
	/* A link that leads somewhere is not to blame for what is missing behind it. */
	unlink(fixture->path);
	assert_int_equal(symlink("/", fixture->path), 0);
	fixture->config.create = TCMU_EXT_CREATE_NO;
	check_missing(fixture, path, -ENOENT, "nor the directory");
}

/* The advice at the end of a message arrives, however long the path is that comes before it. */
static void test_long_paths_leave_room_for_advice(void **state)
{
	enum { PATH_BYTES = 249, NAME_MOST_BYTES = 255 };
	struct fixture *fixture = *state;
	size_t folder_bytes = strlen(fixture->directory) + 1;
	size_t name_bytes = PATH_BYTES - folder_bytes;

	assert_true(folder_bytes < PATH_BYTES);
	snprintf(fixture->path, sizeof(fixture->path), "%s/", fixture->directory);
	if (name_bytes > NAME_MOST_BYTES)
		name_bytes = NAME_MOST_BYTES;
	memset(fixture->path + folder_bytes, 0xff, name_bytes);
	fixture->path[folder_bytes + name_bytes] = '\0';
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -ENOENT, ";create=sparse");
	fixture_make_file(fixture->path, 1);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EINVAL, "smaller LUN");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_slash_at_the_end),
		TEST(test_a_directory_that_is_missing),
		TEST(test_a_path_through_a_file),
		TEST(test_a_link_to_nothing),
		TEST(test_odd_bytes_stay_out_of_messages),
		TEST(test_commands_in_messages_can_be_pasted),
		TEST(test_names_in_messages_are_configuration_strings),
		TEST(test_long_paths_leave_room_for_advice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
