/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What happens when an attribute of a live LUN is written. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "standin.h"

enum { SIZE_BYTES = 1 << 20 };

static const struct tcmur_handler *handler;
static struct tcmu_device dev;
static char *image;

static int open_lun(void **state)
{
	char text[4096];

	(void)state;
	handler = standin_load("file");
	image = standin_file("disk.img", SIZE_BYTES);
	snprintf(text, sizeof(text), "file/%s", image);
	dev = standin_device(text, SIZE_BYTES);
	standin_log_clear();
	return handler->open(&dev, false);
}

static int close_lun(void **state)
{
	(void)state;
	handler->close(&dev);
	free(image);
	return 0;
}

static void logged(const char *words)
{
	if (!strstr(standin_log(), words))
		fail_msg("the log lacks \"%s\":\n%s", words, standin_log());
}

static int set_size(uint64_t bytes)
{
	struct tcmulib_cfg_info info = { .type = TCMULIB_CFG_DEV_SIZE, .data.dev_size = bytes };

	standin_log_clear();
	return handler->reconfig(&dev, &info);
}

static int set_write_cache(bool enabled)
{
	struct tcmulib_cfg_info info = { .type = TCMULIB_CFG_WRITE_CACHE,
					 .data.write_cache = enabled };

	standin_log_clear();
	return handler->reconfig(&dev, &info);
}

/* Writes dev_config: the subtype and slash, the path, and `after`. */
static int set_config(const char *path, const char *after)
{
	char text[4200];
	struct tcmulib_cfg_info info = { .type = TCMULIB_CFG_DEV_CFGSTR,
					 .data.dev_cfgstring = text };

	snprintf(text, sizeof(text), "file/%s%s", path, after);
	standin_log_clear();
	return handler->reconfig(&dev, &info);
}

static uint32_t last_block(void)
{
	const uint8_t read_capacity[10] = { 0x25 };
	uint8_t data[8];

	assert_int_equal(standin_send(handler, &dev, read_capacity, data, sizeof(data), NULL),
			 TCMU_STS_OK);
	return (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
}

static void grows(void **state)
{
	struct stat status;

	(void)state;
	assert_int_equal(set_size(2 * SIZE_BYTES), 0);
	logged("grown from 1048576 to 2097152 bytes");
	assert_int_equal(last_block(), 2 * SIZE_BYTES / 512 - 1);
	assert_int_equal(stat(image, &status), 0);
	assert_int_equal(status.st_size, 2 * SIZE_BYTES);
}

static void accepts_the_same_size(void **state)
{
	(void)state;
	assert_int_equal(set_size(SIZE_BYTES), 0);
	assert_int_equal(last_block(), SIZE_BYTES / 512 - 1);
}

static void refuses_to_shrink(void **state)
{
	struct stat status;

	(void)state;
	assert_int_equal(set_size(SIZE_BYTES / 2), -EINVAL);
	logged("not made smaller");
	logged("disk.img");
	assert_int_equal(last_block(), SIZE_BYTES / 512 - 1);
	assert_int_equal(stat(image, &status), 0);
	assert_int_equal(status.st_size, SIZE_BYTES);
}

/* MODE SENSE(6) of the current caching page: WCE is bit 2 of its byte 2. */
static bool reported_write_cache(void)
{
	const uint8_t mode_sense[6] = { 0x1a, 0x08, 0x08, 0, 64, 0 };
	uint8_t data[64];

	assert_int_equal(standin_send(handler, &dev, mode_sense, data, sizeof(data), NULL),
			 TCMU_STS_OK);
	assert_int_equal(data[4] & 0x3f, 0x08);
	return data[6] & 0x04;
}

static void turns_the_write_cache_off_and_on(void **state)
{
	(void)state;
	assert_true(reported_write_cache());
	assert_int_equal(set_write_cache(true), 0); /* what restoreconfig sends: no change */
	assert_string_equal(standin_log(), "");
	assert_true(reported_write_cache());

	assert_int_equal(set_write_cache(false), 0);
	logged("turned off");
	assert_false(reported_write_cache());
	assert_false(dev.write_cache_enabled);
	assert_int_equal(set_write_cache(false), 0);
	assert_string_equal(standin_log(), "");

	assert_int_equal(set_write_cache(true), 0);
	logged("rescan");
	assert_true(reported_write_cache());
	assert_true(dev.write_cache_enabled);
}

static void accepts_the_same_config(void **state)
{
	(void)state;
	assert_int_equal(set_config(image, ""), 0);
	assert_int_equal(set_config(image, "\n"), 0);
	assert_int_equal(set_config(image, ";tcmur_cmd_time_out=30\n"), 0);
	assert_string_equal(standin_log(), "");
}

static void refuses_another_config(void **state)
{
	(void)state;
	assert_int_equal(set_config(image, ";ro"), -EOPNOTSUPP);
	logged("cannot be changed");
	logged("delete the backstore");
	assert_int_equal(set_config(image, "2"), -EOPNOTSUPP);
	assert_int_equal(set_config("/", ""), -EOPNOTSUPP);
	assert_int_equal(set_config("", ""), -EOPNOTSUPP);
}

static void refuses_what_it_does_not_know(void **state)
{
	struct tcmulib_cfg_info info = { .type = (enum tcmulib_cfg_type)99 };
	struct tcmu_device closed = standin_device("file//x", SIZE_BYTES);

	(void)state;
	assert_int_equal(handler->reconfig(&dev, &info), -EOPNOTSUPP);
	assert_int_equal(handler->reconfig(&closed, &info), -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(grows, open_lun, close_lun),
		cmocka_unit_test_setup_teardown(accepts_the_same_size, open_lun, close_lun),
		cmocka_unit_test_setup_teardown(refuses_to_shrink, open_lun, close_lun),
		cmocka_unit_test_setup_teardown(turns_the_write_cache_off_and_on, open_lun,
						close_lun),
		cmocka_unit_test_setup_teardown(accepts_the_same_config, open_lun, close_lun),
		cmocka_unit_test_setup_teardown(refuses_another_config, open_lun, close_lun),
		cmocka_unit_test_setup_teardown(refuses_what_it_does_not_know, open_lun, close_lun),
	};

	return standin_end(cmocka_run_group_tests(tests, NULL, NULL));
}
