/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* A disk on a memory backend, and commands to it. */
#ifndef DISK_FIXTURE_H
#define DISK_FIXTURE_H

#include <tcmu-ext/disk.h>

#include "cdb.h"
#include "iovec_split.h"
#include "memory_backend.h"
#include "sense_decode.h"

struct disk_setup {
	uint64_t blocks;
	uint32_t block_bytes;
	unsigned int without; /* optional backend operations left out: bit per memory_operation */
	struct memory_backend memory;
	struct tcmu_ext_disk_config disk; /* sizes and log are filled in */
};

/* 128 blocks of 512 bytes, write cache on, discard in units of a block, zeroes after it. */
extern const struct disk_setup disk_setup_default;

struct disk_fixture {
	struct memory_backend memory;
	struct tcmu_ext_backend *backend;
	struct tcmu_ext_disk *disk;
	uint64_t blocks;
	uint32_t block_bytes;
	uint8_t *pattern; /* of disk_fixture_fill_medium() */
	/* Of the last command: */
	uint8_t *data; /* what is in the data-in buffer; the fixture's */
	size_t data_bytes;
	uint8_t sense[TCMU_EXT_SENSE_BYTES];
	struct sense_seen seen; /* after CHECK CONDITION */
	unsigned int messages;
	char last_message[1100];
};

void disk_fixture_open(struct disk_fixture *fixture, const struct disk_setup *setup);
void disk_fixture_close(struct disk_fixture *fixture);

/* Ways to cut a buffer. Index 0 is one piece. */
extern const size_t *const disk_cuts[];
extern const size_t disk_cut_count;

/* What a data-in buffer holds before the command. */
enum { UNTOUCHED_BYTE = 0xee };

/*
 * Execute a command without data, with a data-in buffer of `bytes` bytes whose contents are
 * afterwards at fixture->data, or with a data-out buffer that holds `bytes` bytes of `source`. In
 * each case the CDB, the sense data and the array lie in memory of their exact size, guard bytes
 * lie around each segment, and a CHECK CONDITION comes with well-formed sense data, which is
 * decoded.
 */
enum tcmu_ext_status disk_command(struct disk_fixture *fixture, struct cdb cdb);
enum tcmu_ext_status disk_data_in(struct disk_fixture *fixture, struct cdb cdb, size_t bytes,
				  const size_t *cut);
enum tcmu_ext_status disk_data_out(struct disk_fixture *fixture, struct cdb cdb, const void *source,
				   size_t bytes, const size_t *cut);

/* Expectations on the last command. */
#define expect_good(fixture, status) expect_good_at(fixture, status, __FILE__, __LINE__)
#define expect_sense(fixture, status, key, additional_sense) \
	expect_sense_at(fixture, status, key, additional_sense, __FILE__, __LINE__)
/* INVALID FIELD IN CDB with a field pointer to `byte`, and to `bit` unless that is negative. */
#define expect_invalid_field(fixture, status, byte, bit) \
	expect_invalid_field_at(fixture, status, byte, bit, __FILE__, __LINE__)
#define expect_out_of_range(fixture, status)                    \
	expect_sense(fixture, status, TCMU_EXT_ILLEGAL_REQUEST, \
		     TCMU_EXT_LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE)

void expect_good_at(const struct disk_fixture *fixture, enum tcmu_ext_status status,
		    const char *file, int line);
void expect_sense_at(const struct disk_fixture *fixture, enum tcmu_ext_status status, int key,
		     int additional_sense, const char *file, int line);
void expect_invalid_field_at(const struct disk_fixture *fixture, enum tcmu_ext_status status,
			     int byte, int bit, const char *file, int line);

/* Fills the medium, all of it durable, with bytes that differ from block to block. */
void disk_fixture_fill_medium(struct disk_fixture *fixture);
/* Bytes that occur nowhere on such a medium, for writes. The caller frees them. */
uint8_t *disk_fixture_new_data(size_t bytes);

#endif
