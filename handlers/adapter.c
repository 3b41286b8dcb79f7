/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "adapter.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <linux/prctl.h>

enum {
	KERNEL_DEFAULT_MAXIMUM_BLOCKS = 128, /* hw_max_sectors where nobody set it */
	DEFAULT_MAXIMUM_BYTES = 1 << 20,     /* what tcm_loop and most initiators carry at once */

	/* REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS, byte 0 (SPC-4 6.36). */
	ABORT_TASK = 0x80,
	LOGICAL_UNIT_RESET = 0x08,
};

/*
 * Memory that this thread asks for must not wait for writes to a LUN it serves. The kernel copies
 * the flag to threads made later, and the LUN's ring thread is made right after open returns. The
 * calling thread keeps it: LUNs that are in use wait for it, too, when it opens them after a
 * restart of the daemon, or resizes them.
 */
static void become_io_flusher(struct tcmu_device *dev)
{
	static bool reported; /* by the runner's main thread only */

	if (!prctl(PR_SET_IO_FLUSHER, 1L, 0L, 0L, 0L) || reported)
		return;
	reported = true;
	adapter_message(dev, TCMU_EXT_LOG_DEBUG,
			"PR_SET_IO_FLUSHER: %s; a disk made from this LUN on this machine may hang "
			"when memory is short",
			strerror(errno));
}

/* The transfer length to advertise, in blocks. */
static uint32_t maximum_transfer_blocks(struct tcmu_device *dev)
{
	uint32_t blocks = tcmu_dev_get_max_xfer_len(dev);

	if (!blocks || blocks == KERNEL_DEFAULT_MAXIMUM_BLOCKS)
		return DEFAULT_MAXIMUM_BYTES / tcmu_dev_get_block_size(dev);
	return blocks;
}

/* What the runner's own emulation goes by. No value may be zero: it divides by them. */
static void tell_runner(struct tcmu_device *dev, struct adapter_lun *lun)
{
	uint32_t blocks = maximum_transfer_blocks(dev);
	uint32_t copy_blocks = DEFAULT_MAXIMUM_BYTES / tcmu_dev_get_block_size(dev);

	tcmu_dev_set_max_xfer_len(dev, blocks);
	tcmu_dev_set_opt_xcopy_rw_len(dev, blocks < copy_blocks ? blocks : copy_blocks);
	tcmu_dev_set_opt_unmap_gran(dev, 1, false);
	tcmu_dev_set_unmap_gran_align(dev, 1);
	tcmu_dev_set_write_cache_enabled(dev, tcmu_ext_disk_get_write_cache(lun->disk));
	tcmu_dev_set_solid_state_media(dev, !tcmu_ext_backend_properties(lun->backend)->rotational);
}

static struct tcmu_ext_disk_config disk_config(struct tcmu_device *dev,
					       const struct tcmu_ext_backend_config *config)
{
	struct tcmu_ext_disk_config disk = {
		.struct_bytes = sizeof(struct tcmu_ext_disk_config),
		.size_bytes = config->size_bytes,
		.logical_block_bytes = config->logical_block_bytes,
		.maximum_transfer_blocks = maximum_transfer_blocks(dev),
		.write_protect = config->read_only,
		/* The kernel's target core does these for every backstore, and rejects the rest. */
		.task_management_functions = ABORT_TASK | LOGICAL_UNIT_RESET,
		.vendor_identification = "LIO-ORG", /* as the runner's VPD page 83h */
		.product_identification = tcmu_ext_handler.product_identification,
		.io = (enum tcmu_ext_io_mode)config->io,
		.log = adapter_log(dev),
	};

	disk.other_command_count = adapter_other_commands(dev, &disk.other_commands);
	return disk;
}

static int make_disk(struct tcmu_device *dev, const struct tcmu_ext_backend_config *config,
		     struct adapter_lun *lun)
{
	bool configured = config->cache != TCMU_EXT_CACHE_WRITETHROUGH;
	struct tcmu_ext_disk_config disk = disk_config(dev, config);
	int error = tcmu_ext_disk_config_check(&disk); /* before a file is made for it */

	if (!error)
		error = tcmu_ext_backend_open(tcmu_ext_handler.operations, config, &lun->backend);
	if (error)
		return error;
	disk.write_cache = adapter_initial_write_cache(dev, configured, config->succeeds);
	return tcmu_ext_disk_create(lun->backend, &disk, &lun->disk);
}

static void free_lun(struct adapter_lun *lun)
{
	tcmu_ext_disk_destroy(lun->disk);
	tcmu_ext_backend_close(lun->backend);
	free(lun->path);
	free(lun);
}

static int make_lun(struct tcmu_device *dev, struct tcmu_ext_backend_config *config,
		    struct adapter_lun **made)
{
	struct adapter_lun *lun = calloc(1, sizeof(*lun));
	int error = -ENOMEM;

	if (!lun)
		return error;
	lun->path =
		tcmu_ext_options_escape(*config->path ? config->path : tcmu_ext_handler.subtype);
	if (lun->path)
		error = make_disk(dev, config, lun);
	if (error) {
		free_lun(lun);
		return error;
	}
	*made = lun;
	return 0;
}

static void report_open(struct tcmu_device *dev, const struct tcmu_ext_backend_config *config,
			const struct adapter_lun *lun)
{
	static const char *const cache_names[] = {
		[TCMU_EXT_CACHE_WRITEBACK] = "writeback",
		[TCMU_EXT_CACHE_WRITETHROUGH] = "writethrough",
		[TCMU_EXT_CACHE_NONE] = "none",
	};
	const struct tcmu_ext_backend_properties *properties =
		tcmu_ext_backend_properties(lun->backend);

	adapter_message(dev, TCMU_EXT_LOG_INFO,
			"serving %s: %" PRIu64 " bytes in blocks of %" PRIu32 ", cache=%s, write "
			"cache %s, %s, %s",
			lun->path, config->size_bytes, config->logical_block_bytes,
			cache_names[config->cache],
			tcmu_ext_disk_get_write_cache(lun->disk) ? "on" : "off",
			config->lock ? "locked" : "not locked",
			properties->read_only ? "read-only" : "read-write");
}

static int open_parsed(struct tcmu_device *dev, struct tcmu_ext_backend_config *config, bool reopen)
{
	struct adapter_lun *lun;
	int error;

	config->logical_block_bytes = tcmu_dev_get_block_size(dev);
	config->size_bytes = tcmu_dev_get_num_lbas(dev) * config->logical_block_bytes;
	config->succeeds = adapter_was_in_use(dev, reopen);
	config->log = adapter_log(dev);
	become_io_flusher(dev);
	error = make_lun(dev, config, &lun);
	if (error)
		return error;
	lun->dev = dev;
	adapter_ring_init(dev, lun);
	tell_runner(dev, lun);
	report_open(dev, config, lun);
	tcmur_dev_set_private(dev, lun);
	return 0;
}

static int adapter_open(struct tcmu_device *dev, bool reopen)
{
	struct tcmu_ext_backend_config config = { .struct_bytes = sizeof(config) };
	char *reason;
	int error = adapter_parse_config(tcmu_dev_get_cfgstring(dev), &config, &reason);

	tcmur_dev_set_private(dev, NULL);
	if (error)
		adapter_message(dev, TCMU_EXT_LOG_ERROR, "the configuration string is no use: %s",
				reason ? reason : strerror(-error));
	else
		error = open_parsed(dev, &config, reopen);
	free(reason);
	tcmu_ext_backend_config_clear(&config);
	return error;
}

static void report_close(struct tcmu_device *dev, const struct adapter_lun *lun)
{
	struct tcmu_ext_disk_counters disk;
	struct tcmu_ext_backend_counters backend;

	tcmu_ext_disk_get_counters(lun->disk, &disk, sizeof(disk));
	tcmu_ext_backend_get_counters(lun->backend, &backend, sizeof(backend));
	adapter_message(
		dev, TCMU_EXT_LOG_INFO,
		"closed %s: %" PRIu64 " commands, %" PRIu64 " reads (%" PRIu64 " bytes), %" PRIu64
		" writes (%" PRIu64 " bytes), %" PRIu64 " flushes, %" PRIu64 " errors",
		lun->path, disk.commands, disk.read_commands, disk.read_bytes, disk.write_commands,
		disk.write_bytes, disk.flush_commands, disk.check_conditions);
	if (backend.punch_hole | backend.zero_range | backend.blkzeroout | backend.blkdiscard |
	    backend.written)
		adapter_message(dev, TCMU_EXT_LOG_INFO,
				"ranges zeroed or freed by punching holes %" PRIu64
				", zero range %" PRIu64 ", BLKZEROOUT %" PRIu64
				", BLKDISCARD %" PRIu64 ", writing %" PRIu64,
				backend.punch_hole, backend.zero_range, backend.blkzeroout,
				backend.blkdiscard, backend.written);
}

static void adapter_close(struct tcmu_device *dev)
{
	struct adapter_lun *lun = tcmur_dev_get_private(dev);

	if (!lun)
		return;
	tcmur_dev_set_private(dev, NULL);
	tcmu_ext_disk_drain(lun->disk);
	report_close(dev, lun);
	free_lun(lun);
}

/*
 * A write beyond the limit on the size of files (setrlimit(2)) fails, which is an error of one
 * LUN's. But it also raises a signal that by default ends the daemon and so all of them.
 */
static void survive_file_size_limit(void)
{
	struct sigaction action;

	if (!sigaction(SIGXFSZ, NULL, &action) && action.sa_handler == SIG_DFL)
		signal(SIGXFSZ, SIG_IGN);
}

/* The runner makes a D-Bus object of this name, and falls over one that may not be. */
static bool is_usable_subtype(const char *subtype)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_";

	return *subtype && !subtype[strspn(subtype, allowed)];
}

/* What makes a handler unusable; NULL if nothing does. */
static const char *defect(void)
{
	if (!is_usable_subtype(tcmu_ext_handler.subtype))
		return "its subtype is to consist of letters, digits and underscores of ASCII";
	if (tcmu_ext_backend_operations_check(tcmu_ext_handler.operations))
		return "its backend lacks one of name, open, close, describe, read, write and "
		       "flush";
	return NULL;
}

/* The one symbol a plugin exports. Called once, before any other function here. */
__attribute__((visibility("default"))) int handler_init(void);

int handler_init(void)
{
	static struct tcmur_handler handler = {
		.check_config = adapter_check_config,
		.reconfig = adapter_reconfig,
		.open = adapter_open,
		.close = adapter_close,
		.handle_cmd = adapter_handle_cmd,
		.read = adapter_read,
		.write = adapter_write,
		.flush = adapter_flush,
	};
	const char *why = defect();
	const struct tcmu_ext_option *options;
	size_t option_count;

	if (why) {
		adapter_message(NULL, TCMU_EXT_LOG_ERROR,
				"the handler \"%s\" of subtype \"%s\" cannot be used: %s; its "
				"author has to mend it",
				tcmu_ext_handler.name, tcmu_ext_handler.subtype, why);
		return -EINVAL;
	}
	options = adapter_options(&option_count);
	handler.name = tcmu_ext_handler.name;
	handler.subtype = tcmu_ext_handler.subtype;
	/* Lives as long as the daemon, which never unloads a handler. */
	handler.cfg_desc = tcmu_ext_options_describe(tcmu_ext_handler.form, options, option_count);
	if (!handler.cfg_desc)
		return -ENOMEM;
	survive_file_size_limit();
	return tcmur_register_handler(&handler);
}
