/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * fuzz_disk_seeds FOLDER: writes inputs for fuzz_disk to begin with: each command of the disk,
 * alone and among others, on disks of each kind.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tcmu-ext/scsi.h>

#include "cdb.h"
#include "fuzz_disk_input.h"

enum { SEED_MAXIMUM_BYTES = 8192 };

struct seed {
	uint8_t bytes[SEED_MAXIMUM_BYTES];
	size_t count;
};

static void add_byte(struct seed *seed, int byte)
{
	if (seed->count < SEED_MAXIMUM_BYTES)
		seed->bytes[seed->count++] = (uint8_t)byte;
}

static void add_command(struct seed *seed, struct cdb cdb, int flags, int failure,
			const uint8_t *data, size_t bytes)
{
	const uint16_t buffer_bytes = 600;

	add_byte(seed, 0x53); /* cut */
	add_byte(seed, flags);
	add_byte(seed, failure);
	add_byte(seed, buffer_bytes >> 8);
	add_byte(seed, buffer_bytes & 0xff);
	for (size_t i = 0; i < CDB_BYTES; i++)
		add_byte(seed, cdb.bytes[i]);
	add_byte(seed, (int)bytes);
	for (size_t i = 0; i < bytes; i++)
		add_byte(seed, data[i]);
}

/* Each command with fields that make sense for it. */
static struct cdb sensible_cdb(uint8_t code)
{
	struct cdb cdb = cdb_blocks(code, 5, 3);

	switch (code) {
	case TCMU_EXT_TEST_UNIT_READY:
	case TCMU_EXT_READ_CAPACITY_10:
		return cdb_make(code);
	case TCMU_EXT_REQUEST_SENSE:
	case TCMU_EXT_INQUIRY:
		cdb = cdb_make(code);
		cdb.bytes[4] = 96;
		return cdb;
	case TCMU_EXT_SEND_DIAGNOSTIC:
		cdb = cdb_make(code);
		cdb.bytes[1] = 0x04;
		return cdb;
	case TCMU_EXT_START_STOP_UNIT:
		cdb = cdb_make(code);
		cdb.bytes[4] = 1;
		return cdb;
	case TCMU_EXT_MODE_SENSE_6:
	case TCMU_EXT_MODE_SENSE_10:
		cdb = cdb_make(code);
		cdb.bytes[2] = 0x3f;
		cdb.bytes[code == TCMU_EXT_MODE_SENSE_6 ? 4 : 8] = 255;
		return cdb;
	case TCMU_EXT_SERVICE_ACTION_IN_16:
		return cdb_service_action(code, TCMU_EXT_READ_CAPACITY_16, 32);
	case TCMU_EXT_MAINTENANCE_IN:
		return cdb_service_action(code, TCMU_EXT_REPORT_SUPPORTED_OPERATION_CODES, 500);
	case TCMU_EXT_COMPARE_AND_WRITE:
		cdb = cdb_make(code);
		cdb.bytes[9] = 5;
		cdb.bytes[13] = 2;
		return cdb;
	default:
		return cdb;
	}
}

static void add_unmap(struct seed *seed)
{
	uint8_t list[8 + 2 * 16] = { 0, 38, 0, 32, [15] = 4, [19] = 6, [31] = 40, [35] = 1 };
	struct cdb cdb = cdb_make(TCMU_EXT_UNMAP);

	cdb.bytes[8] = sizeof(list);
	add_command(seed, cdb, COMMAND_TAME, 0, list, sizeof(list));
}

/* EXTENDED COPY of one segment, without a list identifier. */
static void add_extended_copy(struct seed *seed)
{
	uint8_t list[16 + 32 + 28] = { [1] = 0x18,  [3] = 32,  [11] = 28, [16] = 0xe4,
				       [48] = 0x02, [51] = 24, [59] = 4,  [75] = 9 };
	struct cdb cdb = cdb_make(TCMU_EXT_EXTENDED_COPY);

	cdb.bytes[13] = sizeof(list);
	add_command(seed, cdb, 0, 0, list, sizeof(list));
}

/* MODE SELECT of a page as MODE SENSE would return it, with one byte changed. */
static void add_mode_select(struct seed *seed, uint8_t page, uint8_t length, size_t byte, int value)
{
	uint8_t list[4 + 20] = { [4] = page, [5] = length };
	struct cdb cdb = cdb_with(cdb_make(TCMU_EXT_MODE_SELECT_6), 1, 0x10);

	if (page == 0x0a) {
		list[6] = 0x02;
		list[7] = 0x10;
		list[9] = 0x40;
		list[12] = list[13] = 0xff;
	}
	list[4 + byte] = (uint8_t)value;
	cdb.bytes[4] = (uint8_t)(4 + 2 + length);
	add_command(seed, cdb, 0, 0, list, cdb.bytes[4]);
}

static void write_seed(const char *folder, const char *name, int number, const struct seed *seed)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s-%02x.seed", folder, name, (unsigned int)number);
	file = fopen(path, "wb");
	if (!file || fwrite(seed->bytes, 1, seed->count, file) != seed->count || fclose(file)) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(EXIT_FAILURE);
	}
}

static const uint8_t codes[] = {
	TCMU_EXT_TEST_UNIT_READY,
	TCMU_EXT_REQUEST_SENSE,
	TCMU_EXT_READ_6,
	TCMU_EXT_WRITE_6,
	TCMU_EXT_INQUIRY,
	TCMU_EXT_MODE_SENSE_6,
	TCMU_EXT_START_STOP_UNIT,
	TCMU_EXT_SEND_DIAGNOSTIC,
	TCMU_EXT_READ_CAPACITY_10,
	TCMU_EXT_READ_10,
	TCMU_EXT_WRITE_10,
	TCMU_EXT_WRITE_AND_VERIFY_10,
	TCMU_EXT_VERIFY_10,
	TCMU_EXT_PRE_FETCH_10,
	TCMU_EXT_SYNCHRONIZE_CACHE_10,
	TCMU_EXT_WRITE_SAME_10,
	TCMU_EXT_MODE_SENSE_10,
	TCMU_EXT_READ_16,
	TCMU_EXT_COMPARE_AND_WRITE,
	TCMU_EXT_WRITE_16,
	TCMU_EXT_ORWRITE_16,
	TCMU_EXT_WRITE_AND_VERIFY_16,
	TCMU_EXT_VERIFY_16,
	TCMU_EXT_PRE_FETCH_16,
	TCMU_EXT_SYNCHRONIZE_CACHE_16,
	TCMU_EXT_WRITE_SAME_16,
	TCMU_EXT_SERVICE_ACTION_IN_16,
	TCMU_EXT_MAINTENANCE_IN,
	TCMU_EXT_READ_12,
	TCMU_EXT_WRITE_12,
	TCMU_EXT_WRITE_AND_VERIFY_12,
	TCMU_EXT_VERIFY_12,
};

enum { CODE_COUNT = sizeof(codes) };

/* Every command between a write before and a read and a flush after it. */
static void write_single_seeds(const char *folder)
{
	for (size_t i = 0; i < CODE_COUNT; i++) {
		struct seed seed = { .count = 0 };
		struct cdb cdb = sensible_cdb(codes[i]);
		bool checks = codes[i] == TCMU_EXT_VERIFY_10 || codes[i] == TCMU_EXT_VERIFY_16;

		add_byte(&seed, SETUP_WRITE_CACHE | SETUP_DISCARD | SETUP_DISCARD_READS_ZERO);
		add_command(&seed, cdb_blocks(TCMU_EXT_WRITE_10, 4, 8), COMMAND_FIT, 0, NULL, 0);
		add_command(&seed, checks ? cdb_with(cdb, 1, 0x02) : cdb,
			    COMMAND_FIT | COMMAND_AGREE, 0, NULL, 0);
		add_command(&seed, cdb, COMMAND_FIT | COMMAND_ZEROES, 0, NULL, 0);
		add_command(&seed, cdb, 0, 0, NULL, 0);
		add_command(&seed, cdb_blocks(TCMU_EXT_READ_16, 0, 64), COMMAND_FIT, 0, NULL, 0);
		add_command(&seed, cdb_make(TCMU_EXT_SYNCHRONIZE_CACHE_10), 0, 0, NULL, 0);
		write_seed(folder, "command", codes[i], &seed);
	}
}

/* All commands one after another on each kind of disk, with and without failures. */
static void write_mixed_seeds(const char *folder)
{
	for (int setup = 0; setup < 0x80; setup++) {
		struct seed seed = { .count = 0 };

		add_byte(&seed, setup);
		add_unmap(&seed);
		add_extended_copy(&seed);
		add_mode_select(&seed, 0x08, 0x12, 2, setup & SETUP_WRITE_CACHE ? 0 : 4);
		add_mode_select(&seed, 0x0a, 0x0a, 2, 0x06);
		for (size_t i = 0; i < CODE_COUNT; i++)
			add_command(&seed,
				    sensible_cdb(codes[(i * 7 + (size_t)setup) % CODE_COUNT]),
				    COMMAND_FIT | COMMAND_TAME | ((setup + (int)i) & 0x0c),
				    i % 3 ? 0 : (setup * 29 + (int)i * 16) & 0xff, NULL, 0);
		write_seed(folder, "mixed", setup, &seed);
	}
}

static void add_plain(struct seed *seed, struct cdb cdb)
{
	add_command(seed, cdb, 0, 0, NULL, 0);
}

static void add_page(struct seed *seed, uint8_t page)
{
	struct cdb cdb = cdb_with(cdb_make(TCMU_EXT_INQUIRY), 1, 0x01);

	cdb.bytes[2] = page;
	cdb.bytes[4] = 255;
	add_plain(seed, cdb);
}

/* REPORT SUPPORTED OPERATION CODES about one command. */
static void add_report(struct seed *seed, uint8_t options, uint8_t code, uint8_t service_action)
{
	struct cdb cdb = cdb_service_action(TCMU_EXT_MAINTENANCE_IN,
					    TCMU_EXT_REPORT_SUPPORTED_OPERATION_CODES, 500);

	cdb.bytes[2] = options;
	cdb.bytes[3] = code;
	cdb.bytes[5] = service_action;
	add_plain(seed, cdb);
}

/* What no chance hits upon: pages, service actions and the bits that make other commands of one. */
static void write_detail_seed(const char *folder, int setup)
{
	const uint8_t reports = TCMU_EXT_REPORT_SUPPORTED_OPERATION_CODES;
	struct cdb same = cdb_blocks(TCMU_EXT_WRITE_SAME_16, 8, 16);
	struct seed seed = { .count = 0 };

	add_byte(&seed, setup);
	for (uint8_t page = 0xb0; page <= 0xb3; page++)
		add_page(&seed, page);
	add_page(&seed, 0);
	add_report(&seed, 0x80, 0, 0);
	add_report(&seed, 0x01, TCMU_EXT_READ_10, 0);
	add_report(&seed, 0x82, TCMU_EXT_MAINTENANCE_IN, reports);
	add_report(&seed, 0x83, TCMU_EXT_SERVICE_ACTION_IN_16, TCMU_EXT_GET_LBA_STATUS);
	add_report(&seed, 0x03, 0xff, 0);
	add_plain(&seed,
		  cdb_service_action(TCMU_EXT_MAINTENANCE_IN,
				     TCMU_EXT_REPORT_SUPPORTED_TASK_MANAGEMENT_FUNCTIONS, 16));
	add_command(&seed, cdb_with(same, 1, 0x08), COMMAND_FIT | COMMAND_ZEROES, 0, NULL, 0);
	add_plain(&seed, cdb_with(same, 1, 0x09));
	add_plain(&seed,
		  cdb_service_action(TCMU_EXT_SERVICE_ACTION_IN_16, TCMU_EXT_GET_LBA_STATUS, 200));
	write_seed(folder, "detail", setup, &seed);
}

int main(int argument_count, char **arguments)
{
	if (argument_count != 2) {
		fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
		return EXIT_FAILURE;
	}
	if (mkdir(arguments[1], 0777) && errno != EEXIST) {
		fprintf(stderr, "%s: %s\n", arguments[1], strerror(errno));
		return EXIT_FAILURE;
	}
	write_single_seeds(arguments[1]);
	write_mixed_seeds(arguments[1]);
	for (int setup = 0; setup < 0x80; setup++)
		write_detail_seed(arguments[1], setup);
	return EXIT_SUCCESS;
}
