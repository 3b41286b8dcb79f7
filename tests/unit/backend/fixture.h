/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A folder of its own for each test, in the working directory, and a backend's configuration for a
 * file in it. Whatever is left open fails the test; whatever is left behind is removed.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <limits.h>

#include "../cmocka_test.h"

#include <tcmu-ext/backend.h>

#include "backend/backend.h"
#include "shim.h"

enum { FIXTURE_BLOCK_BYTES = 512 };

struct fixture {
	char directory[PATH_MAX];
	char path[PATH_MAX + 32]; /* "disk" in the directory, not made yet */
	struct tcmu_ext_backend_config config;
	struct tcmu_ext_backend *backend;
	char message[2048]; /* the last logged */
	unsigned int errors;
	unsigned int warnings;
	unsigned int messages;
	size_t open_fds;
};

int fixture_setup(void **state);
/* The same, for a LUN of that size. */
int fixture_setup_lun(void **state, uint64_t lun_bytes);
int fixture_teardown(void **state);

/* Makes a file of so many bytes, each different from its neighbours and from other offsets'. */
void fixture_make_file(const char *path, size_t bytes);
uint8_t fixture_byte(uint64_t offset);

/* Fails the test unless memory or a file holds the bytes of fixture_byte() from `offset` on. */
void fixture_check_bytes(const void *memory, uint64_t offset, size_t bytes);
void fixture_check_file(const char *path, uint64_t offset, size_t bytes);
void fixture_check_file_zero(const char *path, uint64_t offset, size_t bytes);
uint64_t fixture_file_bytes(const char *path);
bool fixture_exists(const char *path);

/* Opens the backend on the file as it is, for a LUN of `lun_bytes`. */
void fixture_open(struct fixture *fixture, const struct tcmu_ext_backend_operations *operations,
		  uint64_t lun_bytes);
void fixture_close(struct fixture *fixture);

/* Fails the test unless opening fails with `error` and one message that has `text` in it. */
void fixture_open_fails(struct fixture *fixture,
			const struct tcmu_ext_backend_operations *operations, int error,
			const char *text);

/* What `check` of the backend `file` returns. Frees the reason there was before. */
int fixture_check_config(struct fixture *fixture, char **reason);

/* The operations of the open backend. */
int backend_read(struct fixture *fixture, void *memory, uint64_t offset, size_t bytes,
		 size_t *done_bytes);
int backend_write(struct fixture *fixture, const void *memory, uint64_t offset, size_t bytes,
		  unsigned int flags, size_t *done_bytes);
int backend_flush(struct fixture *fixture);
int backend_write_zeroes(struct fixture *fixture, uint64_t offset, uint64_t bytes,
			 unsigned int flags);
int backend_discard(struct fixture *fixture, uint64_t offset, uint64_t bytes);
struct tcmu_ext_backend_counters backend_counters(struct fixture *fixture);

#endif
