/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The way from a SAM status to the runner's status, and cancellation: preadv() is this program's
 * own, so that a read can fail in every way or be held up.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

static struct {
	int error; /* what preadv() fails with, 0: nothing */
	bool hold; /* preadv() waits for `release` */
	sem_t entered, release;
} script;

/*
 * The library's calls arrive here, since a program's symbols come before a library's. The name is
 * that of the function for 64-bit offsets, to the library as here.
 */
ssize_t preadv(int fd, const struct iovec *iov, int iov_count, off_t offset)
{
	static ssize_t (*original)(int, const struct iovec *, int, off_t);

	if (!original)
		*(void **)&original = dlsym(RTLD_NEXT, "preadv64");
	if (script.hold) {
		sem_post(&script.entered);
		while (sem_wait(&script.release))
			;
		pthread_testcancel(); /* as the real one */
	}
	if (script.error) {
		errno = script.error;
		return -1;
	}
	return original(fd, iov, iov_count, offset);
}

static const struct tcmur_handler *handler;
static struct tcmu_device dev;
static char *image;

static int open_lun(void **state)
{
	char text[4096];

	(void)state;
	sem_init(&script.entered, 0, 0);
	sem_init(&script.release, 0, 0);
	handler = standin_load("file");
	image = standin_file("disk.img", 1 << 20);
	snprintf(text, sizeof(text), "file/%s;io=inline", image);
	dev = standin_device(text, 1 << 20);
	return handler->open(&dev, false);
}

static int close_lun(void **state)
{
	(void)state;
	handler->close(&dev);
	free(image);
	return 0;
}

static int read_block(uint8_t sense[TCMULIB_SENSE_BYTES])
{
	const uint8_t read_10[10] = { 0x28, 0, 0, 0, 0, 3, 0, 0, 1, 0 };
	uint8_t data[512];

	return standin_send(handler, &dev, read_10, data, sizeof(data), sense);
}

static void maps_every_status(void **state)
{
	uint8_t sense[TCMULIB_SENSE_BYTES];

	(void)state;
	assert_int_equal(read_block(NULL), TCMU_STS_OK);
	script.error = EAGAIN;
	assert_int_equal(read_block(NULL), TCMU_STS_BUSY);
	script.error = ENOMEM;
	assert_int_equal(read_block(NULL), TCMU_STS_BUSY);
	script.error = EIO;
	assert_int_equal(read_block(sense), TCMU_STS_PASSTHROUGH_ERR);
	assert_int_equal(sense[2], 0x03);
	assert_int_equal(sense[12], 0x11);
	assert_int_equal(sense[0], 0xf0); /* VALID: INFORMATION has the address */
	assert_int_equal(sense[6], 3);
	script.error = 0;
	assert_int_equal(read_block(NULL), TCMU_STS_OK);
}

/* The log names the LUN's device to the runner and says what happened, once. */
static void reports_an_error_once(void **state)
{
	const char *first;

	(void)state;
	standin_log_clear();
	script.error = ENODEV;
	for (int i = 0; i < 50; i++)
		read_block(NULL);
	script.error = 0;
	first = strstr(standin_log(), "No such device");
	assert_non_null(first);
	assert_null(strstr(first + 1, "No such device"));
}

static struct {
	bool finished;
	int status;
} ring_thread;

static void *serve_one_command(void *argument)
{
	(void)argument;
	ring_thread.status = read_block(NULL);
	ring_thread.finished = true;
	pthread_testcancel();
	ring_thread.finished = false; /* not reached: cancellation is on again */
	return NULL;
}

/*
 * The runner cancels the ring thread while a command may be under way. Were the command cancelled,
 * standin_command()'s memory would leak here, and there the runner would count it for ever.
 */
static void finishes_a_command_before_cancellation(void **state)
{
	pthread_t thread;
	void *result;

	(void)state;
	script.hold = true;
	assert_int_equal(pthread_create(&thread, NULL, serve_one_command, NULL), 0);
	while (sem_wait(&script.entered))
		;
	assert_int_equal(pthread_cancel(thread), 0);
	script.hold = false;
	sem_post(&script.release);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_true(ring_thread.finished);
	assert_int_equal(ring_thread.status, TCMU_STS_OK);
}

static void ignore_completion(struct tcmu_device *device, struct tcmur_cmd *cmd, int status)
{
	(void)device, (void)cmd;
	ring_thread.status = status;
	ring_thread.finished = true;
}

static void *serve_one_callout(void *argument)
{
	uint8_t data[512];
	struct iovec iov = { data, sizeof(data) };

	handler->read(&dev, argument, &iov, 1, sizeof(data), 0);
	pthread_testcancel();
	ring_thread.finished = false;
	return NULL;
}

static void finishes_a_callout_before_cancellation(void **state)
{
	const uint8_t extended_copy[16] = { 0x83 };
	struct tcmur_cmd *cmd = standin_command(extended_copy, NULL, 0);
	pthread_t thread;
	void *result;

	(void)state;
	memset(&ring_thread, 0, sizeof(ring_thread));
	dev.completed = ignore_completion;
	script.hold = true;
	assert_int_equal(pthread_create(&thread, NULL, serve_one_callout, cmd), 0);
	while (sem_wait(&script.entered))
		;
	assert_int_equal(pthread_cancel(thread), 0);
	script.hold = false;
	sem_post(&script.release);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_true(ring_thread.finished);
	assert_int_equal(ring_thread.status, TCMU_STS_OK);
	standin_command_free(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_every_status),
		cmocka_unit_test(reports_an_error_once),
		cmocka_unit_test(finishes_a_command_before_cancellation),
		cmocka_unit_test(finishes_a_callout_before_cancellation),
	};

	return standin_end(cmocka_run_group_tests(tests, open_lun, close_lun));
}
