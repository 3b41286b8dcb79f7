/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Making durable, changing the size, making zeroes: on files, and on what passes for a device. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cmocka_test.h"
#include "shim_calls.h"

bool shim_is_device(const struct stat *status)
{
	return shim_device.inode && status->st_ino == shim_device.inode;
}

int __real_fstat64(int fd, struct stat *status);

bool shim_is_device_fd(int fd)
{
	struct stat status;

	return shim_device.inode && !__real_fstat64(fd, &status) && shim_is_device(&status);
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	int result;

	if (shim_is_settled(shim_enter(SHIM_FDATASYNC, (struct shim_record){ 0 }), &result))
		return result;
	return __real_fdatasync(fd);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	int result;

	if (shim_is_settled(shim_enter(SHIM_FSYNC, (struct shim_record){ 0 }), &result))
		return result;
	return __real_fsync(fd);
}

int __real_ftruncate64(int fd, off_t size);
int __wrap_ftruncate64(int fd, off_t size);
int __wrap_ftruncate64(int fd, off_t size)
{
	struct shim_record record = { .bytes = (size_t)size };
	int result;

	if (shim_is_settled(shim_enter(SHIM_FTRUNCATE, record), &result))
		return result;
	return __real_ftruncate64(fd, size);
}

static enum shim_call fallocate_call(int mode)
{
	if (mode & FALLOC_FL_PUNCH_HOLE)
		return SHIM_PUNCH_HOLE;
	return (mode & FALLOC_FL_ZERO_RANGE) ? SHIM_ZERO_RANGE : SHIM_ALLOCATE;
}

static void write_zeroes(int fd, uint64_t offset, uint64_t bytes)
{
	char *zeroes = calloc(1, bytes);

	assert_int_equal(pwrite(fd, zeroes, bytes, (off_t)offset), bytes);
	free(zeroes);
}

/* As the kernel's block devices do it (block/fops.c). */
static int device_fallocate(int fd, int mode, uint64_t offset, uint64_t bytes)
{
	uint64_t block = (uint64_t)shim_device.logical_block_bytes;

	if (offset >= shim_device.bytes ||
	    (offset + bytes > shim_device.bytes && !(mode & FALLOC_FL_KEEP_SIZE)) ||
	    (offset | bytes) % block) {
		errno = EINVAL;
		return -1;
	}
	if (offset + bytes > shim_device.bytes)
		bytes = shim_device.bytes - offset;
	write_zeroes(fd, offset, bytes);
	return 0;
}

int __real_fallocate64(int fd, int mode, off_t offset, off_t bytes);
int __wrap_fallocate64(int fd, int mode, off_t offset, off_t bytes);
int __wrap_fallocate64(int fd, int mode, off_t offset, off_t bytes)
{
	struct shim_record record = {
		.flags = mode,
		.offset = (uint64_t)offset,
		.bytes = (size_t)bytes,
	};
	int result;

	if (shim_is_settled(shim_enter(fallocate_call(mode), record), &result))
		return result;
	if (shim_is_device_fd(fd))
		return device_fallocate(fd, mode, (uint64_t)offset, (uint64_t)bytes);
	return __real_fallocate64(fd, mode, offset, bytes);
}

static int device_range(int fd, enum shim_call call, const uint64_t *range)
{
	struct shim_record record = { .offset = range[0], .bytes = range[1] };
	int result;

	if (shim_is_settled(shim_enter(call, record), &result))
		return result;
	if ((range[0] | range[1]) % (uint64_t)shim_device.logical_block_bytes) {
		errno = EINVAL;
		return -1;
	}
	if (call == SHIM_BLKZEROOUT)
		write_zeroes(fd, range[0], range[1]);
	return 0;
}

static int device_ioctl(int fd, unsigned long request, void *argument)
{
	switch (request) {
	case BLKGETSIZE64:
		*(uint64_t *)argument = shim_device.gone ? 0 : shim_device.bytes;
		return 0;
	case BLKSSZGET:
		*(int *)argument = shim_device.logical_block_bytes;
		return 0;
	case BLKPBSZGET:
		*(unsigned int *)argument = shim_device.physical_block_bytes;
		return 0;
	case BLKIOOPT:
		*(unsigned int *)argument = shim_device.optimal_transfer_bytes;
		return 0;
	case BLKROGET:
		*(int *)argument = shim_device.read_only;
		return 0;
	case BLKROTATIONAL:
		*(unsigned short *)argument = shim_device.rotational;
		return 0;
	case BLKZEROOUT:
		return device_range(fd, SHIM_BLKZEROOUT, argument);
	case BLKDISCARD:
		return device_range(fd, SHIM_BLKDISCARD, argument);
	default:
		fail_msg("unexpected ioctl %#lx", request);
		return -1;
	}
}

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;
	int result;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (request != BLKZEROOUT && request != BLKDISCARD &&
	    shim_is_settled(shim_enter(SHIM_OTHER_IOCTL, (struct shim_record){ 0 }), &result))
		return result;
	if (shim_is_device_fd(fd))
		return device_ioctl(fd, request, argument);
	return __real_ioctl(fd, request, argument);
}
