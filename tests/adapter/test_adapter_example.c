/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The example of a handler of one's own, as its author would have it: built and installed by
 * install-example. Its argument is the directory it was installed into.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

enum { BLOCK_BYTES = 512, BLOCKS = 4096, SIZE_BYTES = BLOCKS * BLOCK_BYTES };

static const char *directory;
static const struct tcmur_handler *handler;
static struct tcmu_device dev;

static int open_lun(void **state)
{
	char text[64];

	handler = standin_load_from(directory, "ram_example");
	snprintf(text, sizeof(text), "ram_example//scratch%s", (const char *)*state);
	dev = standin_device(text, SIZE_BYTES);
	return handler->open(&dev, false);
}

static int close_lun(void **state)
{
	(void)state;
	handler->close(&dev);
	return 0;
}

static void send_good(const uint8_t *cdb, void *buffer, size_t bytes)
{
	assert_int_equal(standin_send(handler, &dev, cdb, buffer, bytes, NULL), TCMU_STS_OK);
}

static void write_blocks(uint8_t block, uint8_t blocks, void *data)
{
	const uint8_t write_10[10] = { 0x2a, [5] = block, [8] = blocks };

	send_good(write_10, data, (size_t)blocks * BLOCK_BYTES);
}

static void read_blocks(uint8_t block, uint8_t blocks, void *data)
{
	const uint8_t read_10[10] = { 0x28, [5] = block, [8] = blocks };

	memset(data, 0xa5, (size_t)blocks * BLOCK_BYTES);
	send_good(read_10, data, (size_t)blocks * BLOCK_BYTES);
}

static void tells_what_it_is(void **state)
{
	const uint8_t inquiry[6] = { 0x12, [4] = 96 };
	const uint8_t read_capacity_10[10] = { 0x25 };
	const uint8_t read_capacity_16[16] = { 0x9e, 0x10, [13] = 32 };
	const uint8_t capacity[8] = { 0, 0, (BLOCKS - 1) >> 8, (BLOCKS - 1) & 0xff, 0, 0, 2, 0 };
	uint8_t data[96];

	(void)state;
	send_good(inquiry, data, sizeof(data));
	assert_int_equal(data[0], 0); /* a direct-access block device */
	assert_memory_equal(data + 8, "LIO-ORG ", 8);
	assert_memory_equal(data + 16, "RAM example     ", 16);
	send_good(read_capacity_10, data, 8);
	assert_memory_equal(data, capacity, sizeof(capacity));
	send_good(read_capacity_16, data, 32);
	assert_memory_equal(data + 4, capacity, sizeof(capacity));
	assert_int_equal(data[14] & 0xc0, 0xc0); /* unmapped blocks read as zeroes */
}

static void keeps_what_is_written(void **state)
{
	const uint8_t synchronize_cache_10[10] = { 0x35 };
	const uint8_t write_fua_10[10] = { 0x2a, 0x08, [5] = 40, [8] = 1 };
	uint8_t data[8 * BLOCK_BYTES], back[10 * BLOCK_BYTES];
	const uint8_t nothing[BLOCK_BYTES] = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / BLOCK_BYTES + 1);
	write_blocks(7, 8, data);
	send_good(synchronize_cache_10, NULL, 0);
	read_blocks(6, 10, back);
	assert_memory_equal(back, nothing, BLOCK_BYTES);
	assert_memory_equal(back + BLOCK_BYTES, data, sizeof(data));
	assert_memory_equal(back + 9 * BLOCK_BYTES, nothing, BLOCK_BYTES);
	send_good(write_fua_10, data, BLOCK_BYTES);
	read_blocks(40, 1, back);
	assert_memory_equal(back, data, BLOCK_BYTES);
}

/* That blocks from `block` on are zero and those around them are not, and fills them again. */
static void assert_zeroed(uint8_t block, uint8_t blocks)
{
	enum { ALL_BLOCKS = 64 };
	uint8_t *data = malloc(ALL_BLOCKS * BLOCK_BYTES);

	assert_non_null(data);
	read_blocks(0, ALL_BLOCKS, data);
	for (size_t i = 0; i < ALL_BLOCKS * BLOCK_BYTES; i++) {
		size_t at = i / BLOCK_BYTES;

		assert_int_equal(data[i], at >= block && at < block + blocks ? 0 : 0x5a);
	}
	memset(data, 0x5a, ALL_BLOCKS * BLOCK_BYTES);
	write_blocks(0, ALL_BLOCKS, data);
	free(data);
}

/* Parts of pages and whole ones, and no page at all; a page has 8 blocks, or a multiple of them. */
static void zeroes_what_it_is_told_to(void **state)
{
	const uint8_t write_same_10[10] = { 0x41, [5] = 3, [8] = 30 };
	const uint8_t write_same_unmap_10[10] = { 0x41, 0x08, [5] = 3, [8] = 30 };
	const uint8_t write_same_few_10[10] = { 0x41, 0x08, [5] = 9, [8] = 3 };
	const uint8_t unmap[10] = { 0x42, [8] = 24 };
	uint8_t parameters[24] = { 0, 22, 0, 16, [15] = 5, [19] = 27 };
	uint8_t zeroes[BLOCK_BYTES] = { 0 };

	(void)state;
	assert_zeroed(0, 64);
	send_good(write_same_10, zeroes, sizeof(zeroes));
	assert_zeroed(3, 30);
	send_good(write_same_unmap_10, zeroes, sizeof(zeroes));
	assert_zeroed(3, 30);
	send_good(write_same_few_10, zeroes, sizeof(zeroes));
	assert_zeroed(9, 3);
	send_good(unmap, parameters, sizeof(parameters));
	assert_zeroed(5, 27);
}

static void compares_and_writes(void **state)
{
	const uint8_t compare_and_write[16] = { 0x89, [9] = 1, [13] = 1 };
	uint8_t data[2 * BLOCK_BYTES] = { 0 }, back[BLOCK_BYTES], sense[TCMULIB_SENSE_BYTES];

	(void)state;
	memset(data + BLOCK_BYTES, 0x33, BLOCK_BYTES);
	send_good(compare_and_write, data, sizeof(data));
	read_blocks(1, 1, back);
	assert_memory_equal(back, data + BLOCK_BYTES, BLOCK_BYTES);
	assert_int_equal(standin_send(handler, &dev, compare_and_write, data, sizeof(data), sense),
			 TCMU_STS_PASSTHROUGH_ERR);
	assert_int_equal(sense[2] & 0x0f, 0x0e); /* MISCOMPARE */
}

static void refuses_what_lies_beyond(void **state)
{
	const uint8_t read_10[10] = { 0x28, [4] = (BLOCKS - 1) >> 8, (BLOCKS - 1) & 0xff, [8] = 2 };
	uint8_t data[2 * BLOCK_BYTES], sense[TCMULIB_SENSE_BYTES];

	(void)state;
	assert_int_equal(standin_send(handler, &dev, read_10, data, sizeof(data), sense),
			 TCMU_STS_PASSTHROUGH_ERR);
	assert_int_equal(sense[2] & 0x0f, 0x05);
	assert_int_equal(sense[12], 0x21);
}

static void stays_as_large_as_it_is(void **state)
{
	struct tcmulib_cfg_info grown = { .type = TCMULIB_CFG_DEV_SIZE,
					  .data.dev_size = 2 * SIZE_BYTES };

	(void)state;
	assert_int_equal(handler->reconfig(&dev, &grown), -EOPNOTSUPP);
	assert_non_null(strstr(standin_log(), "/scratch: cannot grow"));
	tells_what_it_is(state);
}

static void takes_its_own_options_only(void **state)
{
	char *reason = NULL;

	(void)state;
	assert_non_null(strstr(handler->cfg_desc, "io=inline|auto|async"));
	assert_true(handler->check_config("ram_example//a;io=inline", &reason));
	assert_false(handler->check_config("ram_example//a;io=none", &reason));
	assert_string_equal(
		reason, "option io does not take \"none\": write io=inline, io=auto or io=async");
	free(reason);
	assert_false(handler->check_config("ram_example//a;cache=none", &reason));
	assert_string_equal(reason, "there is no option \"cache\"; options are io");
	free(reason);
}

static void refuse_open(struct tcmu_device *lun, int error, const char *words)
{
	standin_log_clear();
	assert_int_equal(handler->open(lun, false), error);
	if (!strstr(standin_log(), words))
		fail_msg("the log lacks \"%s\":\n%s", words, standin_log());
	assert_null(lun->hm_private);
}

static void refuses_to_open_what_it_cannot_serve(void **state)
{
	struct tcmu_device lost = standin_device("ram_example//lost", SIZE_BYTES);
	struct tcmu_device huge = standin_device("ram_example//huge", UINT64_C(1) << 60);
	struct tcmu_device odd = standin_device("ram_example//a%0Ab", UINT64_C(1) << 60);

	(void)state;
	lost.enabled = 1; /* in use since before this daemon */
	refuse_open(&lost, -ENODATA, "/lost: its data went with the daemon that had it");
	refuse_open(&huge, -ENOMEM, "/huge: there is not enough memory");
	/* Not as the beginning of another line of the log. */
	refuse_open(&odd, -ENOMEM, "/a%0Ab: there is not enough memory");
}

#define TEST(function, options)                                                                    \
	{                                                                                          \
#function " " options, function, open_lun, close_lun, (void *)(uintptr_t)(options) \
	}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(tells_what_it_is, ""),
		TEST(keeps_what_is_written, ""),
		TEST(keeps_what_is_written, ";io=inline"),
		TEST(keeps_what_is_written, ";io=async"),
		TEST(zeroes_what_it_is_told_to, ""),
		TEST(zeroes_what_it_is_told_to, ";io=inline"),
		TEST(zeroes_what_it_is_told_to, ";io=async"),
		TEST(compares_and_writes, ""),
		TEST(compares_and_writes, ";io=inline"),
		TEST(compares_and_writes, ";io=async"),
		TEST(refuses_what_lies_beyond, ""),
		TEST(stays_as_large_as_it_is, ""),
		TEST(takes_its_own_options_only, ""),
		TEST(refuses_to_open_what_it_cannot_serve, ""),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	directory = argv[1];
	return standin_end(cmocka_run_group_tests(tests, NULL, NULL));
}
