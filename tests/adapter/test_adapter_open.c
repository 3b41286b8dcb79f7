/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Opening and closing LUNs: what is told to the runner and the log, what is refused, no leaks. */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/prctl.h>

#include "standin.h"

enum { SIZE_BYTES = 1 << 20 };

static struct {
	int calls;
	bool refuse;
} flusher;

/* In place of the C library's, since the right to it is not everybody's. */
int prctl(int option, ...)
{
	va_list arguments;
	unsigned long enabled;

	va_start(arguments, option);
	enabled = va_arg(arguments, unsigned long);
	va_end(arguments);
	assert_int_equal(option, PR_SET_IO_FLUSHER);
	assert_int_equal(enabled, 1);
	flusher.calls++;
	errno = EPERM;
	return flusher.refuse ? -1 : 0;
}

static const struct tcmur_handler *handler;
static char *image;

static int load(void **state)
{
	(void)state;
	handler = standin_load("file");
	image = standin_file("disk.img", SIZE_BYTES);
	return 0;
}

static int release(void **state)
{
	(void)state;
	free(image);
	return 0;
}

static struct tcmu_device device(const char *options, uint64_t size_bytes)
{
	char text[4096];

	snprintf(text, sizeof(text), "file/%s%s", image, options);
	standin_log_clear();
	return standin_device(text, size_bytes);
}

static void logged(const char *words)
{
	if (!strstr(standin_log(), words))
		fail_msg("the log lacks \"%s\":\n%s", words, standin_log());
}

static void tells_what_it_serves(void **state)
{
	struct tcmu_device dev = device("", SIZE_BYTES);

	(void)state;
	assert_int_equal(handler->open(&dev, false), 0);
	logged("serving ");
	logged("disk.img");
	logged("1048576 bytes");
	logged("blocks of 512");
	logged("cache=writeback");
	logged("write cache on");
	logged("locked");
	logged("read-write");
	standin_log_clear();
	handler->close(&dev);
	logged("closed ");
	logged("0 commands");
	assert_null(dev.hm_private);
	handler->close(&dev);
}

static void tells_the_runner_its_limits(void **state)
{
	struct tcmu_device dev = device("", SIZE_BYTES);

	(void)state;
	assert_int_equal(handler->open(&dev, false), 0);
	assert_int_equal(dev.max_xfer_len, 2048); /* the kernel's default of 128 is no limit */
	assert_int_equal(dev.opt_xcopy_rw_len, 2048);
	assert_int_not_equal(dev.opt_unmap_gran, 0);
	assert_int_not_equal(dev.unmap_gran_align, 0);
	assert_true(dev.write_cache_enabled);
	handler->close(&dev);

	dev.max_xfer_len = 8192; /* the administrator's number */
	assert_int_equal(handler->open(&dev, false), 0);
	assert_int_equal(dev.max_xfer_len, 8192);
	assert_int_equal(dev.opt_xcopy_rw_len, 2048);
	handler->close(&dev);

	dev.block_size = 4096;
	dev.num_lbas = SIZE_BYTES / 4096;
	dev.max_xfer_len = 128;
	assert_int_equal(handler->open(&dev, false), 0);
	assert_int_equal(dev.max_xfer_len, 256);
	handler->close(&dev);

	dev.max_xfer_len = 64;
	assert_int_equal(handler->open(&dev, false), 0);
	assert_int_equal(dev.max_xfer_len, 64);
	assert_int_equal(dev.opt_xcopy_rw_len, 64);
	handler->close(&dev);
}

/* The transfer length the initiator is told: VPD page B0h, bytes 8 to 11. */
static void tells_initiators_the_transfer_length(void **state)
{
	const uint8_t block_limits[6] = { 0x12, 1, 0xb0, 0, 64, 0 };
	struct tcmu_device dev = device("", SIZE_BYTES);
	uint8_t page[64];

	(void)state;
	assert_int_equal(handler->open(&dev, false), 0);
	assert_int_equal(standin_send(handler, &dev, block_limits, page, sizeof(page), NULL),
			 TCMU_STS_OK);
	assert_int_equal(page[8] << 24 | page[9] << 16 | page[10] << 8 | page[11], 2048);
	handler->close(&dev);
}

/* The kernel's attribute starts at 0 whatever the LUN does; saveconfig must save the truth. */
static void sets_the_write_cache_attribute(void **state)
{
	struct tcmu_device dev = device("", SIZE_BYTES);

	(void)state;
	assert_int_equal(handler->open(&dev, false), 0);
	assert_int_equal(dev.emulate_write_cache, 1);
	handler->close(&dev);

	dev = device(";cache=writethrough", SIZE_BYTES);
	dev.emulate_write_cache = 1;
	assert_int_equal(handler->open(&dev, false), 0);
	assert_int_equal(dev.emulate_write_cache, 0);
	assert_false(dev.write_cache_enabled);
	logged("cache=writethrough, write cache off");
	handler->close(&dev);
}

/* A daemon that is started again finds devices that are enabled: the attribute is the last word. */
static void keeps_the_write_cache_across_a_restart(void **state)
{
	struct tcmu_device dev = device("", SIZE_BYTES);

	(void)state;
	dev.enabled = 1;
	dev.emulate_write_cache = 0;
	assert_int_equal(handler->open(&dev, false), 0);
	assert_false(dev.write_cache_enabled);
	logged("cache=writeback, write cache off");
	handler->close(&dev);

	dev.emulate_write_cache = 1;
	assert_int_equal(handler->open(&dev, false), 0);
	assert_true(dev.write_cache_enabled);
	handler->close(&dev);

	dev.enabled = 0; /* not asked when the runner says that it opens again */
	dev.emulate_write_cache = 0;
	assert_int_equal(handler->open(&dev, true), 0);
	assert_false(dev.write_cache_enabled);
	handler->close(&dev);

	dev.enabled = -ENOENT; /* nobody knows: the attribute must not be written */
	dev.emulate_write_cache = -ENOENT;
	assert_int_equal(handler->open(&dev, false), 0);
	assert_true(dev.write_cache_enabled);
	assert_int_equal(dev.emulate_write_cache, -ENOENT);
	handler->close(&dev);
}

static void refuse_open(struct tcmu_device *dev, int error, const char *words)
{
	size_t open_files = standin_open_files();

	standin_log_clear();
	assert_int_equal(handler->open(dev, false), error);
	logged(words);
	assert_null(dev->hm_private);
	assert_int_equal(standin_open_files(), open_files);
	handler->close(dev); /* the runner does not, but nothing may happen */
}

static void refuses_a_short_backing(void **state)
{
	struct tcmu_device dev = device("", 2 * SIZE_BYTES);
	struct stat status;

	(void)state;
	refuse_open(&dev, -EINVAL, "truncate -s 2097152");
	assert_int_equal(stat(image, &status), 0);
	assert_int_equal(status.st_size, SIZE_BYTES);
}

static void refuses_a_file_in_use(void **state)
{
	struct tcmu_device first = device("", SIZE_BYTES);
	struct tcmu_device second = device("", SIZE_BYTES);
	struct tcmu_device unlocked = device(";lock=no", SIZE_BYTES);

	(void)state;
	assert_int_equal(handler->open(&first, false), 0);
	refuse_open(&second, -EBUSY, "in use");
	assert_int_equal(handler->open(&unlocked, false), 0);
	handler->close(&unlocked);
	handler->close(&first);
	assert_int_equal(handler->open(&second, false), 0);
	handler->close(&second);
}

static void refuses_bad_strings_and_sizes(void **state)
{
	struct tcmu_device dev = device(";cash=none", SIZE_BYTES);

	(void)state;
	refuse_open(&dev, -EINVAL, "cash");
	dev = device("", SIZE_BYTES);
	memcpy(dev.cfgstring, "fil/", 4);
	refuse_open(&dev, -EINVAL, "user:file");
	dev = device("", SIZE_BYTES);
	memmove(dev.cfgstring, dev.cfgstring + 5, strlen(dev.cfgstring + 4));
	refuse_open(&dev, -EINVAL, "user:file"); /* no subtype at all */
	dev = device("", 0);
	refuse_open(&dev, -EINVAL, "size");
	dev = device("", SIZE_BYTES);
	dev.block_size = 8192;
	dev.num_lbas = SIZE_BYTES / 8192;
	refuse_open(&dev, -EINVAL, "hw_block_size");
	dev = standin_device("file//dev/null", SIZE_BYTES);
	refuse_open(&dev, -EINVAL, "character device");
	dev = standin_device("file//nothing/there", SIZE_BYTES);
	refuse_open(&dev, -ENOENT, "there is no file");
}

/* What is wrong with the LUN itself is found before a file is made for it. */
static void makes_no_file_for_an_impossible_lun(void **state)
{
	static const uint32_t block_sizes[] = { 1, 256, 520, 4160, 8192, 1 << 21 };
	char path[4096];

	(void)state;
	snprintf(path, sizeof(path), "%s.new", image);
	for (size_t i = 0; i < ARRAY_COUNT(block_sizes); i++) {
		struct tcmu_device dev = device(".new;create=full", SIZE_BYTES);

		dev.block_size = block_sizes[i];
		refuse_open(&dev, -EINVAL, "hw_block_size");
		assert_int_equal(access(path, F_OK), -1);
	}
}

/* Data may have been expected: when the machine or the daemon starts, or the LUN is made. */
static void warns_of_a_new_disk(void **state)
{
	char path[4096];

	(void)state;
	snprintf(path, sizeof(path), "%s.new", image);
	for (int reopen = 0; reopen < 2; reopen++) {
		struct tcmu_device dev = device(".new;create=sparse", SIZE_BYTES);

		assert_int_equal(handler->open(&dev, reopen), 0);
		logged("[WARN] ");
		logged(".new did not exist: this disk is new and empty");
		handler->close(&dev);
		/* It is there now. */
		standin_log_clear();
		assert_int_equal(handler->open(&dev, reopen), 0);
		assert_null(strstr(standin_log(), "[WARN] "));
		handler->close(&dev);
		assert_int_equal(unlink(path), 0);
	}
}

static void accepts_what_echo_writes(void **state)
{
	struct tcmu_device dev = device(";ro\n", SIZE_BYTES);

	(void)state;
	assert_int_equal(handler->open(&dev, false), 0);
	logged("read-only");
	handler->close(&dev);
}

/* The runner cuts longer lines, and with them what to do. */
static void splits_long_messages(void **state)
{
	struct tcmu_device dev = device("", SIZE_BYTES);

	(void)state;
	memset(dev.cfgstring + strlen("file/"), '/', 200);
	memset(dev.cfgstring + 100, 'x', 100);
	dev.cfgstring[200] = '\0';
	refuse_open(&dev, -ENOENT, "create=sparse");
	assert_true(standin_log_longest_line() <= 170);
}

static int open_without_permission(void)
{
	struct tcmu_device dev = device("", SIZE_BYTES);
	size_t open_files = standin_open_files();

	if (!geteuid() && (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
		return 1;
	if (handler->open(&dev, false) != -EACCES)
		return 2;
	if (standin_open_files() != open_files || dev.hm_private)
		return 3;
	return strstr(standin_log(), "disk.img") ? 0 : 4;
}

static void refuses_without_permission(void **state)
{
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(chmod(standin_directory(), 0755), 0);
	assert_int_equal(chmod(image, 0000), 0);
	child = fork();
	if (!child)
		_exit(open_without_permission());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(chmod(image, 0600), 0);
}

/* The ring thread is made by the thread that opens, right afterwards, and inherits the flag. */
static void becomes_an_io_flusher(void **state)
{
	struct tcmu_device dev = device("", SIZE_BYTES);

	(void)state;
	flusher.calls = 0;
	assert_int_equal(handler->open(&dev, false), 0);
	assert_int_equal(flusher.calls, 1);
	handler->close(&dev);
}

static void serves_without_the_right_to_be_one(void **state)
{
	struct tcmu_device dev = device("", SIZE_BYTES);

	(void)state;
	flusher.refuse = true;
	assert_int_equal(handler->open(&dev, false), 0);
	logged("PR_SET_IO_FLUSHER");
	handler->close(&dev);
	standin_log_clear();
	assert_int_equal(handler->open(&dev, false), 0);
	assert_null(strstr(standin_log(), "PR_SET_IO_FLUSHER")); /* said once */
	handler->close(&dev);
	flusher.refuse = false;
}

static void open_and_close(const char *options, int times)
{
	struct tcmu_device good = device(options, SIZE_BYTES);
	struct tcmu_device bad = device(options, 2 * SIZE_BYTES);

	for (int i = 0; i < times; i++) {
		assert_int_equal(handler->open(&good, false), 0);
		handler->close(&good);
		assert_int_equal(handler->open(&bad, false), -EINVAL);
		standin_log_clear();
	}
}

static void open_and_close_both(int times)
{
	open_and_close("", times);
	open_and_close(";cache=writethrough;lock=no", times);
}

/* What the C library keeps at hand varies a little; a thousand lost allocations are more. */
static void leaves_nothing_behind(void **state)
{
	size_t open_files = standin_open_files();
	size_t bytes;

	(void)state;
	open_and_close_both(10);
	bytes = mallinfo2().uordblks;
	open_and_close_both(500);
	assert_true(mallinfo2().uordblks < bytes + 8192);
	assert_int_equal(standin_open_files(), open_files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_what_it_serves),
		cmocka_unit_test(tells_the_runner_its_limits),
		cmocka_unit_test(tells_initiators_the_transfer_length),
		cmocka_unit_test(sets_the_write_cache_attribute),
		cmocka_unit_test(keeps_the_write_cache_across_a_restart),
		cmocka_unit_test(refuses_a_short_backing),
		cmocka_unit_test(refuses_a_file_in_use),
		cmocka_unit_test(refuses_bad_strings_and_sizes),
		cmocka_unit_test(makes_no_file_for_an_impossible_lun),
		cmocka_unit_test(warns_of_a_new_disk),
		cmocka_unit_test(accepts_what_echo_writes),
		cmocka_unit_test(splits_long_messages),
		cmocka_unit_test(refuses_without_permission),
		cmocka_unit_test(becomes_an_io_flusher),
		cmocka_unit_test(serves_without_the_right_to_be_one),
		cmocka_unit_test(leaves_nothing_behind),
	};

	return standin_end(cmocka_run_group_tests(tests, load, release));
}
