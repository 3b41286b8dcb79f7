/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The life of a disk, and what is done to it other than by commands. */
#include "disk/disk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tcmu-ext/iovec.h>

#include "disk/command_table.h"
#include "disk/outcome.h"
#include "disk/read_write.h"
#include "disk/submit.h"
#include "engine/engine.h"

enum {
	LOGICAL_BLOCK_MINIMUM_BYTES = 512,
	LOGICAL_BLOCK_MAXIMUM_BYTES = 4096,
	/* What tcm_loop carries in one command: 256 segments of a page. */
	DEFAULT_TRANSFER_BYTES = 1024 * 1024,
	SCRATCH_ALIGNMENT = 4096,
	OTHER_COMMANDS_MAXIMUM = 256,
};

/* Copies text into a field that INQUIRY pads with spaces (SPC-4 4.4.1). */
static void copy_padded(char *field, size_t field_bytes, const char *text)
{
	memset(field, ' ', field_bytes);
	memcpy(field, text, strnlen(text, field_bytes));
}

static bool fits_ascii_field(const char *text, size_t field_bytes)
{
	size_t bytes = text ? strlen(text) : 0;

	for (size_t i = 0; i < bytes; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	return bytes <= field_bytes;
}

static int refuse(const struct tcmu_ext_log *log, const char *why)
{
	log_message(log, TCMU_EXT_LOG_ERROR, "%s", why);
	return -EINVAL;
}

static int check_other_commands(const struct tcmu_ext_disk_config *config)
{
	if (config->other_command_count > OTHER_COMMANDS_MAXIMUM)
		return refuse(&config->log, "there are too many other commands to report");
	for (size_t i = 0; i < config->other_command_count; i++)
		if (config->other_commands[i].cdb_bytes > CDB_MAXIMUM_BYTES)
			return refuse(&config->log,
				      "another command's CDB is longer than 16 bytes");
	return 0;
}

static int check_texts(const struct tcmu_ext_disk_config *config)
{
	if (!fits_ascii_field(config->vendor_identification, VENDOR_IDENTIFICATION_BYTES) ||
	    !fits_ascii_field(config->product_identification, PRODUCT_IDENTIFICATION_BYTES) ||
	    !fits_ascii_field(config->product_revision_level, PRODUCT_REVISION_LEVEL_BYTES) ||
	    !fits_ascii_field(config->unit_serial_number, UNIT_SERIAL_NUMBER_MAXIMUM_BYTES))
		return refuse(&config->log, "an identification text is too long or not ASCII");
	return 0;
}

static bool is_block_size(uint32_t bytes)
{
	return bytes >= LOGICAL_BLOCK_MINIMUM_BYTES && bytes <= LOGICAL_BLOCK_MAXIMUM_BYTES &&
	       !(bytes & (bytes - 1));
}

int tcmu_ext_disk_config_check(const struct tcmu_ext_disk_config *config)
{
	/* Said to nobody: the log is among what may be missing. */
	if (config->struct_bytes < sizeof(*config))
		return -EINVAL;
	if (!is_block_size(config->logical_block_bytes))
		return refuse(&config->log, "the logical block size must be 512, 1024, 2048 or "
					    "4096 bytes: set hw_block_size to one of them");
	if (config->size_bytes < config->logical_block_bytes)
		return refuse(&config->log, "the size is less than one logical block");
	if (config->size_bytes > INT64_MAX)
		return refuse(&config->log, "the size is more than a file or device can have");
	if (config->target_port_group_support > 3)
		return refuse(&config->log, "there is no such target port group support");
	if (check_other_commands(config))
		return -EINVAL;
	return check_texts(config);
}

static int check_backend(const struct tcmu_ext_backend *backend,
			 const struct tcmu_ext_disk_config *config)
{
	const struct tcmu_ext_backend_properties *properties = &backend->properties;

	if (config->size_bytes > properties->size_bytes)
		return refuse(&config->log, "the backing is shorter than the disk");
	if (config->logical_block_bytes % properties->logical_block_bytes)
		return refuse(&config->log, "the backing cannot transfer single logical blocks of "
					    "this size: set hw_block_size to the backing's");
	return 0;
}

static void set_identity(struct tcmu_ext_disk *disk, const struct tcmu_ext_disk_config *config)
{
	const char *vendor = config->vendor_identification;
	const char *product = config->product_identification;
	const char *revision = config->product_revision_level;

	copy_padded(disk->vendor_identification, sizeof(disk->vendor_identification),
		    vendor ? vendor : "TCMU-EXT");
	copy_padded(disk->product_identification, sizeof(disk->product_identification),
		    product ? product : disk->backend->operations.name);
	copy_padded(disk->product_revision_level, sizeof(disk->product_revision_level),
		    revision ? revision : TCMU_EXT_REVISION);
	if (config->unit_serial_number)
		strcpy(disk->unit_serial_number, config->unit_serial_number);
}

static void set_geometry(struct tcmu_ext_disk *disk, const struct tcmu_ext_disk_config *config)
{
	uint64_t spare_bytes = config->size_bytes % config->logical_block_bytes;

	disk->block_shift = (unsigned int)__builtin_ctz(config->logical_block_bytes);
	atomic_init(&disk->block_count, config->size_bytes >> disk->block_shift);
	disk->maximum_transfer_blocks = config->maximum_transfer_blocks;
	if (!disk->maximum_transfer_blocks)
		disk->maximum_transfer_blocks = DEFAULT_TRANSFER_BYTES >> disk->block_shift;
	if (spare_bytes)
		log_message(&config->log, TCMU_EXT_LOG_WARNING,
			    "the size is not a whole number of logical blocks: the last %" PRIu64
			    " bytes are not used",
			    spare_bytes);
}

static int allocate_parts(struct tcmu_ext_disk *disk, const struct tcmu_ext_disk_config *config)
{
	size_t bytes = config->other_command_count * sizeof(*config->other_commands);

	disk->lane.scratch = aligned_alloc(SCRATCH_ALIGNMENT, SCRATCH_BYTES);
	disk->other_commands = malloc(bytes ? bytes : 1);
	if (!disk->lane.scratch || !disk->other_commands)
		return -ENOMEM;
	if (bytes)
		memcpy(disk->other_commands, config->other_commands, bytes);
	disk->other_command_count = config->other_command_count;
	return 0;
}

int tcmu_ext_disk_create(struct tcmu_ext_backend *backend,
			 const struct tcmu_ext_disk_config *config, struct tcmu_ext_disk **disk_out)
{
	int error = tcmu_ext_disk_config_check(config);
	struct tcmu_ext_disk *disk;

	*disk_out = NULL;
	if (!error)
		error = check_backend(backend, config);
	if (error)
		return error;
	disk = calloc(1, sizeof(*disk));
	if (!disk)
		return -ENOMEM;
	pthread_mutex_init(&disk->flush_lock, NULL);
	error = allocate_parts(disk, config);
	if (error)
		goto destroy;
	disk->backend = backend;
	disk->log = config->log;
	disk->write_protect = config->write_protect || backend->properties.read_only;
	disk->target_port_group_support = config->target_port_group_support;
	disk->task_management_functions = config->task_management_functions;
	disk->default_write_cache = config->write_cache;
	atomic_init(&disk->write_cache, config->write_cache);
	set_geometry(disk, config);
	set_identity(disk, config);
	command_table_index(disk->first_row);
	/* Last, since its threads take the disk for complete. */
	error = submit_init(disk, config->io);
	if (error)
		goto destroy;
	*disk_out = disk;
	return 0;

destroy:
	tcmu_ext_disk_destroy(disk);
	return error;
}

void tcmu_ext_disk_destroy(struct tcmu_ext_disk *disk)
{
	if (!disk)
		return;
	submit_release(disk);
	pthread_mutex_destroy(&disk->flush_lock);
	free(disk->other_commands);
	free(disk->lane.scratch);
	free(disk);
}

int tcmu_ext_disk_resize(struct tcmu_ext_disk *disk, uint64_t size_bytes)
{
	uint64_t block_count = size_bytes >> disk->block_shift;
	int error;

	if (size_bytes > INT64_MAX || block_count < disk_block_count(disk))
		return -EINVAL;
	if (block_count == disk_block_count(disk))
		return 0;
	error = backend_resize(disk->backend, size_bytes);
	/* A new size must last, too. */
	if (!error)
		error = disk_flush(disk);
	if (!error)
		atomic_store_explicit(&disk->block_count, block_count, memory_order_release);
	return error;
}

int tcmu_ext_disk_set_write_cache(struct tcmu_ext_disk *disk, bool enabled)
{
	int error;

	/* From here on writes are durable by themselves; the flush is for those before. */
	if (!atomic_exchange(&disk->write_cache, enabled) || enabled)
		return 0;
	error = disk_flush(disk);
	if (error)
		atomic_store(&disk->write_cache, true);
	return error;
}

bool tcmu_ext_disk_get_write_cache(const struct tcmu_ext_disk *disk)
{
	return atomic_load(&disk->write_cache);
}

static void add_counters(struct tcmu_ext_disk_counters *sum, const struct tcmu_ext_lane *lane)
{
	const uint64_t *from = (const uint64_t *)&lane->counters;
	uint64_t *to = (uint64_t *)sum;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

void tcmu_ext_disk_get_counters(const struct tcmu_ext_disk *disk,
				struct tcmu_ext_disk_counters *counters, size_t counters_bytes)
{
	struct tcmu_ext_disk_counters sum = { 0 };

	add_counters(&sum, &disk->lane);
	for (unsigned int i = 0; disk->engine_lanes && i < ENGINE_THREADS; i++)
		add_counters(&sum, &disk->engine_lanes[i]);
	memset(counters, 0, counters_bytes);
	memcpy(counters, &sum, counters_bytes < sizeof(sum) ? counters_bytes : sizeof(sum));
}

/* The block range of a byte range that a caller's own command covers. */
static enum tcmu_ext_status byte_range(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command,
				       uint64_t offset, size_t bytes, struct range *range)
{
	if ((offset | bytes) & (disk_block_bytes(disk) - 1) ||
	    bytes >> disk->block_shift > UINT32_MAX)
		return check_condition(disk, command, TCMU_EXT_HARDWARE_ERROR,
				       TCMU_EXT_INTERNAL_TARGET_FAILURE);
	range->lba = offset >> disk->block_shift;
	range->blocks = (uint32_t)(bytes >> disk->block_shift);
	if (!range_is_on_medium(disk, *range))
		return address_out_of_range(disk, command);
	if (tcmu_ext_iovec_bytes(command->iov, command->iov_count) < bytes)
		return check_condition(disk, command, TCMU_EXT_HARDWARE_ERROR,
				       TCMU_EXT_INTERNAL_TARGET_FAILURE);
	command->iov_count = tcmu_ext_iovec_truncate(command->iov, command->iov_count, bytes);
	return TCMU_EXT_STATUS_GOOD;
}

enum tcmu_ext_status tcmu_ext_disk_read(struct tcmu_ext_disk *disk,
					struct tcmu_ext_command *command, uint64_t offset,
					size_t bytes)
{
	struct range range = { 0, 0 };
	enum tcmu_ext_status status;

	tcmu_ext_iovec_clear(command->iov, command->iov_count, bytes, SIZE_MAX);
	status = byte_range(disk, command, offset, bytes, &range);
	if (status != TCMU_EXT_STATUS_GOOD || !range.blocks)
		return status;
	return read_range(disk, command, range);
}

enum tcmu_ext_status tcmu_ext_disk_write(struct tcmu_ext_disk *disk,
					 struct tcmu_ext_command *command, uint64_t offset,
					 size_t bytes)
{
	struct range range = { 0, 0 };
	enum tcmu_ext_status status = byte_range(disk, command, offset, bytes, &range);

	if (status != TCMU_EXT_STATUS_GOOD)
		return status;
	if (disk_is_write_protected(disk))
		return write_protected(disk, command);
	return range.blocks ? write_range(disk, command, range, false) : status;
}

enum tcmu_ext_status tcmu_ext_disk_flush(struct tcmu_ext_disk *disk,
					 struct tcmu_ext_command *command)
{
	int error = disk_flush(disk);

	return error ? flush_failure(disk, command, error) : TCMU_EXT_STATUS_GOOD;
}
