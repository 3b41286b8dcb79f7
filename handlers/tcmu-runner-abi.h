/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The part of tcmu-runner's plugin interface that the handlers here use.
 *
 * No distribution installs tcmu-runner's own headers, so the structures are declared again, in the
 * same memory layout. Sizes and offsets below were read off with sizeof and offsetof in a program
 * compiled against the headers of tcmu-runner 1.5.4 and of 1.6.2 on x86_64: both give the same.
 * The functions are those that /usr/bin/tcmu-runner and libtcmu.so.2 of 1.5.4 export; a handler is
 * loaded with all symbols bound at once, so one that only a newer version has would keep it from
 * loading. tests/adapter compares the handlers' undefined symbols with the installed daemon.
 */
#ifndef TCMU_RUNNER_ABI_H
#define TCMU_RUNNER_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* What a callout answers. Only the values used here. */
enum tcmu_status {
	TCMU_STS_ASYNC_HANDLED = -2,
	TCMU_STS_NOT_HANDLED = -1, /* the runner's own emulation is asked */
	TCMU_STS_OK = 0,
	TCMU_STS_NO_RESOURCE = 1,     /* becomes TASK SET FULL */
	TCMU_STS_PASSTHROUGH_ERR = 2, /* becomes CHECK CONDITION with sense_buf as it is */
	TCMU_STS_BUSY = 3,            /* becomes BUSY */
};

/* One LUN; the runner's. */
struct tcmu_device;

enum { TCMULIB_SENSE_BYTES = 96 };

/* A command as libtcmu took it from the ring. */
struct tcmulib_cmd {
	uint16_t cmd_id;
	uint8_t *cdb; /* its length follows from the operation code (SPC-4 4.2.5.1) */
	struct iovec *iovec;
	size_t iov_cnt;
	uint8_t sense_buf[TCMULIB_SENSE_BYTES]; /* not initialised */
	void *hm_private;
};

/*
 * The runner's record of a command. It follows the CDB in memory without padding, so that it lies
 * at any even address. Only its first member is used.
 */
struct __attribute__((packed)) tcmur_cmd {
	struct tcmulib_cmd *lib_cmd;
};

enum tcmulib_cfg_type {
	TCMULIB_CFG_DEV_CFGSTR,
	TCMULIB_CFG_DEV_SIZE,
	TCMULIB_CFG_WRITE_CACHE,
};

/* A change of a live device, as the kernel announces it. */
struct tcmulib_cfg_info {
	enum tcmulib_cfg_type type;
	union {
		uint64_t dev_size; /* bytes */
		char *dev_cfgstring;
		bool write_cache;
	} data;
};

/* What a plugin registers. Callouts that are NULL are not offered. */
struct tcmur_handler {
	const char *name;
	const char *subtype;
	const char *cfg_desc;
	void *opaque;

	/* False: `*reason` is set and the caller frees it. */
	bool (*check_config)(const char *cfgstring, char **reason);
	int (*reconfig)(struct tcmu_device *dev, struct tcmulib_cfg_info *cfg);
	int (*open)(struct tcmu_device *dev, bool reopen);
	void (*close)(struct tcmu_device *dev);

	int nr_threads; /* 0: callouts run on the thread that serves the ring */

	int (*handle_cmd)(struct tcmu_device *dev, struct tcmur_cmd *cmd);
	int (*read)(struct tcmu_device *dev, struct tcmur_cmd *cmd, struct iovec *iovec,
		    size_t iov_cnt, size_t len, off_t off);
	int (*write)(struct tcmu_device *dev, struct tcmur_cmd *cmd, struct iovec *iovec,
		     size_t iov_cnt, size_t len, off_t off);
	int (*flush)(struct tcmu_device *dev, struct tcmur_cmd *cmd);
	int (*unmap)(struct tcmu_device *dev, struct tcmur_cmd *cmd, uint64_t off, uint64_t len);
	int (*writesame)(struct tcmu_device *dev, struct tcmur_cmd *cmd, uint64_t off, uint64_t len,
			 struct iovec *iovec, size_t iov_cnt);
	int (*caw)(struct tcmu_device *dev, struct tcmur_cmd *cmd, uint64_t off, uint64_t len,
		   struct iovec *iovec, size_t iov_cnt);

	int (*report_event)(struct tcmu_device *dev);
	int (*lock)(struct tcmu_device *dev, uint16_t tag);
	int (*unlock)(struct tcmu_device *dev);
	int (*get_lock_tag)(struct tcmu_device *dev, uint16_t *tag);
	int (*get_lock_state)(struct tcmu_device *dev);

	bool _is_dbus_handler; /* the runner's own */
	bool (*update_logdir)(void);
	int (*init)(void);
	void (*destroy)(void);
};

/* Exported by tcmu-runner. */
int tcmur_register_handler(struct tcmur_handler *handler);
void tcmur_cmd_complete(struct tcmu_device *dev, void *cmd, int status);
void tcmur_dev_set_private(struct tcmu_device *dev, void *data);
void *tcmur_dev_get_private(struct tcmu_device *dev);

/* Exported by libtcmu.so.2, which the daemon has loaded. Lengths are logical blocks. */
char *tcmu_dev_get_cfgstring(struct tcmu_device *dev);
/* Returns the path of the device's file, which the caller frees, or NULL; `*base` is where the ring
 * is mapped. The other two may be NULL. */
char *tcmu_dev_get_memory_info(struct tcmu_device *dev, void **base, size_t *len, off_t *offset);
uint64_t tcmu_dev_get_num_lbas(struct tcmu_device *dev);
uint32_t tcmu_dev_get_block_size(struct tcmu_device *dev);
uint32_t tcmu_dev_get_max_xfer_len(struct tcmu_device *dev);
void tcmu_dev_set_max_xfer_len(struct tcmu_device *dev, uint32_t len);
void tcmu_dev_set_opt_xcopy_rw_len(struct tcmu_device *dev, uint32_t len);
void tcmu_dev_set_opt_unmap_gran(struct tcmu_device *dev, uint32_t len, bool split);
void tcmu_dev_set_unmap_gran_align(struct tcmu_device *dev, uint32_t len);
void tcmu_dev_set_write_cache_enabled(struct tcmu_device *dev, bool enabled);
void tcmu_dev_set_solid_state_media(struct tcmu_device *dev, bool solid_state);
char *tcmu_cfgfs_dev_get_wwn(struct tcmu_device *dev); /* the caller frees it */
int tcmu_cfgfs_dev_get_attr_int(struct tcmu_device *dev, const char *name);
int tcmu_cfgfs_dev_exec_action(struct tcmu_device *dev, const char *name, uint32_t value);

#define TCMU_MESSAGE __attribute__((format(printf, 4, 5)))
TCMU_MESSAGE void tcmu_err_message(struct tcmu_device *dev, const char *function, int line,
				   const char *format, ...);
TCMU_MESSAGE void tcmu_warn_message(struct tcmu_device *dev, const char *function, int line,
				    const char *format, ...);
TCMU_MESSAGE void tcmu_info_message(struct tcmu_device *dev, const char *function, int line,
				    const char *format, ...);
TCMU_MESSAGE void tcmu_dbg_message(struct tcmu_device *dev, const char *function, int line,
				   const char *format, ...);
#undef TCMU_MESSAGE

#ifdef __LP64__
#define TCMU_ABI_OFFSET(type, member, offset)                     \
	_Static_assert(offsetof(struct type, member) == (offset), \
		       #type "." #member " is not where tcmu-runner has it")

TCMU_ABI_OFFSET(tcmulib_cmd, cdb, 8);
TCMU_ABI_OFFSET(tcmulib_cmd, iovec, 16);
TCMU_ABI_OFFSET(tcmulib_cmd, iov_cnt, 24);
TCMU_ABI_OFFSET(tcmulib_cmd, sense_buf, 32);
TCMU_ABI_OFFSET(tcmulib_cmd, hm_private, 128);
_Static_assert(sizeof(struct tcmulib_cmd) == 136, "size of struct tcmulib_cmd");

TCMU_ABI_OFFSET(tcmur_cmd, lib_cmd, 0);

TCMU_ABI_OFFSET(tcmulib_cfg_info, data, 8);
_Static_assert(sizeof(struct tcmulib_cfg_info) == 16, "size of struct tcmulib_cfg_info");

TCMU_ABI_OFFSET(tcmur_handler, cfg_desc, 16);
TCMU_ABI_OFFSET(tcmur_handler, check_config, 32);
TCMU_ABI_OFFSET(tcmur_handler, open, 48);
TCMU_ABI_OFFSET(tcmur_handler, nr_threads, 64);
TCMU_ABI_OFFSET(tcmur_handler, handle_cmd, 72);
TCMU_ABI_OFFSET(tcmur_handler, read, 80);
TCMU_ABI_OFFSET(tcmur_handler, flush, 96);
TCMU_ABI_OFFSET(tcmur_handler, unmap, 104);
TCMU_ABI_OFFSET(tcmur_handler, caw, 120);
TCMU_ABI_OFFSET(tcmur_handler, report_event, 128);
TCMU_ABI_OFFSET(tcmur_handler, get_lock_state, 160);
TCMU_ABI_OFFSET(tcmur_handler, _is_dbus_handler, 168);
TCMU_ABI_OFFSET(tcmur_handler, update_logdir, 176);
TCMU_ABI_OFFSET(tcmur_handler, destroy, 192);
_Static_assert(sizeof(struct tcmur_handler) == 200, "size of struct tcmur_handler");
#undef TCMU_ABI_OFFSET
#endif

#endif
