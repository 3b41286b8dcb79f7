/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A stand-in for tcmu-runner: it exports the functions a handler expects of the daemon and of
 * libtcmu, loads a handler as the daemon does, and hands it LUNs and commands laid out in memory
 * as the daemon would. There is one at a time.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include "cmocka_test.h"
#include "tcmu-runner-abi.h"

struct tcmu_device {
	char cfgstring[4096];
	uint64_t num_lbas;
	uint32_t block_size;
	uint32_t max_xfer_len;
	uint32_t opt_xcopy_rw_len;
	uint32_t opt_unmap_gran;
	uint32_t unmap_gran_align;
	bool solid_state_media;
	bool write_cache_enabled;
	void *hm_private;

	/* What configfs has. */
	int enabled;
	int emulate_write_cache;
	int emulate_pr;

	/* What the kernel maps; NULL: nothing is known of it. */
	void *ring;

	/* Called by tcmur_cmd_complete(), on whichever thread that is. */
	void (*completed)(struct tcmu_device *dev, struct tcmur_cmd *cmd, int status);
};

/* How often tcmur_cmd_complete() has been called and its function has returned; and waits until
 * that has been so often. */
unsigned int standin_completions(void);
void standin_wait(unsigned int completions);

/* Loads handler_`subtype`.so and returns what it registered. Never unloaded, as in the daemon. */
const struct tcmur_handler *standin_load(const char *subtype);
/* The same of one that is not among those built here. */
const struct tcmur_handler *standin_load_from(const char *directory, const char *subtype);
/* Loads one from there that does not want to be registered, and returns why. */
int standin_load_refused(const char *directory, const char *name);

/* A LUN before it is opened: the kernel's defaults. */
struct tcmu_device standin_device(const char *cfgstring, uint64_t size_bytes);

/* What was logged since the last standin_log_clear(), one message a line, after its level: "[WARN]
 * ". */
const char *standin_log(void);
void standin_log_clear(void);
/* The longest line logged, as the daemon would write it. */
size_t standin_log_longest_line(void);

/*
 * A command with a CDB as long as its group code says, in one allocation as libtcmu makes it; sense
 * data and everything behind the CDB hold garbage. `cdb` must hold that many bytes.
 */
struct tcmur_cmd *standin_command(const uint8_t *cdb, const struct iovec *iov, size_t iov_count);
void standin_command_free(struct tcmur_cmd *cmd);

/*
 * Sends a command with one buffer as the daemon would, which takes what handle_cmd leaves to it for
 * what it then is, and returns the status it ends with; sense data go to `sense`.
 */
int standin_send(const struct tcmur_handler *handler, struct tcmu_device *dev, const uint8_t *cdb,
		 void *buffer, size_t bytes, uint8_t sense[TCMULIB_SENSE_BYTES]);

/* The number of open file descriptors of this process. */
size_t standin_open_files(void);

/* A new directory for a test's files, which standin_end() removes. */
const char *standin_directory(void);

/* What main() returns, given the number of tests that failed. */
int standin_end(int failures);

/* Makes a file of `bytes` bytes in it and returns its path; the caller frees it. */
char *standin_file(const char *name, uint64_t bytes);

#endif
