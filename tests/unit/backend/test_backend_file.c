/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Which files are opened, how, and which are refused with what words. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/storage.h"

enum { LUN_BYTES = 64 * 1024 };

static int setup(void **state)
{
	return fixture_setup_lun(state, LUN_BYTES);
}

static void make_socket(char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char directory[PATH_MAX];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	/* A socket's address is short: go where it is to be. */
	assert_non_null(getcwd(directory, sizeof(directory)));
	strcpy(address.sun_path, strrchr(path, '/') + 1);
	*strrchr(path, '/') = '\0';
	assert_int_equal(chdir(path), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(chdir(directory), 0);
	close(fd);
}

/* Both the check and the opening refuse it for the same reason, and neither opens it. */
static void check_refused(struct fixture *fixture, int error, const char *text)
{
	char *reason = NULL;

	shim_forget_records();
	assert_int_equal((tcmu_ext_backend_file.check)(&fixture->config, &reason), error);
	assert_non_null(reason);
	check(strstr(reason, text), "\"%s\" is not in: %s", text, reason);
	assert_non_null(strstr(reason, fixture->config.path));
	free(reason);
	/* The path, and where there is nothing its directory. */
	assert_int_equal(shim_count(SHIM_STAT), error == -ENOENT ? 2 : 1);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, error, text);
	assert_non_null(strstr(fixture->message, fixture->config.path));
	assert_int_equal(shim_count(SHIM_OPEN_PATH), 1);
	assert_int_equal(shim_count(SHIM_REOPEN), 0);
}

static void test_only_regular_files(void **state)
{
	struct fixture *fixture = *state;
	char socket_path[sizeof(fixture->path)];
	struct stat status;

	check_refused(fixture, -ENOENT, "create=sparse");

	fixture->config.path = NULL;
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EINVAL, "no path");
	fixture_open_fails(fixture, &tcmu_ext_backend_block, -EINVAL, "no path");
	fixture->config.path = fixture->directory;
	check_refused(fixture, -EINVAL, "is a directory: give the path of a regular file");
	fixture->config.path = (char[]){ "/dev/null" };
	check_refused(fixture, -EINVAL, "is a character device: give");
	fixture->config.path = fixture->path;

	assert_int_equal(mkfifo(fixture->path, 0600), 0);
	check_refused(fixture, -EINVAL, "is a FIFO: give");
	unlink(fixture->path);

	strcpy(socket_path, fixture->path);
	make_socket(socket_path);
	check_refused(fixture, -EINVAL, "is a socket: give");
	unlink(fixture->path);

	fixture_make_file(fixture->path, LUN_BYTES);
	assert_int_equal(stat(fixture->path, &status), 0);
	shim_device.inode = status.st_ino;
	check_refused(fixture, -EINVAL, "is a block device: use user:block");
}

static void test_links_are_followed(void **state)
{
	struct fixture *fixture = *state;
	char target[PATH_MAX + 64];

	snprintf(target, sizeof(target), "%s/target", fixture->directory);
	assert_int_equal(symlink("target", fixture->path), 0);
	assert_int_equal(mkfifo(target, 0600), 0);
	check_refused(fixture, -EINVAL, "is a FIFO: give");
	unlink(target);
	fixture_make_file(target, LUN_BYTES);
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
}

static void swap_for_fifo(void *context)
{
	struct fixture *fixture = context;
	char other[PATH_MAX + 64];

	snprintf(other, sizeof(other), "%s/other", fixture->directory);
	assert_int_equal(rename(fixture->path, other), 0);
	assert_int_equal(mkfifo(fixture->path, 0600), 0);
}

static void test_what_was_looked_at_is_what_is_opened(void **state)
{
	struct fixture *fixture = *state;
	uint8_t memory[512];
	size_t done;

	fixture_make_file(fixture->path, LUN_BYTES);
	shim_before(SHIM_REOPEN, swap_for_fifo, fixture);
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	assert_int_equal(backend_read(fixture, memory, 512, sizeof(memory), &done), 0);
	fixture_check_bytes(memory, 512, sizeof(memory));
}

static void test_the_flags_it_is_opened_with(void **state)
{
	struct fixture *fixture = *state;
	const struct storage *storage;
	int flags;

	fixture_make_file(fixture->path, LUN_BYTES);
	for (int read_only = 0; read_only < 2; read_only++) {
		fixture_close(fixture);
		shim_forget_records();
		fixture->config.read_only = read_only;
		assert_int_equal(tcmu_ext_backend_open(&tcmu_ext_backend_file, &fixture->config,
						       &fixture->backend),
				 0);
		flags = shim_record(SHIM_REOPEN, 0)->flags;
		assert_int_equal(flags & O_ACCMODE, read_only ? O_RDONLY : O_RDWR);
		assert_true(flags & O_NOCTTY);
		assert_true(flags & O_NONBLOCK);
		assert_false(flags & (O_CREAT | O_TRUNC | O_DIRECT));
		storage = fixture->backend->instance;
		assert_false(fcntl(storage->fd, F_GETFL) & O_NONBLOCK);
		assert_true(fcntl(storage->fd, F_GETFD) & FD_CLOEXEC);
	}
	fixture_check_file(fixture->path, 0, LUN_BYTES);
}

static void test_the_size_there_must_be(void **state)
{
	struct fixture *fixture = *state;

	fixture_make_file(fixture->path, LUN_BYTES - 1);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EINVAL, "has 65535 bytes");
	assert_non_null(strstr(fixture->message, "truncate -s 65536 '"));
	assert_non_null(strstr(fixture->message, "smaller LUN"));
	fixture_make_file(fixture->path, LUN_BYTES);
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->size_bytes, LUN_BYTES);
	fixture_close(fixture);
	fixture_make_file(fixture->path, LUN_BYTES + 1000);
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	assert_int_equal(tcmu_ext_backend_properties(fixture->backend)->size_bytes,
			 LUN_BYTES + 1000);
}

static void test_properties(void **state)
{
	struct fixture *fixture = *state;
	const struct tcmu_ext_backend_properties *properties;

	fixture_make_file(fixture->path, LUN_BYTES);
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	properties = tcmu_ext_backend_properties(fixture->backend);
	assert_int_equal(properties->struct_bytes, sizeof(*properties));
	assert_int_equal(properties->logical_block_bytes, 1);
	assert_in_range(properties->physical_block_bytes, 512, 4096);
	assert_int_equal(properties->physical_alignment_bytes, 0);
	assert_false(properties->read_only);
	assert_false(properties->rotational);
}

struct block_size {
	blksize_t told;
	uint32_t physical_block_bytes;
	uint32_t granularity_bytes;
	uint32_t optimal_transfer_bytes;
};

static const struct block_size block_sizes[] = {
	{ 512, 512, 512, 0 },          { 1024, 1024, 1024, 0 }, { 4096, 4096, 4096, 0 },
	{ 65536, 4096, 65536, 65536 }, { 256, 4096, 4096, 0 }, /* of no use */
	{ 3000, 4096, 4096, 0 },
};

static void test_the_block_size_of_the_file_system(void **state)
{
	struct fixture *fixture = *state;
	const struct tcmu_ext_backend_properties *properties;

	fixture_make_file(fixture->path, LUN_BYTES);
	for (size_t i = 0; i < ARRAY_COUNT(block_sizes); i++) {
		shim_file_block_bytes = block_sizes[i].told;
		fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
		properties = tcmu_ext_backend_properties(fixture->backend);
		assert_int_equal(properties->physical_block_bytes,
				 block_sizes[i].physical_block_bytes);
		assert_int_equal(properties->discard_granularity_bytes,
				 block_sizes[i].granularity_bytes);
		assert_int_equal(properties->optimal_transfer_bytes,
				 block_sizes[i].optimal_transfer_bytes);
	}
}

struct opening_error {
	int error;
	const char *text;
};

static const struct opening_error opening_errors[] = {
	{ EROFS, "add ;ro" },     { EACCES, "add ;ro" },       { EPERM, "add ;ro" },
	{ EWOULDBLOCK, "lease" }, { EIO, "cannot be opened" },
};

static void test_opening_errors(void **state)
{
	struct fixture *fixture = *state;

	fixture_make_file(fixture->path, LUN_BYTES);
	for (size_t i = 0; i < ARRAY_COUNT(opening_errors); i++) {
		shim_script(SHIM_REOPEN, -opening_errors[i].error);
		fixture_open_fails(fixture, &tcmu_ext_backend_file, -opening_errors[i].error,
				   opening_errors[i].text);
	}
	shim_script(SHIM_REOPEN, -ENOENT);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EIO, "mount /proc");
	shim_script(SHIM_OPEN_PATH, -ELOOP);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -ELOOP, "cannot be opened");
	shim_script(SHIM_FSTAT, -EIO);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EIO, "cannot be opened");
	shim_script(SHIM_FSTAT, SHIM_PASS, -EIO);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EIO, "cannot be opened");
	shim_script(SHIM_FCNTL, -EIO);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EIO, "cannot be opened");
	fixture->config.read_only = 1;
	shim_script(SHIM_REOPEN, -EACCES);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EACCES, "cannot be opened");
	assert_null(strstr(fixture->message, ";ro"));
}

static int open_again(struct fixture *fixture, int read_only)
{
	struct tcmu_ext_backend_config config = fixture->config;
	struct tcmu_ext_backend *backend;
	int error;

	config.read_only = read_only;
	error = tcmu_ext_backend_open(&tcmu_ext_backend_file, &config, &backend);
	tcmu_ext_backend_close(backend);
	return error;
}

static void test_one_writer_or_any_readers(void **state)
{
	struct fixture *fixture = *state;

	fixture_make_file(fixture->path, LUN_BYTES);
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	assert_int_equal(open_again(fixture, 0), -EBUSY);
	assert_non_null(strstr(fixture->message, "is in use: another LUN or program"));
	assert_int_equal(open_again(fixture, 1), -EBUSY);
	fixture->config.lock = 0;
	assert_int_equal(open_again(fixture, 0), 0);
	fixture->config.lock = 1;
	/* Opening and closing it another time has not set the lock loose. */
	assert_int_equal(open_again(fixture, 0), -EBUSY);
	fixture_close(fixture);
	assert_int_equal(open_again(fixture, 0), 0);

	fixture->config.read_only = 1;
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
	assert_int_equal(open_again(fixture, 1), 0);
	assert_int_equal(open_again(fixture, 0), -EBUSY);
}

struct holder {
	pid_t pid;
	int wake;
};

/* A process that holds a lock on the file, and lives until it is released or killed. */
static struct holder hold_lock(const char *path, int command, struct flock lock)
{
	struct holder holder;
	int ready[2], wake[2];
	char byte;
	int fd;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(wake, O_CLOEXEC), 0);
	holder.pid = fork();
	assert_true(holder.pid >= 0);
	if (!holder.pid) {
		close(wake[1]);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fcntl(fd, command, &lock) || write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(wake[0], &byte, 1) < 0);
	}
	close(ready[1]);
	close(wake[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	holder.wake = wake[1];
	return holder;
}

static void end_holder(struct holder holder, bool kill_it)
{
	int status;

	if (kill_it)
		kill(holder.pid, SIGKILL);
	close(holder.wake);
	assert_int_equal(waitpid(holder.pid, &status, 0), holder.pid);
	assert_true(kill_it ? WIFSIGNALED(status) : WIFEXITED(status) && !WEXITSTATUS(status));
}

static void test_a_process_that_has_locked_it_is_named(void **state)
{
	struct fixture *fixture = *state;
	struct holder holder;
	char text[64];

	fixture_make_file(fixture->path, LUN_BYTES);
	holder = hold_lock(fixture->path, F_SETLK, (struct flock){ .l_type = F_WRLCK });
	snprintf(text, sizeof(text), "process %d", (int)holder.pid);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EBUSY, text);
	end_holder(holder, false);
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
}

static void test_a_lock_dies_with_its_process(void **state)
{
	struct fixture *fixture = *state;
	/* As virtual machine monitors lock: some bytes, each shared. */
	struct flock lock = { .l_type = F_RDLCK, .l_start = 100, .l_len = 4 };
	struct holder holder;

	fixture_make_file(fixture->path, LUN_BYTES);
	holder = hold_lock(fixture->path, F_OFD_SETLK, lock);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -EBUSY, "another LUN or program");
	end_holder(holder, true);
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
}

static void test_a_file_system_without_locks(void **state)
{
	struct fixture *fixture = *state;

	fixture_make_file(fixture->path, LUN_BYTES);
	shim_script(SHIM_FCNTL, SHIM_PASS, -ENOLCK);
	fixture_open_fails(fixture, &tcmu_ext_backend_file, -ENOLCK, "lock=no");
	fixture->config.lock = 0;
	fixture_open(fixture, &tcmu_ext_backend_file, LUN_BYTES);
}

static void test_checking(void **state)
{
	struct fixture *fixture = *state;
	char path[sizeof(fixture->path) + 8];
	char *reason = NULL;

	fixture->config.path = path;
	strcpy(path, fixture->path);
	fixture_make_file(path, 10); /* too short, which is not looked at */
	assert_int_equal(fixture_check_config(fixture, &reason), 0);
	assert_null(reason);
	fixture->config.create = TCMU_EXT_CREATE_FULL;
	assert_int_equal(fixture_check_config(fixture, &reason), 0);
	assert_null(reason);
	unlink(path);
	assert_int_equal(fixture_check_config(fixture, &reason), 0);
	assert_null(reason);
	assert_false(fixture_exists(path));
	fixture->config.read_only = 1;
	assert_int_equal(fixture_check_config(fixture, &reason), -ENOENT);
	assert_non_null(strstr(reason, "leave ;ro out"));
	fixture->config.read_only = 0;

	strcat(path, "/a");
	assert_int_equal(fixture_check_config(fixture, &reason), -ENOENT);
	assert_non_null(strstr(reason, "make its directory first"));
	free(reason);
	assert_int_equal(shim_count_all() - shim_count(SHIM_ALLOCATE_MEMORY),
			 shim_count(SHIM_STAT));
}

static void test_checking_tells_no_more_than_needed(void **state)
{
	static const int hidden[] = { EACCES, ELOOP, EIO, ENAMETOOLONG, EOVERFLOW };
	struct fixture *fixture = *state;
	char *reason = NULL;
	char *first = NULL;

	fixture->config.create = TCMU_EXT_CREATE_SPARSE;
	for (size_t i = 0; i < ARRAY_COUNT(hidden); i++) {
		shim_script(SHIM_STAT, -hidden[i]);
		assert_int_equal(fixture_check_config(fixture, &reason), -EINVAL);
		if (!first)
			first = strdup(reason);
		assert_string_equal(reason, first);
	}
	free(first);
	free(reason);
}

static void test_memory_that_runs_out(void **state)
{
	struct fixture *fixture = *state;
	char *reason = (char *)fixture;

	shim_script(SHIM_ALLOCATE_MEMORY, -ENOMEM);
	assert_int_equal((tcmu_ext_backend_file.check)(&fixture->config, &reason), -ENOMEM);
	assert_null(reason);
	fixture->config.create = TCMU_EXT_CREATE_SPARSE;
	/* The name, the shell's, the directory. */
	shim_script(SHIM_ALLOCATE_MEMORY, SHIM_PASS, -ENOMEM);
	assert_int_equal((tcmu_ext_backend_file.check)(&fixture->config, &reason), -ENOMEM);
	assert_null(reason);
	shim_script(SHIM_ALLOCATE_MEMORY, SHIM_PASS, SHIM_PASS, -ENOMEM);
	assert_int_equal((tcmu_ext_backend_file.check)(&fixture->config, &reason), -ENOMEM);
	assert_null(reason);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_only_regular_files),
		TEST(test_links_are_followed),
		TEST(test_what_was_looked_at_is_what_is_opened),
		TEST(test_the_flags_it_is_opened_with),
		TEST(test_the_size_there_must_be),
		TEST(test_properties),
		TEST(test_the_block_size_of_the_file_system),
		TEST(test_opening_errors),
		TEST(test_one_writer_or_any_readers),
		TEST(test_a_process_that_has_locked_it_is_named),
		TEST(test_a_lock_dies_with_its_process),
		TEST(test_a_file_system_without_locks),
		TEST(test_checking),
		TEST(test_checking_tells_no_more_than_needed),
		TEST(test_memory_that_runs_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
