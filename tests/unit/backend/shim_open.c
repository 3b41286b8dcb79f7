/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Opening and asking. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "../cmocka_test.h"
#include "shim_calls.h"

enum {
	DEVICE_MAJOR = 240, /* for local use */
	DEVICE_MINOR = 7,
};

static unsigned int device_major(void)
{
	return shim_device.major ? shim_device.major : DEVICE_MAJOR;
}

static enum shim_call open_call(const char *path, int flags)
{
	if (flags & O_PATH)
		return SHIM_OPEN_PATH;
	return strncmp(path, "/proc/self/fd/", 14) == 0 ? SHIM_REOPEN : SHIM_OPEN_OTHER;
}

/* Where the attributes of the pretended device are. */
static const char *redirect(const char *path, char *buffer, size_t buffer_bytes)
{
	char prefix[64];

	snprintf(prefix, sizeof(prefix), "/sys/dev/block/%u:%d/", device_major(), DEVICE_MINOR);
	if (!shim_device.sysfs || strncmp(path, prefix, strlen(prefix)) != 0)
		return path;
	snprintf(buffer, buffer_bytes, "%s/%s", shim_device.sysfs, path + strlen(prefix));
	return buffer;
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	char buffer[4096];
	int result;

	assert_false(flags & O_CREAT);
	assert_true(flags & O_CLOEXEC);
	if (shim_is_settled(
		    shim_enter(open_call(path, flags), (struct shim_record){ .flags = flags }),
		    &result))
		return result;
	result = __real_open64(redirect(path, buffer, sizeof(buffer)), flags);
	if (result >= 0 && result < (int)SHIM_DIRECT_FDS)
		shim_direct_fds[result] = false;
	return result;
}

int __real_openat64(int directory_fd, const char *path, int flags, ...);
int __wrap_openat64(int directory_fd, const char *path, int flags, ...);
int __wrap_openat64(int directory_fd, const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;
	int result;

	va_start(arguments, flags);
	mode = va_arg(arguments, mode_t);
	va_end(arguments);
	assert_true(flags & O_CLOEXEC);
	if (shim_is_settled(shim_enter(SHIM_OPENAT, (struct shim_record){ .flags = flags }),
			    &result))
		return result;
	result = __real_openat64(directory_fd, path, flags, mode);
	if (result >= 0 && result < (int)SHIM_DIRECT_FDS)
		shim_direct_fds[result] = false;
	return result;
}

int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...)
{
	va_list arguments;
	void *argument;
	long flags;
	int result;

	va_start(arguments, command);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (shim_is_settled(shim_enter(SHIM_FCNTL, (struct shim_record){ .flags = command }),
			    &result))
		return result;
	flags = (long)(intptr_t)argument;
	if (command != F_SETFL || !(flags & O_DIRECT))
		return __real_fcntl64(fd, command, argument);
	if (shim_direct.refused) {
		errno = EINVAL;
		return -1;
	}
	if (!shim_direct.transfer_alignment_bytes)
		return __real_fcntl64(fd, command, argument);
	shim_direct_fds[fd] = true;
	return __real_fcntl64(fd, command, flags & ~O_DIRECT);
}

static int disguise(int result, struct stat *status)
{
	if (!result && shim_file_block_bytes)
		status->st_blksize = shim_file_block_bytes;
	if (!result && shim_is_device(status)) {
		status->st_mode = S_IFBLK | 0600;
		status->st_rdev = makedev(device_major(), DEVICE_MINOR);
		status->st_size = 0;
	}
	return result;
}

int __real_fstat64(int fd, struct stat *status);
int __wrap_fstat64(int fd, struct stat *status);
int __wrap_fstat64(int fd, struct stat *status)
{
	int result;

	if (shim_is_settled(shim_enter(SHIM_FSTAT, (struct shim_record){ 0 }), &result))
		return result;
	return disguise(__real_fstat64(fd, status), status);
}

int __real_stat64(const char *path, struct stat *status);
int __wrap_stat64(const char *path, struct stat *status);
int __wrap_stat64(const char *path, struct stat *status)
{
	int result;

	if (shim_is_settled(shim_enter(SHIM_STAT, (struct shim_record){ 0 }), &result))
		return result;
	return disguise(__real_stat64(path, status), status);
}

int __real_statx(int fd, const char *path, int flags, unsigned int mask, struct statx *status);
int __wrap_statx(int fd, const char *path, int flags, unsigned int mask, struct statx *status);
int __wrap_statx(int fd, const char *path, int flags, unsigned int mask, struct statx *status)
{
	int result;

	if (shim_is_settled(shim_enter(SHIM_STATX, (struct shim_record){ 0 }), &result))
		return result;
	if (!shim_direct.transfer_alignment_bytes)
		return __real_statx(fd, path, flags, mask, status);
	memset(status, 0, sizeof(*status));
	if (shim_direct.untold)
		return 0;
	status->stx_mask = STATX_DIOALIGN;
	status->stx_dio_mem_align = shim_direct.memory_alignment_bytes;
	status->stx_dio_offset_align = shim_direct.transfer_alignment_bytes;
	return 0;
}

off_t __real_lseek64(int fd, off_t offset, int whence);
off_t __wrap_lseek64(int fd, off_t offset, int whence);
off_t __wrap_lseek64(int fd, off_t offset, int whence)
{
	struct shim_record record = { .flags = whence, .offset = (uint64_t)offset };
	long action = shim_enter(SHIM_LSEEK, record);

	if (action == SHIM_PASS)
		return __real_lseek64(fd, offset, whence);
	if (action >= 0)
		return action;
	errno = (int)-action;
	return -1;
}

int __real_posix_fadvise64(int fd, off_t offset, off_t bytes, int advice);
int __wrap_posix_fadvise64(int fd, off_t offset, off_t bytes, int advice);
int __wrap_posix_fadvise64(int fd, off_t offset, off_t bytes, int advice)
{
	struct shim_record record = {
		.flags = advice,
		.offset = (uint64_t)offset,
		.bytes = (size_t)bytes,
	};
	int result;

	/* The one call here that returns its error. */
	if (shim_is_settled(shim_enter(SHIM_FADVISE, record), &result))
		return result ? errno : 0;
	return __real_posix_fadvise64(fd, offset, bytes, advice);
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	struct shim_record record = { .bytes = (size_t)time->tv_nsec };

	assert_null(left);
	assert_int_equal(time->tv_sec, 0);
	shim_enter(SHIM_SLEEP, record);
	return 0;
}
