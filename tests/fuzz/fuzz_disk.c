/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The disk on a memory backend under a sequence of commands: any CDB, any data, any cut of the
 * buffer, with the backend failing now and then. After each command the medium is compared with a
 * model of what the standard says.
 *
 * The input: one byte of set-up, then for each command one byte of cut, one of flags, one of
 * failure, two of buffer length, sixteen of CDB, and a byte that says how many bytes of the
 * data-out buffer follow. The rest of the buffer is derived from these.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tcmu-ext/disk.h>
#include <tcmu-ext/iovec.h>

#include "cdb.h"
#include "disk_model.h"
#include "fuzz_disk_input.h"
#include "fuzz_input.h"
#include "iovec_split.h"
#include "memory_backend.h"
#include "sense_decode.h"
#include "test_failure.h"

enum {
	MEDIUM_BYTES = 128 * 1024, /* more than the disk does at once */
	BUFFER_MAXIMUM_BYTES = 2 * MEDIUM_BYTES,
	FORCE_UNIT_ACCESS = 0x08,
	COMMANDS_MAXIMUM = 24,
};

struct fuzz {
	struct memory_backend memory;
	struct tcmu_ext_backend *backend;
	struct tcmu_ext_disk *disk;
	struct disk_model model;
	uint8_t *before; /* the medium before the command */
	bool write_protect;
	bool flush_failed; /* or may have: every flush may fail from then on */
	struct fuzz_input input;
};

/* One command and what came of it. */
struct command {
	uint8_t cdb[CDB_BYTES];
	size_t cdb_bytes;
	uint8_t *data; /* the buffer before, then after */
	uint8_t *after;
	size_t bytes;
	bool may_fail; /* the backend was told to, or flushes fail since an earlier command */
	enum tcmu_ext_status status;
	struct sense_seen sense;
};

/* Zeroes, or a pattern whose period is no divisor of a block. */
static void fill(uint8_t *data, size_t bytes, bool zeroes)
{
	const size_t period = 251;

	if (zeroes) {
		memset(data, 0, bytes);
		return;
	}
	for (size_t i = 0; i < bytes && i < period; i++)
		data[i] = (uint8_t)(i * 11 + 0x55);
	for (size_t filled = period; filled < bytes; filled *= 2)
		memcpy(data + filled, data, bytes - filled < filled ? bytes - filled : filled);
}

static void open_disk(struct fuzz *fuzz, uint8_t setup)
{
	const unsigned int optional = 1u << MEMORY_WRITE_ZEROES | 1u << MEMORY_DISCARD |
				      1u << MEMORY_ALLOCATION | 1u << MEMORY_PREFETCH;
	const unsigned int without = setup & SETUP_BARE_BACKEND ? optional : 0;
	const struct tcmu_ext_backend_operations operations = memory_backend_operations(without);
	const uint32_t block_bytes = setup & SETUP_LARGE_BLOCKS ? 4096 : 512;
	const struct tcmu_ext_disk_config config = { .struct_bytes = sizeof(config),
						     .size_bytes = MEDIUM_BYTES,
						     .logical_block_bytes = block_bytes,
						     .write_cache = setup & SETUP_WRITE_CACHE,
						     .write_protect = setup & SETUP_WRITE_PROTECT,
						     .unit_serial_number = "fuzz" };

	fuzz->write_protect = setup & (SETUP_WRITE_PROTECT | SETUP_READ_ONLY);
	fuzz->memory.properties = (struct tcmu_ext_backend_properties){
		.read_only = setup & SETUP_READ_ONLY,
		.discard_granularity_bytes = setup & SETUP_DISCARD ? 1024 : 0,
		.discard_reads_zero = setup & SETUP_DISCARD_READS_ZERO,
	};
	check(!memory_backend_open(&fuzz->memory, &operations, MEDIUM_BYTES, block_bytes,
				   &fuzz->backend),
	      "no backend");
	check(!tcmu_ext_disk_create(fuzz->backend, &config, &fuzz->disk), "no disk");
	fuzz->model = (struct disk_model){ .medium = malloc(MEDIUM_BYTES),
					   .blocks = MEDIUM_BYTES / block_bytes,
					   .block_bytes = block_bytes,
					   .unmapped_reads_zero = setup & SETUP_DISCARD_READS_ZERO,
					   .anything = malloc(MEDIUM_BYTES / block_bytes) };
	fuzz->before = malloc(MEDIUM_BYTES);
	fill(fuzz->memory.medium, MEDIUM_BYTES, false);
	memcpy(fuzz->memory.durable, fuzz->memory.medium, MEDIUM_BYTES);
}

static void close_disk(struct fuzz *fuzz)
{
	tcmu_ext_disk_destroy(fuzz->disk);
	tcmu_ext_backend_close(fuzz->backend);
	free(fuzz->model.medium);
	free(fuzz->model.anything);
	free(fuzz->before);
}

/* Address and length just up to the medium's end or a little beyond. */
static void tame(const struct fuzz *fuzz, uint8_t *cdb)
{
	const uint64_t limit = fuzz->model.blocks + 2;
	const size_t count = cdb_make(cdb[0]).count;
	struct model_range range;

	if (!model_range_of(cdb, &range) || count == 6)
		return;
	field_put(cdb + 2, count == 16 ? 8 : 4, range.lba % limit);
	if (cdb[0] == TCMU_EXT_COMPARE_AND_WRITE)
		cdb[13] %= 10;
	else
		field_put(cdb + (count == 10   ? 7
				 : count == 12 ? 6
					       : 10),
			  count == 10 ? 2 : 4, range.blocks % limit);
}

/* The same for each descriptor of an UNMAP parameter list. */
static void tame_list(const struct fuzz *fuzz, struct command *command)
{
	const uint64_t limit = fuzz->model.blocks + 2;

	for (size_t at = 8; at + 16 <= command->bytes; at += 16) {
		uint8_t *descriptor = command->data + at;

		field_put(descriptor, 8, field_get(descriptor, 8) % limit);
		field_put(descriptor + 8, 4, field_get(descriptor + 8, 4) % 9);
	}
}

static void make_data(struct fuzz *fuzz, struct command *command, uint8_t flags)
{
	size_t given = fuzz_byte(&fuzz->input);
	struct model_range range;
	size_t bytes;

	fill(command->data, command->bytes, flags & COMMAND_ZEROES);
	if (flags & COMMAND_AGREE && model_range_of(command->cdb, &range) &&
	    model_holds(&fuzz->model, range)) {
		bytes = range.blocks * fuzz->model.block_bytes;
		if (bytes > command->bytes)
			bytes = command->bytes;
		memcpy(command->data, fuzz->memory.medium + range.lba * fuzz->model.block_bytes,
		       bytes);
	}
	for (size_t i = 0; i < given && i < command->bytes; i++)
		command->data[i] = fuzz_byte(&fuzz->input);
	if (flags & COMMAND_TAME && command->cdb[0] == TCMU_EXT_UNMAP)
		tame_list(fuzz, command);
}

/* Four bits choose the operation that fails, four the error; 0 is no failure. */
static bool arm_failure(struct fuzz *fuzz, uint8_t choice)
{
	static const int errors[] = { EIO,   ENOSPC, EDQUOT, EROFS,    EPERM,  ENODEV,
				      ENXIO, EAGAIN, ENOMEM, EINVAL,   EILSEQ, EOPNOTSUPP,
				      EBADF, EFBIG,  EINTR,  ETIMEDOUT };
	unsigned int operation = choice & 0x0f;

	memset(fuzz->memory.failures, 0, sizeof(fuzz->memory.failures));
	if (operation >= MEMORY_RESIZE || !choice)
		return false;
	memory_backend_fail(&fuzz->memory, operation, errors[choice >> 4], (choice & 0xf0u) * 40u);
	fuzz->memory.failures[operation].countdown = 1 + (choice >> 6);
	if (operation == MEMORY_FLUSH || operation == MEMORY_WRITE)
		fuzz->flush_failed = true;
	return true;
}

static void next_command(struct fuzz *fuzz, struct command *command)
{
	uint8_t flags = fuzz_byte(&fuzz->input);

	command->may_fail = arm_failure(fuzz, fuzz_byte(&fuzz->input)) || fuzz->flush_failed;
	command->bytes = fuzz_16(&fuzz->input);
	for (size_t i = 0; i < CDB_BYTES; i++)
		command->cdb[i] = fuzz_byte(&fuzz->input);
	command->cdb_bytes = flags & COMMAND_SHORT_CDB ? flags >> 3 & 0x0f : CDB_BYTES;
	if (flags & COMMAND_TAME)
		tame(fuzz, command->cdb);
	if (flags & COMMAND_FIT)
		command->bytes = model_buffer_bytes(&fuzz->model, command->cdb);
	if (command->bytes > BUFFER_MAXIMUM_BYTES)
		command->bytes = BUFFER_MAXIMUM_BYTES;
	command->data = malloc(command->bytes + 1);
	command->after = malloc(command->bytes + 1);
	make_data(fuzz, command, flags);
}

/* What the disk leaves to its caller it may be asked to check. */
static enum tcmu_ext_status execute_call(struct tcmu_ext_disk *disk, struct tcmu_ext_command *call)
{
	static const struct tcmu_ext_copy_limits limits = { 2, 3, 1024 };
	enum tcmu_ext_status status = tcmu_ext_disk_execute(disk, call);

	if (status == TCMU_EXT_STATUS_NOT_MINE && call->cdb[0] == TCMU_EXT_EXTENDED_COPY)
		status = tcmu_ext_disk_check_extended_copy(disk, call, &limits);
	return status;
}

static void execute(struct fuzz *fuzz, struct command *command, uint8_t cut)
{
	/* Few long segments, or many short ones; some empty. */
	const size_t lengths[] = { (cut & 0x0fu) * 37, cut & 0x20u ? 0 : 512,
				   cut & 0x40u ? 4096 : 1 + cut, SPLIT_END };
	uint8_t *cdb = malloc(command->cdb_bytes + 1), *sense = malloc(TCMU_EXT_SENSE_BYTES);
	struct iovec_split split;
	struct tcmu_ext_command call;

	iovec_split_make(&split, command->bytes, lengths);
	iovec_split_set(&split, command->data);
	memcpy(cdb, command->cdb, command->cdb_bytes);
	call = (struct tcmu_ext_command){ .cdb = cdb,
					  .cdb_bytes = command->cdb_bytes,
					  .iov = split.iov,
					  .iov_count = split.iov_count,
					  .sense = sense,
					  .sense_bytes = TCMU_EXT_SENSE_BYTES };
	command->status = execute_call(fuzz->disk, &call);
	if (command->status == TCMU_EXT_STATUS_CHECK_CONDITION)
		command->sense = sense_decode(sense);
	if (command->status == TCMU_EXT_STATUS_NOT_MINE && split.kept_count)
		check(!memcmp(split.array, split.kept, split.kept_count * sizeof(*split.kept)),
		      "entries of a command that is not the disk's were changed");
	iovec_split_get(&split, command->after);
	iovec_split_free(&split);
	free(cdb);
	free(sense);
}

static void check_status(const struct command *command)
{
	switch (command->status) {
	case TCMU_EXT_STATUS_GOOD:
		check(command->cdb_bytes == CDB_BYTES ||
			      command->cdb_bytes >= cdb_make(command->cdb[0]).count,
		      "%zu bytes of CDB were enough", command->cdb_bytes);
		break;
	case TCMU_EXT_STATUS_CHECK_CONDITION:
		check(command->sense.key > TCMU_EXT_RECOVERED_ERROR, "sense key %x",
		      command->sense.key);
		break;
	case TCMU_EXT_STATUS_BUSY:
	case TCMU_EXT_STATUS_TASK_SET_FULL:
		check(command->may_fail, "busy without a cause");
		break;
	default:
		check(command->status == TCMU_EXT_STATUS_NOT_MINE, "status %d",
		      (int)command->status);
		check(!memcmp(command->data, command->after, command->bytes),
		      "data of a command that is not the disk's was changed");
	}
}

static bool block_differs(const uint8_t *a, const uint8_t *b, size_t block, uint32_t block_bytes)
{
	return memcmp(a + block * block_bytes, b + block * block_bytes, block_bytes) != 0;
}

/* Each byte of a block that a failing command left: as it was, or as it was to become. */
static void check_partial_block(const struct fuzz *fuzz, size_t block)
{
	const size_t from = block * fuzz->model.block_bytes;

	for (size_t i = from; i < from + fuzz->model.block_bytes; i++)
		check(fuzz->memory.medium[i] == fuzz->before[i] ||
			      fuzz->memory.medium[i] == fuzz->model.medium[i],
		      "byte %zu is neither old nor new", i);
}

/* What the model says there must be now; where a failure came between, what there was as well. */
static void check_medium(struct fuzz *fuzz, const struct command *command)
{
	const uint32_t block_bytes = fuzz->model.block_bytes;
	bool good = command->status == TCMU_EXT_STATUS_GOOD;

	memcpy(fuzz->model.medium, fuzz->before, MEDIUM_BYTES);
	memset(fuzz->model.anything, 0, fuzz->model.blocks);
	if (good || (command->may_fail && fuzz->memory.counts[MEMORY_FLUSH] +
						  fuzz->memory.counts[MEMORY_WRITE] +
						  fuzz->memory.counts[MEMORY_DISCARD] +
						  fuzz->memory.counts[MEMORY_WRITE_ZEROES]))
		model_execute(&fuzz->model, command->cdb, command->data, command->bytes);
	if (!memcmp(fuzz->model.medium, fuzz->memory.medium, MEDIUM_BYTES))
		return;
	for (size_t block = 0; block < fuzz->model.blocks; block++) {
		if (!block_differs(fuzz->model.medium, fuzz->memory.medium, block, block_bytes) ||
		    fuzz->model.anything[block])
			continue;
		check(!good && command->may_fail,
		      "operation %02x, status %d: block %zu is not what it must be",
		      command->cdb[0], (int)command->status, block);
		check_partial_block(fuzz, block);
	}
}

static void check_read(const struct fuzz *fuzz, const struct command *command)
{
	struct model_range range;
	size_t bytes;

	if (command->status != TCMU_EXT_STATUS_GOOD || !model_reads(command->cdb[0]) ||
	    !model_range_of(command->cdb, &range))
		return;
	bytes = range.blocks * fuzz->model.block_bytes;
	check(bytes <= command->bytes, "a buffer %zu bytes too short was filled",
	      bytes - command->bytes);
	check(!memcmp(command->after, fuzz->before + range.lba * fuzz->model.block_bytes, bytes),
	      "what was read is not what is there");
	check(tcmu_ext_iovec_is_zero(&(struct iovec){ command->after, command->bytes }, 1, bytes,
				     command->bytes - bytes),
	      "what lies beyond what was read is not cleared");
}

/* Good when all agrees, MISCOMPARE when not, with the offset if the standard says so. */
static void check_comparison(const struct fuzz *fuzz, const struct command *command)
{
	struct disk_model before = fuzz->model;
	size_t agreeing, bytes;
	struct model_range range;
	bool miscompared = command->status == TCMU_EXT_STATUS_CHECK_CONDITION &&
			   command->sense.key == TCMU_EXT_MISCOMPARE;

	before.medium = fuzz->before;
	agreeing = model_compare(&before, command->cdb, command->data, command->bytes);
	if (agreeing == SIZE_MAX) {
		check(!miscompared, "operation %02x compares nothing", command->cdb[0]);
		return;
	}
	model_range_of(command->cdb, &range);
	bytes = range.blocks * before.block_bytes;
	if (command->status == TCMU_EXT_STATUS_GOOD)
		check(agreeing == bytes, "a difference at %zu of %zu was overlooked", agreeing,
		      bytes);
	if (!miscompared)
		return;
	check(agreeing < bytes, "a miscompare of what agrees");
	check(command->cdb[0] != TCMU_EXT_COMPARE_AND_WRITE ||
		      (command->sense.information_valid && command->sense.information == agreeing),
	      "a miscompare at %zu was reported at %llu", agreeing,
	      (unsigned long long)command->sense.information);
}

static bool forces_unit_access(const uint8_t *cdb)
{
	switch (cdb[0]) {
	case TCMU_EXT_WRITE_10:
	case TCMU_EXT_WRITE_12:
	case TCMU_EXT_WRITE_16:
	case TCMU_EXT_ORWRITE_16:
	case TCMU_EXT_COMPARE_AND_WRITE:
		return cdb[1] & FORCE_UNIT_ACCESS;
	default:
		return false;
	}
}

/* With the cache off, or FUA, whatever changed is durable when the command is good. */
static void check_durability(const struct fuzz *fuzz, const struct command *command,
			     bool cache_was_off)
{
	bool durable = model_writes(command->cdb[0]) &&
		       (cache_was_off || forces_unit_access(command->cdb));
	bool flushed = command->cdb[0] == TCMU_EXT_SYNCHRONIZE_CACHE_10 ||
		       command->cdb[0] == TCMU_EXT_SYNCHRONIZE_CACHE_16;

	if (command->status != TCMU_EXT_STATUS_GOOD)
		return;
	if (!flushed && !durable)
		return;
	for (size_t block = 0; block < fuzz->model.blocks; block++) {
		if (!flushed && !block_differs(fuzz->before, fuzz->memory.medium, block,
					       fuzz->model.block_bytes))
			continue;
		check(!block_differs(fuzz->memory.durable, fuzz->memory.medium, block,
				     fuzz->model.block_bytes),
		      "operation %02x: block %zu is not durable", command->cdb[0], block);
	}
}

static void check_protection(const struct fuzz *fuzz)
{
	if (!fuzz->write_protect)
		return;
	check(!fuzz->memory.counts[MEMORY_WRITE] && !fuzz->memory.counts[MEMORY_WRITE_ZEROES] &&
		      !fuzz->memory.counts[MEMORY_DISCARD],
	      "a protected medium was written");
}

static void run_command(struct fuzz *fuzz)
{
	struct command command = { .status = TCMU_EXT_STATUS_GOOD };
	bool cache_was_off = !tcmu_ext_disk_get_write_cache(fuzz->disk);
	uint8_t cut = fuzz_byte(&fuzz->input);

	next_command(fuzz, &command);
	memcpy(fuzz->before, fuzz->memory.medium, MEDIUM_BYTES);
	memory_backend_forget_calls(&fuzz->memory);
	execute(fuzz, &command, cut);
	check_status(&command);
	check_medium(fuzz, &command);
	check_read(fuzz, &command);
	check_comparison(fuzz, &command);
	check_durability(fuzz, &command, cache_was_off);
	check_protection(fuzz);
	if (model_writes(command.cdb[0]))
		check(!memcmp(command.data, command.after, command.bytes),
		      "operation %02x changed its data-out buffer", command.cdb[0]);
	free(command.data);
	free(command.after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz fuzz = { .input = { data, bytes } };

	open_disk(&fuzz, fuzz_byte(&fuzz.input));
	for (int i = 0; fuzz.input.bytes && i < COMMANDS_MAXIMUM; i++)
		run_command(&fuzz);
	close_disk(&fuzz);
	return 0;
}
