/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

enum { SENSE_UNTOUCHED_BYTE = 0x99 };

const struct disk_setup disk_setup_default = {
	.blocks = 128,
	.block_bytes = 512,
	.memory = { .properties = { .discard_granularity_bytes = 512,
				    .discard_reads_zero = true } },
	.disk = { .write_cache = true },
};

static const size_t whole[] = { SPLIT_REST, SPLIT_END };
static const size_t page_and_odd[] = { 1, 4095, 511, 1, SPLIT_END };
static const size_t block_in_two[] = { 63, 449, SPLIT_END };
static const size_t with_empty[] = { 0, 300, 0, 212, 0, SPLIT_END };
static const size_t single[] = { 1, SPLIT_END };
const size_t *const disk_cuts[] = { whole, page_and_odd, block_in_two, with_empty, single };
const size_t disk_cut_count = ARRAY_COUNT(disk_cuts);

static void count_message(void *context, enum tcmu_ext_log_level level, const char *message)
{
	struct disk_fixture *fixture = context;

	(void)level;
	fixture->messages++;
	snprintf(fixture->last_message, sizeof(fixture->last_message), "%s", message);
}

void disk_fixture_open(struct disk_fixture *fixture, const struct disk_setup *setup)
{
	struct tcmu_ext_backend_operations operations = memory_backend_operations(setup->without);
	struct tcmu_ext_disk_config config = setup->disk;
	uint64_t size_bytes = setup->blocks * setup->block_bytes;

	*fixture = (struct disk_fixture){ .memory = setup->memory,
					  .blocks = setup->blocks,
					  .block_bytes = setup->block_bytes };
	assert_int_equal(memory_backend_open(&fixture->memory, &operations, size_bytes,
					     setup->block_bytes, &fixture->backend),
			 0);
	config.struct_bytes = sizeof(config);
	config.size_bytes = size_bytes;
	config.logical_block_bytes = setup->block_bytes;
	config.log = (struct tcmu_ext_log){ .write = count_message, .context = fixture };
	check(tcmu_ext_disk_create(fixture->backend, &config, &fixture->disk) == 0,
	      "no disk was made: %s", fixture->last_message);
	memory_backend_forget_calls(&fixture->memory);
}

void disk_fixture_close(struct disk_fixture *fixture)
{
	tcmu_ext_disk_destroy(fixture->disk);
	tcmu_ext_backend_close(fixture->backend);
	assert_false(fixture->memory.open);
	free(fixture->data);
	free(fixture->pattern);
}

/* The CDB and the sense data in memory of their exact size. */
static enum tcmu_ext_status execute(struct disk_fixture *fixture, struct cdb cdb,
				    struct iovec_split *split)
{
	uint8_t *cdb_bytes = malloc(cdb.count ? cdb.count : 1);
	uint8_t *sense = malloc(sizeof(fixture->sense));
	struct tcmu_ext_command command = { .cdb = cdb_bytes,
					    .cdb_bytes = cdb.count,
					    .iov = split->iov,
					    .iov_count = split->iov_count,
					    .sense = sense,
					    .sense_bytes = sizeof(fixture->sense) };
	enum tcmu_ext_status status;

	memcpy(cdb_bytes, cdb.bytes, cdb.count);
	memset(sense, SENSE_UNTOUCHED_BYTE, sizeof(fixture->sense));
	fixture->seen = (struct sense_seen){ .field_bit = -1 };
	status = tcmu_ext_disk_execute(fixture->disk, &command);
	assert_memory_equal(cdb_bytes, cdb.bytes, cdb.count);
	memcpy(fixture->sense, sense, sizeof(fixture->sense));
	free(cdb_bytes);
	free(sense);
	if (status == TCMU_EXT_STATUS_CHECK_CONDITION)
		fixture->seen = sense_decode(fixture->sense);
	if (status != TCMU_EXT_STATUS_NOT_MINE)
		return status;
	for (size_t i = 0; i < sizeof(fixture->sense); i++)
		assert_int_equal(fixture->sense[i], SENSE_UNTOUCHED_BYTE);
	if (split->kept_count)
		assert_memory_equal(split->array, split->kept,
				    split->kept_count * sizeof(*split->kept));
	return status;
}

static void keep_data(struct disk_fixture *fixture, const struct iovec_split *split)
{
	free(fixture->data);
	fixture->data = malloc(split->bytes ? split->bytes : 1);
	fixture->data_bytes = split->bytes;
	iovec_split_get(split, fixture->data);
}

enum tcmu_ext_status disk_command(struct disk_fixture *fixture, struct cdb cdb)
{
	return disk_data_in(fixture, cdb, 0, whole);
}

enum tcmu_ext_status disk_data_in(struct disk_fixture *fixture, struct cdb cdb, size_t bytes,
				  const size_t *cut)
{
	struct iovec_split split;
	enum tcmu_ext_status status;

	iovec_split_make(&split, bytes, cut);
	iovec_split_fill(&split, UNTOUCHED_BYTE);
	status = execute(fixture, cdb, &split);
	keep_data(fixture, &split);
	iovec_split_free(&split);
	if (status == TCMU_EXT_STATUS_NOT_MINE)
		for (size_t i = 0; i < bytes; i++)
			assert_int_equal(fixture->data[i], UNTOUCHED_BYTE);
	return status;
}

enum tcmu_ext_status disk_data_out(struct disk_fixture *fixture, struct cdb cdb, const void *source,
				   size_t bytes, const size_t *cut)
{
	struct iovec_split split;
	enum tcmu_ext_status status;

	iovec_split_make(&split, bytes, cut);
	iovec_split_set(&split, source);
	status = execute(fixture, cdb, &split);
	keep_data(fixture, &split);
	iovec_split_free(&split);
	/* What an initiator sends is read, never changed. */
	if (bytes)
		assert_memory_equal(fixture->data, source, bytes);
	return status;
}

static void print_sense(const struct disk_fixture *fixture, enum tcmu_ext_status status)
{
	const struct sense_seen *seen = &fixture->seen;

	print_error("status %d", (int)status);
	if (status == TCMU_EXT_STATUS_CHECK_CONDITION)
		print_error(", sense %02x/%02x/%02x, field in %d byte %d bit %d", seen->key,
			    seen->additional_sense >> 8, seen->additional_sense & 0xff,
			    (int)seen->field_in, seen->field_byte, seen->field_bit);
	print_error("\n");
}

static void expect_that(const struct disk_fixture *fixture, enum tcmu_ext_status status,
			bool condition, const char *file, int line)
{
	if (condition)
		return;
	print_sense(fixture, status);
	_fail(file, line);
}

void expect_good_at(const struct disk_fixture *fixture, enum tcmu_ext_status status,
		    const char *file, int line)
{
	expect_that(fixture, status, status == TCMU_EXT_STATUS_GOOD, file, line);
}

void expect_sense_at(const struct disk_fixture *fixture, enum tcmu_ext_status status, int key,
		     int additional_sense, const char *file, int line)
{
	expect_that(fixture, status,
		    status == TCMU_EXT_STATUS_CHECK_CONDITION && fixture->seen.key == key &&
			    fixture->seen.additional_sense == additional_sense,
		    file, line);
}

void expect_invalid_field_at(const struct disk_fixture *fixture, enum tcmu_ext_status status,
			     int byte, int bit, const char *file, int line)
{
	expect_sense_at(fixture, status, TCMU_EXT_ILLEGAL_REQUEST, TCMU_EXT_INVALID_FIELD_IN_CDB,
			file, line);
	expect_that(fixture, status,
		    fixture->seen.field_in == TCMU_EXT_FIELD_IN_CDB &&
			    fixture->seen.field_byte == byte &&
			    (bit < 0 || fixture->seen.field_bit == bit),
		    file, line);
}

/* 7 bits that repeat neither by the block nor by what the disk does at once. */
static uint8_t scrambled(size_t position, uint32_t seed)
{
	return (uint8_t)(((uint32_t)position * 2654435761u + seed) >> 25);
}

/* Made once: the medium is filled many times, and sanitizers are slow byte by byte. */
static void make_pattern(struct disk_fixture *fixture)
{
	size_t bytes = fixture->memory.window_bytes;

	fixture->pattern = malloc(bytes);
	/* 7 bits a byte: disk_fixture_new_data() has the eighth. */
	for (size_t i = 0; i < bytes; i++)
		fixture->pattern[i] = scrambled(i, 1);
}

void disk_fixture_fill_medium(struct disk_fixture *fixture)
{
	struct memory_backend *memory = &fixture->memory;

	if (!fixture->pattern)
		make_pattern(fixture);
	memcpy(memory->medium, fixture->pattern, memory->window_bytes);
	memcpy(memory->durable, fixture->pattern, memory->window_bytes);
	memset(memory->mapped, 1, memory->window_bytes / MEMORY_UNIT_BYTES);
}

uint8_t *disk_fixture_new_data(size_t bytes)
{
	uint8_t *data = malloc(bytes ? bytes : 1);

	for (size_t i = 0; i < bytes; i++)
		data[i] = 0x80 | scrambled(i, 0x5a5a5a5a);
	return data;
}
