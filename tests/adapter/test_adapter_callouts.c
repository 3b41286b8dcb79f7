/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * read, write and flush, as the runner's own emulation calls them: it takes OK for "queued" and
 * goes on in tcmur_cmd_complete(), from where it calls the next one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

enum { SIZE_BYTES = 1 << 20, BLOCK_BYTES = 512, CHUNK_BYTES = 4096 };

static const struct tcmur_handler *handler;
static struct tcmu_device dev;
static struct tcmur_cmd *cmd;
static char *image;

static int open_with(const char *options)
{
	const uint8_t extended_copy[16] = { 0x83 };
	char text[4096];

	handler = standin_load("file");
	image = standin_file("disk.img", SIZE_BYTES);
	snprintf(text, sizeof(text), "file/%s%s", image, options);
	dev = standin_device(text, SIZE_BYTES);
	cmd = standin_command(extended_copy, NULL, 0);
	return handler->open(&dev, false);
}

static int open_lun(void **state)
{
	(void)state;
	return open_with("");
}

static int open_inline(void **state)
{
	(void)state;
	return open_with(";io=inline");
}

static int open_read_only(void **state)
{
	(void)state;
	return open_with(";ro");
}

static int close_lun(void **state)
{
	(void)state;
	handler->close(&dev);
	standin_command_free(cmd);
	free(image);
	return 0;
}

/* What one callout was answered. */
static struct {
	int completions;
	int status;
} last;

static void remember(struct tcmu_device *device, struct tcmur_cmd *completed, int status)
{
	assert_ptr_equal(device, &dev);
	assert_ptr_equal(completed, cmd);
	last.completions++;
	last.status = status;
}

static int call(int (*callout)(struct tcmu_device *, struct tcmur_cmd *, struct iovec *, size_t,
			       size_t, off_t),
		void *buffer, size_t bytes, off_t offset)
{
	struct iovec iov = { buffer, bytes };

	unsigned int before = standin_completions();

	memset(&last, 0, sizeof(last));
	dev.completed = remember;
	/* OK together with one completion: each says that the other is right. */
	assert_int_equal(callout(&dev, cmd, &iov, 1, bytes, offset), TCMU_STS_OK);
	standin_wait(before + 1);
	assert_int_equal(last.completions, 1);
	return last.status;
}

static void answers_by_completion(void **state)
{
	char data[CHUNK_BYTES], back[CHUNK_BYTES];

	(void)state;
	memset(data, 'w', sizeof(data));
	assert_int_equal(call(handler->write, data, sizeof(data), BLOCK_BYTES), TCMU_STS_OK);
	assert_int_equal(call(handler->read, back, sizeof(back), BLOCK_BYTES), TCMU_STS_OK);
	assert_memory_equal(data, back, sizeof(data));

	memset(&last, 0, sizeof(last));
	assert_int_equal(handler->flush(&dev, cmd), TCMU_STS_OK);
	assert_int_equal(last.completions, 1);
	assert_int_equal(last.status, TCMU_STS_OK);
}

static void answers_errors_with_sense_data(void **state)
{
	char data[CHUNK_BYTES];

	(void)state;
	memset(cmd->lib_cmd->sense_buf, 0xff, TCMULIB_SENSE_BYTES);
	assert_int_equal(call(handler->read, data, sizeof(data), SIZE_BYTES),
			 TCMU_STS_PASSTHROUGH_ERR);
	assert_int_equal(cmd->lib_cmd->sense_buf[2], 0x05);
	assert_int_equal(cmd->lib_cmd->sense_buf[12], 0x21);
	assert_int_equal(cmd->lib_cmd->sense_buf[TCMULIB_SENSE_BYTES - 1], 0);
}

static void respects_write_protection(void **state)
{
	char data[CHUNK_BYTES] = { 0 };

	(void)state;
	assert_int_equal(call(handler->write, data, sizeof(data), 0), TCMU_STS_PASSTHROUGH_ERR);
	assert_int_equal(cmd->lib_cmd->sense_buf[2], 0x07);
	assert_int_equal(cmd->lib_cmd->sense_buf[12], 0x27);
}

/* A copy like the runner's EXTENDED COPY: read, write, read, … each from the one before. */
static struct {
	char buffer[CHUNK_BYTES];
	struct iovec iov;
	off_t from, to;
	int steps, steps_left;
	int deepest;
	bool reading;
	int status;
} copy;

/* Calls of copy_step_done() in each other; the next step may end on another thread meanwhile. */
static _Thread_local int copy_depth;

static void copy_next(void)
{
	int (*callout)(struct tcmu_device *, struct tcmur_cmd *, struct iovec *, size_t, size_t,
		       off_t) = copy.reading ? handler->read : handler->write;

	copy.iov = (struct iovec){ copy.buffer, sizeof(copy.buffer) };
	copy.steps++;
	assert_int_equal(callout(&dev, cmd, &copy.iov, 1, sizeof(copy.buffer),
				 copy.reading ? copy.from : copy.to),
			 TCMU_STS_OK);
}

static void copy_step_done(struct tcmu_device *device, struct tcmur_cmd *completed, int status)
{
	(void)device, (void)completed;
	copy.status = status;
	if (status != TCMU_STS_OK || !copy.steps_left--)
		return;
	if (++copy_depth > copy.deepest)
		copy.deepest = copy_depth;
	copy.reading = !copy.reading;
	copy_next();
	copy_depth--;
}

static void run_copy(int steps)
{
	unsigned int before = standin_completions();

	memset(&copy, 0, sizeof(copy));
	copy.to = SIZE_BYTES / 2;
	copy.reading = true;
	copy.steps_left = steps - 1;
	dev.completed = copy_step_done;
	copy_next();
	standin_wait(before + (unsigned int)steps);
}

static void copies(int steps)
{
	char data[CHUNK_BYTES], back[CHUNK_BYTES];

	memset(data, 'c', sizeof(data));
	assert_int_equal(call(handler->write, data, sizeof(data), 0), TCMU_STS_OK);
	run_copy(steps);
	assert_int_equal(copy.status, TCMU_STS_OK);
	assert_int_equal(copy.steps, steps);
	assert_int_equal(call(handler->read, back, sizeof(back), SIZE_BYTES / 2), TCMU_STS_OK);
	assert_memory_equal(data, back, sizeof(data));
}

static void long_copies_do_not_nest(void **state)
{
	(void)state;
	copies(20000);
	assert_int_equal(copy.deepest, 1);
}

static void copies_go_on_on_the_engine(void **state)
{
	(void)state;
	copies(200);
}

/* The next command is served as usual after one that failed half-way. */
static void goes_on_after_a_failed_copy(void **state)
{
	unsigned int before = standin_completions();
	char data[CHUNK_BYTES];

	(void)state;
	memset(&copy, 0, sizeof(copy));
	copy.to = SIZE_BYTES;
	copy.reading = true;
	copy.steps_left = 10;
	dev.completed = copy_step_done;
	copy_next();
	standin_wait(before + 2);
	assert_int_equal(copy.status, TCMU_STS_PASSTHROUGH_ERR);
	assert_int_equal(copy.steps, 2);
	assert_int_equal(call(handler->read, data, sizeof(data), 0), TCMU_STS_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers_by_completion, open_lun, close_lun),
		cmocka_unit_test_setup_teardown(answers_errors_with_sense_data, open_lun,
						close_lun),
		cmocka_unit_test_setup_teardown(respects_write_protection, open_read_only,
						close_lun),
		cmocka_unit_test_setup_teardown(answers_by_completion, open_inline, close_lun),
		cmocka_unit_test_setup_teardown(answers_errors_with_sense_data, open_inline,
						close_lun),
		cmocka_unit_test_setup_teardown(long_copies_do_not_nest, open_inline, close_lun),
		cmocka_unit_test_setup_teardown(copies_go_on_on_the_engine, open_lun, close_lun),
		cmocka_unit_test_setup_teardown(goes_on_after_a_failed_copy, open_lun, close_lun),
		cmocka_unit_test_setup_teardown(goes_on_after_a_failed_copy, open_inline,
						close_lun),
	};

	return standin_end(cmocka_run_group_tests(tests, NULL, NULL));
}
