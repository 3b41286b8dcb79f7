/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The adapter between tcmu-runner and the library: everything a handler does beyond naming its
 * backend. Each plugin is this adapter and one struct adapter_backstore.
 *
 * Threads: the runner calls open, check_config and reconfig on its main thread, and the command
 * callouts of a LUN on that LUN's ring thread. A LUN is opened before its ring thread is made, and
 * closed by that thread as the last thing it does when it is cancelled, or after it has ended;
 * reconfig runs beside commands, never beside open or close.
 */
#ifndef ADAPTER_H
#define ADAPTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <tcmu-ext/backend.h>
#include <tcmu-ext/disk.h>
#include <tcmu-ext/log.h>

#include "tcmu-runner-abi.h"

/* What tells one handler from another. */
struct adapter_backstore {
	const char *name;    /* for the runner's log */
	const char *subtype; /* what precedes the first slash of a configuration string */
	const struct tcmu_ext_backend_operations *operations;
	const char *form; /* of the configuration string, for help texts */
	const char *product_identification;
};

/* Defined once in each plugin. */
extern const struct adapter_backstore adapter_backstore;

/* A read, write or flush that the runner's own emulation asks for. */
struct adapter_request {
	enum adapter_request_kind {
		ADAPTER_NOTHING,
		ADAPTER_READ,
		ADAPTER_WRITE,
		ADAPTER_FLUSH,
	} kind;
	struct tcmur_cmd *cmd;
	struct iovec *iov;
	size_t iov_count;
	size_t bytes;
	uint64_t offset;
};

struct adapter_lun {
	struct tcmu_ext_disk *disk;
	struct tcmu_ext_backend *backend;
	char *path;      /* for messages */
	bool completing; /* a request is being answered; used by the ring thread only */
	struct adapter_request queued; /* the request that came meanwhile */
};

/* adapter-commands.c */
int adapter_handle_cmd(struct tcmu_device *dev, struct tcmur_cmd *cmd);
int adapter_read(struct tcmu_device *dev, struct tcmur_cmd *cmd, struct iovec *iov,
		 size_t iov_count, size_t bytes, off_t offset);
int adapter_write(struct tcmu_device *dev, struct tcmur_cmd *cmd, struct iovec *iov,
		  size_t iov_count, size_t bytes, off_t offset);
int adapter_flush(struct tcmu_device *dev, struct tcmur_cmd *cmd);

/* adapter-config.c */

bool adapter_check_config(const char *text, char **reason);

/* Parses the configuration string of a LUN that is being opened. As tcmu_ext_options_parse(). */
int adapter_parse_config(const char *text, struct tcmu_ext_backend_config *config, char **reason);

/* Whether two configuration strings mean the same LUN to the runner and to us. */
bool adapter_same_config(const char *a, const char *b);

/* adapter-reconfig.c */
int adapter_reconfig(struct tcmu_device *dev, struct tcmulib_cfg_info *info);

/*
 * Whether a LUN that is being opened starts with its write cache on: what the kernel's attribute
 * says if the LUN was in use before, else `configured`, which the attribute is then set to.
 */
bool adapter_initial_write_cache(struct tcmu_device *dev, bool configured, bool reopen);

/* adapter-log.c */

/* A log that goes to the runner's, marked with the LUN. */
struct tcmu_ext_log adapter_log(struct tcmu_device *dev);

void adapter_message(struct tcmu_device *dev, enum tcmu_ext_log_level level, const char *format,
		     ...) __attribute__((format(printf, 3, 4)));

#endif
