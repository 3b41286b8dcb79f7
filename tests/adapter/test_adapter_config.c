/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* check_config: what is refused, with which words, and that looking changes nothing. */
#include <errno.h>
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "standin.h"

static const struct tcmur_handler *handler;
static char *image;

static int load(void **state)
{
	(void)state;
	handler = standin_load("file");
	image = standin_file("disk.img", 1 << 20);
	return 0;
}

static int release(void **state)
{
	(void)state;
	free(image);
	return 0;
}

static char *format(const char *text, ...) __attribute__((format(printf, 1, 2)));

static char *format(const char *text, ...)
{
	va_list arguments;
	char *result;

	va_start(arguments, text);
	assert_true(vasprintf(&result, text, arguments) >= 0);
	va_end(arguments);
	return result;
}

static void accept_text(const struct tcmur_handler *by, char *text)
{
	char *reason = NULL;

	if (!by->check_config(text, &reason))
		fail_msg("%s is refused: %s", text, reason);
	assert_null(reason);
	free(text);
}

/* Refused, and the reason holds each of the words that `words` lists with bars between them. */
static void refuse_text(const struct tcmur_handler *by, char *text, const char *words)
{
	char *list = format("%s", words);
	char *reason = NULL;
	char *rest = NULL;

	if (by->check_config(text, &reason))
		fail_msg("%s is accepted", text);
	assert_non_null(reason);
	for (char *word = strtok_r(list, "|", &rest); word; word = strtok_r(NULL, "|", &rest))
		check(strstr(reason, word), "the reason for %s lacks \"%s\": %s", text, word,
		      reason);
	free(list);
	free(reason);
	free(text);
}

static void accepts_what_is_there(void **state)
{
	(void)state;
	accept_text(handler, format("file/%s", image));
	accept_text(handler, format("file/%s\n", image)); /* as echo writes the attribute */
	accept_text(handler, format("file/%s;cache=none;ro;lock=no", image));
	accept_text(handler, format("%s", image)); /* a D-Bus client that leaves the subtype out */
	accept_text(handler, format("file/%s/new.img;create=sparse", standin_directory()));
}

static void refuses_bad_paths(void **state)
{
	const char *directory = standin_directory();
	char *fifo = format("%s/fifo", directory);

	(void)state;
	assert_int_equal(mkfifo(fifo, 0600), 0);
	refuse_text(handler, format("file/disk.img"), "absolute|/var/lib");
	refuse_text(handler, format("file/%s/missing.img", directory),
		    "missing.img|truncate|create=sparse");
	refuse_text(handler, format("file/%s/none/new.img;create=full", directory),
		    "make its directory first (mkdir -p '|/none')");
	refuse_text(handler, format("file/%s/new.img/;create=full", directory),
		    "leave the slash out");
	refuse_text(handler, format("file/%s/below", image), "is a regular file|directories");
	refuse_text(handler, format("file/%s/it%%27s%%20missing", directory),
		    "/it%27s%20missing|(truncate -s SIZE '|/it'\\''s missing')");
	refuse_text(handler, format("file/%s", directory), "directory|regular file");
	refuse_text(handler, format("file/%s", fifo), "FIFO|regular file");
	refuse_text(handler, format("file//dev/null"), "character device|regular file");
	refuse_text(handler, format("file/"), "path|/var/lib");
	refuse_text(handler, format("file/;ro"), "path");
	free(fifo);
}

static void refuses_bad_options(void **state)
{
	(void)state;
	refuse_text(handler, format("file/%s;cash=none", image),
		    "\"cash\"|options are cache, ro, lock, io, create|did you mean cache?");
	refuse_text(handler, format("file/%s;cache=fast", image),
		    "option cache|\"fast\"|cache=writeback, cache=writethrough or cache=none");
	refuse_text(handler, format("file/%s;cache", image), "cache|writeback");
	refuse_text(handler, format("file/%s;ro;ro", image), "more than once");
	refuse_text(handler, format("file/%s;", image), "key=value");
}

static void refuses_damaged_text(void **state)
{
	(void)state;
	refuse_text(handler, format("file/%s%%4", image), "%");
	refuse_text(handler, format("file/%s%%zz", image), "%");
	refuse_text(handler, format("file/%s%%00", image), "%00");
	refuse_text(handler, format("file//tmp/a b"), "%20");
	refuse_text(handler, format("file//tmp/a:b"), "%3");
	refuse_text(handler, format("file//tmp/a,b"), "%2");
	refuse_text(handler, format("file//tmp/a\nb"), "%0");
}

/* `bytes` bytes of configuration string, the subtype included: file//…/…/disk.img */
static char *padded(size_t bytes)
{
	char *text = malloc(bytes + 1);
	int used = snprintf(text, bytes + 1, "file/%s", standin_directory());
	size_t name_bytes = strlen("/disk.img");

	assert_non_null(text);
	memset(text + used, '/', bytes - (size_t)used);
	memcpy(text + bytes - name_bytes, "/disk.img", name_bytes + 1);
	return text;
}

static void refuses_what_may_have_been_cut(void **state)
{
	char *text = padded(300);

	(void)state;
	accept_text(handler, padded(254));
	refuse_text(handler, padded(255), "254|symbolic link");
	text[255] = '\0'; /* what the kernel keeps of it */
	refuse_text(handler, text, "254|symbolic link");
	/* Without the subtype there are five bytes fewer. */
	text = padded(255);
	refuse_text(handler, format("%s", text + strlen("file/")), "254");
	free(text);
}

/* libtcmu would send `fi/…` to the handler `file`. */
static void refuses_other_subtypes(void **state)
{
	(void)state;
	refuse_text(handler, format("fi/%s", image), "user:file");
	refuse_text(handler, format("filet/%s", image), "user:file");
	refuse_text(handler, format("block/%s", image), "user:file");
	refuse_text(handler, format("file"), "user:file");
	refuse_text(handler, format("%s", ""), "user:file");
}

/* The runner takes its own option away before the LUN is opened, and one semicolon too many. */
static void knows_the_runners_option(void **state)
{
	(void)state;
	accept_text(handler, format("file/%s;ro;tcmur_cmd_time_out=30", image));
	accept_text(handler, format("file/%s;tcmur_cmd_time_out=30\n", image));
	refuse_text(handler, format("file/%s;tcmur_cmd_time_out=30;ro", image), "last");
	refuse_text(handler, format("file/%s;tcmur_cmd_time_out=", image), "take \"\"|seconds");
	refuse_text(handler, format("file/%s;tcmur_cmd_time_out=1h", image),
		    "tcmur_cmd_time_out does not take \"1h\"|seconds");
	refuse_text(handler, format("file/%s;tcmur_cmd_time_out=\xff\"9;ro", image), "\"%FF%229\"");
}

/* By the C library's measure, and without control characters. */
static bool can_be_shown(char *text)
{
	uint32_t characters[1024];
	char *to = (char *)characters;
	size_t from_bytes = strlen(text), to_bytes = sizeof(characters);
	iconv_t converter = iconv_open("UCS-4LE", "UTF-8");
	size_t result;

	assert_true(converter != (iconv_t)-1);
	result = iconv(converter, &text, &from_bytes, &to, &to_bytes);
	iconv_close(converter);
	if (result == (size_t)-1)
		return false;
	for (size_t i = 0; i < (sizeof(characters) - to_bytes) / sizeof(characters[0]); i++)
		if (characters[i] < 0x20 || characters[i] == 0x7f || characters[i] > 0x10ffff)
			return false;
	return true;
}

/* The daemon hands the reason to GLib, which takes no other bytes; anybody may send the string. */
static void reasons_can_be_shown(void **state)
{
	const char *const strings[] = {
		"%ff%fe",    "%c3%28",      "%e2%82",    "%1b%5b2J", "%0a",          "%f4%90%80%80",
		"%ed%a0%80", "%7f",         "%c0%af",    "\xff",     "\xed\xa0\x80", ";\xff=no",
		";\x1b[2J",  ";cache=\xff", ";cache=\n", "\x7f",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(strings); i++) {
		char *text = format("file/%s/none%s", standin_directory(), strings[i]);
		char *reason = NULL;

		assert_false(handler->check_config(text, &reason));
		assert_non_null(reason);
		check(can_be_shown(reason), "the reason for %s cannot be sent: %s", text, reason);
		free(reason);
		free(text);
	}
}

static void block_wants_a_device(void **state)
{
	const struct tcmur_handler *block = standin_load("block");

	(void)state;
	refuse_text(block, format("block/%s", image), "regular file|user:file");
	refuse_text(block, format("block//dev/null"), "character device|block device");
	refuse_text(block, format("block//dev/nothing-there"), "no device");
	refuse_text(block, format("block//dev/sda;create=sparse"), "create");
	refuse_text(block, format("bl//dev/sda"), "user:block");
}

static void null_wants_nothing(void **state)
{
	const struct tcmur_handler *null = standin_load("null");

	(void)state;
	accept_text(null, format("null/"));
	accept_text(null, format("null/anything"));
	refuse_text(null, format("null//x;cache=none"), "no backing|takes no options|;cache=none");
	refuse_text(null, format("null/x;ro"), "no backing|takes no options|\";ro\"");
	refuse_text(null, format("nul/"), "user:null");
}

/* Runs as a user who may not look into the directory. */
static int without_permission(const char *text)
{
	char *reason = NULL;

	if (!geteuid() && (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
		return 1;
	if (handler->check_config(text, &reason))
		return 2;
	return reason && strstr(reason, "check the path") ? 0 : 3;
}

static void refuses_what_cannot_be_reached(void **state)
{
	char *directory = format("%s/closed", standin_directory());
	char *text = format("file/%s/disk.img", directory);
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(chmod(standin_directory(), 0755), 0);
	assert_int_equal(mkdir(directory, 0000), 0);
	child = fork();
	if (!child)
		_exit(without_permission(text));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	rmdir(directory);
	free(directory);
	free(text);
}

/* Any local user may ask, and libtcmu asks again before each open. */
static void changes_nothing(void **state)
{
	char *text = format("file/%s/never.img;create=full", standin_directory());
	char *path = format("%s/never.img", standin_directory());
	char *fifo = format("file/%s/fifo", standin_directory());
	size_t open_files = standin_open_files();
	struct stat before, after;

	(void)state;
	assert_int_equal(stat(image, &before), 0);
	for (int i = 0; i < 100; i++) {
		char *reason = NULL;

		assert_true(handler->check_config(text, &reason));
		assert_false(handler->check_config(fifo, &reason));
		free(reason);
		accept_text(handler, format("file/%s", image));
	}
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(stat(image, &after), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(standin_open_files(), open_files);
	free(text);
	free(path);
	free(fifo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts_what_is_there),
		cmocka_unit_test(refuses_bad_paths),
		cmocka_unit_test(refuses_bad_options),
		cmocka_unit_test(refuses_damaged_text),
		cmocka_unit_test(refuses_what_may_have_been_cut),
		cmocka_unit_test(refuses_other_subtypes),
		cmocka_unit_test(knows_the_runners_option),
		cmocka_unit_test(reasons_can_be_shown),
		cmocka_unit_test(block_wants_a_device),
		cmocka_unit_test(null_wants_nothing),
		cmocka_unit_test(refuses_what_cannot_be_reached),
		cmocka_unit_test(changes_nothing),
	};

	return standin_end(cmocka_run_group_tests(tests, load, release));
}
