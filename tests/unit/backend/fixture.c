/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t count_open_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void remember(void *context, enum tcmu_ext_log_level level, const char *message)
{
	struct fixture *fixture = context;

	snprintf(fixture->message, sizeof(fixture->message), "%s", message);
	fixture->messages++;
	if (level == TCMU_EXT_LOG_ERROR)
		fixture->errors++;
	if (level == TCMU_EXT_LOG_WARNING)
		fixture->warnings++;
}

int fixture_setup(void **state)
{
	struct fixture *fixture;

	shim_reset();
	fixture = calloc(1, sizeof(*fixture));
	assert_non_null(getcwd(fixture->directory, sizeof(fixture->directory) - 32));
	strcat(fixture->directory, "/backend-test-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->path, sizeof(fixture->path), "%s/disk", fixture->directory);
	fixture->config = (struct tcmu_ext_backend_config){
		.struct_bytes = sizeof(fixture->config),
		.path = fixture->path,
		.lock = 1,
		.logical_block_bytes = FIXTURE_BLOCK_BYTES,
		.log = { .write = remember, .context = fixture },
	};
	fixture->open_fds = count_open_fds();
	shim_reset();
	*state = fixture;
	return 0;
}

int fixture_setup_lun(void **state, uint64_t lun_bytes)
{
	struct fixture *fixture;

	if (fixture_setup(state))
		return -1;
	fixture = *state;
	fixture->config.size_bytes = lun_bytes;
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *level)
{
	(void)status;
	(void)type;
	(void)level;
	return remove(path);
}

int fixture_teardown(void **state)
{
	struct fixture *fixture = *state;
	size_t open_fds;

	fixture_close(fixture);
	shim_reset();
	open_fds = count_open_fds();
	nftw(fixture->directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	if (open_fds != fixture->open_fds)
		print_error("%zu descriptors open, %zu before the test\n", open_fds,
			    fixture->open_fds);
	open_fds -= fixture->open_fds;
	free(fixture);
	return open_fds ? -1 : 0;
}

uint8_t fixture_byte(uint64_t offset)
{
	uint64_t mixed = (offset + 1) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint8_t)(mixed >> 56) | 1; /* never zero */
}

void fixture_make_file(const char *path, size_t bytes)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	for (size_t i = 0; i < bytes; i++)
		putc(fixture_byte(i), file);
	assert_int_equal(fclose(file), 0);
}

void fixture_check_bytes(const void *memory, uint64_t offset, size_t bytes)
{
	const uint8_t *bytes_read = memory;

	for (size_t i = 0; i < bytes; i++)
		check(bytes_read[i] == fixture_byte(offset + i),
		      "byte %zu of those from %ju on is %#x", i, (uintmax_t)offset, bytes_read[i]);
}

static uint8_t *contents(const char *path, uint64_t offset, size_t bytes)
{
	uint8_t *memory = calloc(1, bytes + 1);
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_int_equal(fseeko(file, (off_t)offset, SEEK_SET), 0);
	assert_int_equal(fread(memory, 1, bytes, file), bytes);
	fclose(file);
	return memory;
}

void fixture_check_file(const char *path, uint64_t offset, size_t bytes)
{
	uint8_t *memory = contents(path, offset, bytes);

	fixture_check_bytes(memory, offset, bytes);
	free(memory);
}

void fixture_check_file_zero(const char *path, uint64_t offset, size_t bytes)
{
	uint8_t *memory = contents(path, offset, bytes);

	for (size_t i = 0; i < bytes; i++)
		check(!memory[i], "byte %ju is not zero", (uintmax_t)(offset + i));
	free(memory);
}

uint64_t fixture_file_bytes(const char *path)
{
	struct stat status;
	int failed = lstat(path, &status);

	assert_int_equal(failed, 0);
	return (uint64_t)status.st_size;
}

bool fixture_exists(const char *path)
{
	struct stat status;

	return !lstat(path, &status);
}

void fixture_open(struct fixture *fixture, const struct tcmu_ext_backend_operations *operations,
		  uint64_t lun_bytes)
{
	int error;

	fixture_close(fixture);
	fixture->config.size_bytes = lun_bytes;
	fixture->errors = 0;
	error = tcmu_ext_backend_open(operations, &fixture->config, &fixture->backend);
	check(!error, "%d: %s", error, fixture->message);
	assert_int_equal(fixture->errors, 0);
	shim_forget_records();
}

void fixture_close(struct fixture *fixture)
{
	tcmu_ext_backend_close(fixture->backend);
	fixture->backend = NULL;
}

void fixture_open_fails(struct fixture *fixture,
			const struct tcmu_ext_backend_operations *operations, int error,
			const char *text)
{
	struct tcmu_ext_backend *backend = (void *)fixture;
	int result;

	fixture->errors = 0;
	fixture->message[0] = '\0';
	result = tcmu_ext_backend_open(operations, &fixture->config, &backend);
	check(result == error, "%d instead of %d: %s", result, error, fixture->message);
	assert_null(backend);
	check(fixture->errors == 1, "%u messages, the last: %s", fixture->errors, fixture->message);
	check(strstr(fixture->message, text), "\"%s\" is not in: %s", text, fixture->message);
}

int fixture_check_config(struct fixture *fixture, char **reason)
{
	free(*reason);
	*reason = (char *)fixture; /* to be set in all cases */
	return (tcmu_ext_backend_file.check)(&fixture->config, reason);
}

static void *instance(const struct fixture *fixture)
{
	return fixture->backend->instance;
}

int backend_read(struct fixture *fixture, void *memory, uint64_t offset, size_t bytes,
		 size_t *done_bytes)
{
	struct iovec iov = { memory, bytes };

	return fixture->backend->operations.read(instance(fixture), &iov, 1, offset, bytes, 0,
						 done_bytes);
}

int backend_write(struct fixture *fixture, const void *memory, uint64_t offset, size_t bytes,
		  unsigned int flags, size_t *done_bytes)
{
	struct iovec iov = { (void *)memory, bytes };

	return fixture->backend->operations.write(instance(fixture), &iov, 1, offset, bytes, flags,
						  done_bytes);
}

int backend_flush(struct fixture *fixture)
{
	return fixture->backend->operations.flush(instance(fixture));
}

int backend_write_zeroes(struct fixture *fixture, uint64_t offset, uint64_t bytes,
			 unsigned int flags)
{
	return fixture->backend->operations.write_zeroes(instance(fixture), offset, bytes, flags);
}

int backend_discard(struct fixture *fixture, uint64_t offset, uint64_t bytes)
{
	return fixture->backend->operations.discard(instance(fixture), offset, bytes);
}

struct tcmu_ext_backend_counters backend_counters(struct fixture *fixture)
{
	struct tcmu_ext_backend_counters counters;

	tcmu_ext_backend_get_counters(fixture->backend, &counters, sizeof(counters));
	return counters;
}
