/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The adapter between tcmu-runner and the library: everything a handler does beyond naming its
 * backend. Each plugin is this adapter and one struct tcmu_ext_handler. It is installed as a static
 * library, for the plugins of other authors.
 *
 * Threads: the runner calls open, check_config and reconfig on its main thread, and the command
 * callouts of a LUN on that LUN's ring thread. A LUN is opened before its ring thread is made, and
 * closed by that thread as the last thing it does when it is cancelled, or after it has ended;
 * reconfig runs beside commands, never beside open or close.
 */
#ifndef ADAPTER_H
#define ADAPTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <tcmu-ext/backend.h>
#include <tcmu-ext/disk.h>
#include <tcmu-ext/handler.h>
#include <tcmu-ext/log.h>

#include "tcmu-runner-abi.h"

/* A read, write or flush that the runner's own emulation asks for. */
struct adapter_request {
	struct tcmu_device *dev;
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

/* What is known of how commands come; see adapter-ring.c. */
struct adapter_ring {
	struct adapter_mailbox *mailbox; /* the kernel's; NULL: nothing is known */
	bool is_watched;                 /* the disk cares how commands come */
	unsigned int came_alone;         /* commands in a row, up to the present one */
	uint32_t head;                   /* when the present command was looked at */
	/*
	 * Commands before the present one that end on other threads: counted until the runner has
	 * completed them. An EXTENDED COPY, whose end is not seen, counts for ever.
	 */
	atomic_uint under_way;
};

struct adapter_lun {
	struct tcmu_device *dev;
	struct tcmu_ext_disk *disk;
	struct tcmu_ext_backend *backend;
	char *path; /* for messages */
	/* Used by the ring thread only: */
	struct adapter_ring ring;
	/* The command that is on its way to the disk's engine; see adapter-divert.c. */
	const struct tcmur_cmd *diverted;
	uint8_t diverted_operation_code;
};

/* adapter-commands.c */
int adapter_handle_cmd(struct tcmu_device *dev, struct tcmur_cmd *cmd);
int adapter_read(struct tcmu_device *dev, struct tcmur_cmd *cmd, struct iovec *iov,
		 size_t iov_count, size_t bytes, off_t offset);
int adapter_write(struct tcmu_device *dev, struct tcmur_cmd *cmd, struct iovec *iov,
		  size_t iov_count, size_t bytes, off_t offset);
int adapter_flush(struct tcmu_device *dev, struct tcmur_cmd *cmd);

/* The command for the disk that the runner's is, without its CDB, and its status for the runner. */
struct tcmu_ext_command adapter_command(struct tcmu_device *dev, struct tcmur_cmd *cmd);
int adapter_status(enum tcmu_ext_status status);

/* How many bytes of a CDB libtcmu copied. */
size_t adapter_cdb_bytes(const uint8_t *cdb);

/* adapter-other-commands.c */

/* What the runner and the kernel's target core answer for a LUN; returns how many there are. */
size_t adapter_other_commands(struct tcmu_device *dev,
			      const struct tcmu_ext_command_description **commands);

/* adapter-extended-copy.c */

/*
 * Looks at an EXTENDED COPY before the runner does, which has one answer for most that can be wrong
 * with it: NOT_MINE if the runner is to carry it out.
 */
enum tcmu_ext_status adapter_check_extended_copy(const struct tcmu_ext_disk *disk,
						 struct tcmu_ext_command *command);

/* adapter-divert.c */

/* What handle_cmd answers so that a command comes to adapter_submit_diverted(). */
int adapter_divert(struct adapter_lun *lun, struct tcmur_cmd *cmd);
bool adapter_is_diverted(const struct adapter_lun *lun, const struct tcmur_cmd *cmd);
int adapter_submit_diverted(struct tcmu_device *dev, struct adapter_lun *lun,
			    struct tcmur_cmd *cmd);

/* adapter-ring.c */

/* Finds the ring of a LUN. */
void adapter_ring_init(struct tcmu_device *dev, struct adapter_lun *lun);

/*
 * Whether the command that has just been taken from the ring is the only one, and others were too:
 * then likely none will come until it has ended. To be called for each command, before and after it
 * is executed.
 */
bool adapter_ring_is_alone(struct adapter_ring *ring, const struct tcmulib_cmd *lib_cmd);
void adapter_ring_executed(struct adapter_ring *ring);

/*
 * Tells the kernel how many bytes the command that is about to end on the ring thread with GOOD has
 * put into its data-in buffer, for the initiator's residual count. Where the kernel cannot be told,
 * or other commands are under way, the whole buffer is taken to be data, as it always is with
 * tcmu-runner's own commands.
 */
void adapter_ring_set_data_in_bytes(struct adapter_ring *ring, const struct tcmulib_cmd *lib_cmd,
				    uint32_t data_in_bytes);

/* adapter-config.c */

/* The options of the handler. */
const struct tcmu_ext_option *adapter_options(size_t *count);

bool adapter_check_config(const char *text, char **reason);

/* Parses the configuration string of a LUN that is being opened. As tcmu_ext_options_parse(). */
int adapter_parse_config(const char *text, struct tcmu_ext_backend_config *config, char **reason);

/* Whether two configuration strings mean the same LUN to the runner and to us. */
bool adapter_same_config(const char *a, const char *b);

/* adapter-reconfig.c */
int adapter_reconfig(struct tcmu_device *dev, struct tcmulib_cfg_info *info);

/* Whether a LUN that is being opened was in use before, in this process or another. */
bool adapter_was_in_use(struct tcmu_device *dev, bool reopen);

/*
 * Whether a LUN that is being opened starts with its write cache on: what the kernel's attribute
 * says if the LUN was in use before, else `configured`, which the attribute is then set to.
 */
bool adapter_initial_write_cache(struct tcmu_device *dev, bool configured, bool was_in_use);

/* adapter-log.c */

/* A log that goes to the runner's, marked with the LUN. */
struct tcmu_ext_log adapter_log(struct tcmu_device *dev);

void adapter_message(struct tcmu_device *dev, enum tcmu_ext_log_level level, const char *format,
		     ...) __attribute__((format(printf, 3, 4)));

#endif
