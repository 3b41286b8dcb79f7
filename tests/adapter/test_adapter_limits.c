/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What the daemon's resource limits do to a LUN, and not to the daemon. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "standin.h"

enum {
	SIZE_BYTES = 1 << 20,
	LIMIT_BYTES = SIZE_BYTES / 2,
	BLOCK_BYTES = 512,
};

static const struct tcmur_handler *handler;

static int load(void **state)
{
	(void)state;
	handler = standin_load("file");
	return 0;
}

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static struct tcmu_device device(const char *path, const char *options)
{
	char text[8192];

	snprintf(text, sizeof(text), "file/%s%s", path, options);
	standin_log_clear();
	return standin_device(text, SIZE_BYTES);
}

static void expect_no_room(struct tcmu_device *dev, const uint8_t *cdb)
{
	uint8_t block[BLOCK_BYTES] = { 1 };
	uint8_t sense[TCMULIB_SENSE_BYTES];

	assert_int_equal(standin_send(handler, dev, cdb, block, sizeof(block), sense),
			 TCMU_STS_PASSTHROUGH_ERR);
	assert_int_equal(sense[2] & 0x0f, 0x07);
	assert_int_equal(sense[12], 0x27);
	assert_int_equal(sense[13], 0x07);
}

/* By default the signal that comes with the error ends the process. */
static void a_write_beyond_the_limit_fails(void **state)
{
	static const uint8_t write_last[10] = { 0x2a, 0, 0, 0, 0x07, 0xff, 0, 0, 1 };
	static const uint8_t write_first[10] = { 0x2a, 0, 0, 0, 0, 0, 0, 0, 1 };
	static const uint8_t write_same_last[10] = { 0x41, 0, 0, 0, 0x07, 0xff, 0, 0, 1 };
	char *image = standin_file("limited.img", SIZE_BYTES);
	struct tcmu_device dev = device(image, "");
	uint8_t block[BLOCK_BYTES] = { 1 };
	uint8_t sense[TCMULIB_SENSE_BYTES];

	(void)state;
	assert_int_equal(handler->open(&dev, false), 0);
	standin_log_clear();
	limit_file_size(LIMIT_BYTES);
	expect_no_room(&dev, write_last);
	expect_no_room(&dev, write_same_last);
	assert_int_equal(standin_send(handler, &dev, write_first, block, sizeof(block), sense),
			 TCMU_STS_OK);
	limit_file_size(RLIM_INFINITY);
	assert_non_null(strstr(standin_log(), "limit on the size of files"));
	assert_int_equal(standin_send(handler, &dev, write_last, block, sizeof(block), sense),
			 TCMU_STS_OK);
	handler->close(&dev);
	free(image);
}

static void a_file_beyond_the_limit_is_not_made(void **state)
{
	static const char *const creates[] = { ";create=sparse", ";create=full" };
	char path[4096];

	(void)state;
	snprintf(path, sizeof(path), "%s/large.img", standin_directory());
	for (size_t i = 0; i < ARRAY_COUNT(creates); i++) {
		struct tcmu_device dev = device(path, creates[i]);

		limit_file_size(LIMIT_BYTES);
		assert_int_equal(handler->open(&dev, false), -EFBIG);
		limit_file_size(RLIM_INFINITY);
		assert_int_equal(access(path, F_OK), -1);
	}
}

static void growing_beyond_the_limit_changes_nothing(void **state)
{
	char *image = standin_file("growing.img", SIZE_BYTES);
	struct tcmu_device dev = device(image, "");
	struct tcmulib_cfg_info info = { .type = TCMULIB_CFG_DEV_SIZE,
					 .data.dev_size = UINT64_C(2) * SIZE_BYTES };

	(void)state;
	assert_int_equal(handler->open(&dev, false), 0);
	limit_file_size(LIMIT_BYTES);
	assert_int_equal(handler->reconfig(&dev, &info), -EFBIG);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(handler->reconfig(&dev, &info), 0);
	handler->close(&dev);
	free(image);
}

/* Descriptors that are used up refuse a LUN, and leave nothing open or made. */
static void no_descriptors_left(void **state)
{
	struct rlimit limit;
	size_t open_files = standin_open_files();
	char path[4096];
	bool opened = false;

	(void)state;
	snprintf(path, sizeof(path), "%s/late.img", standin_directory());
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (rlim_t spare = 0; !opened; spare++) {
		struct tcmu_device dev = device(path, ";create=sparse");
		struct rlimit few = { open_files + spare, limit.rlim_max };
		int error;

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		error = handler->open(&dev, false);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		opened = !error;
		if (opened) {
			handler->close(&dev);
			break;
		}
		assert_int_equal(error, -EMFILE);
		assert_non_null(strstr(standin_log(), "Too many open files"));
		assert_null(strstr(standin_log(), "make that directory"));
		assert_int_equal(access(path, F_OK), -1);
		assert_int_equal(standin_open_files(), open_files);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_beyond_the_limit_fails),
		cmocka_unit_test(a_file_beyond_the_limit_is_not_made),
		cmocka_unit_test(growing_beyond_the_limit_changes_nothing),
		cmocka_unit_test(no_descriptors_left),
	};

	return standin_end(cmocka_run_group_tests(tests, load, NULL));
}
