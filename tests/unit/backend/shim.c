/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../cmocka_test.h"

enum {
	SCRIPT_MAXIMUM = 64,
	RECORDS_MAXIMUM = 256,
	DEVICE_MAJOR = 240,
	DEVICE_MINOR = 7,
};

struct script {
	long actions[SCRIPT_MAXIMUM];
	size_t count;
	size_t next;
	long afterwards;
	void (*hook)(void *context);
	void *context;
};

static struct script scripts[SHIM_CALLS];
static struct shim_record records[SHIM_CALLS][RECORDS_MAXIMUM];
static size_t record_counts[SHIM_CALLS];
struct shim_direct shim_direct;
struct shim_device shim_device;
blksize_t shim_file_block_bytes;

void shim_reset(void)
{
	memset(scripts, 0, sizeof(scripts));
	for (size_t i = 0; i < SHIM_CALLS; i++)
		scripts[i].afterwards = SHIM_PASS;
	shim_forget_records();
	shim_direct = (struct shim_direct){ 0 };
	shim_device = (struct shim_device){ 0 };
	shim_file_block_bytes = 0;
}

void shim_forget_records(void)
{
	memset(record_counts, 0, sizeof(record_counts));
}

void shim_set_script(enum shim_call call, const long *actions, size_t count)
{
	assert_true(count <= SCRIPT_MAXIMUM);
	memcpy(scripts[call].actions, actions, count * sizeof(*actions));
	scripts[call].count = count;
	scripts[call].next = 0;
	scripts[call].afterwards = SHIM_PASS;
}

void shim_always(enum shim_call call, long action)
{
	scripts[call].count = 0;
	scripts[call].next = 0;
	scripts[call].afterwards = action;
}

void shim_before(enum shim_call call, void (*hook)(void *context), void *context)
{
	scripts[call].hook = hook;
	scripts[call].context = context;
}

size_t shim_count(enum shim_call call)
{
	return record_counts[call];
}

size_t shim_count_all(void)
{
	size_t total = 0;

	for (size_t i = 0; i < SHIM_CALLS; i++)
		total += record_counts[i];
	return total;
}

const struct shim_record *shim_record(enum shim_call call, size_t number)
{
	assert_true(number < record_counts[call] && number < RECORDS_MAXIMUM);
	return &records[call][number];
}

/* Records a call and returns what it is to do. */
static long enter(enum shim_call call, struct shim_record record)
{
	struct script *script = &scripts[call];

	if (record_counts[call] < RECORDS_MAXIMUM)
		records[call][record_counts[call]] = record;
	record_counts[call]++;
	if (script->hook)
		script->hook(script->context);
	return script->next < script->count ? script->actions[script->next++] : script->afterwards;
}

/* Whether the action ends the call; its result is then in `*result`. */
static bool is_settled(long action, int *result)
{
	if (action == SHIM_PASS)
		return false;
	*result = action < 0 ? -1 : 0;
	if (action < 0)
		errno = (int)-action;
	return true;
}

static unsigned int device_major(void)
{
	return shim_device.major ? shim_device.major : DEVICE_MAJOR;
}

static bool is_device(const struct stat *status)
{
	return shim_device.inode && status->st_ino == shim_device.inode;
}

int __real_fstat64(int fd, struct stat *status);

static bool is_device_fd(int fd)
{
	struct stat status;

	return shim_device.inode && !__real_fstat64(fd, &status) && is_device(&status);
}

/* -- reading and writing ----------------------------------------------------------------------- */

static size_t total_bytes(const struct iovec *iov, int iov_count)
{
	size_t total = 0;

	for (int i = 0; i < iov_count; i++)
		total += iov[i].iov_len;
	return total;
}

/* Which descriptors were switched to O_DIRECT under the shim's rules. */
static bool direct_fds[1024];

static bool breaks_direct_rules(int fd, const struct iovec *iov, int iov_count, off_t offset)
{
	uint64_t transfers = (uint64_t)offset;
	uint64_t addresses = 0;

	if (!shim_direct.transfer_alignment_bytes || !direct_fds[fd])
		return false;
	for (int i = 0; i < iov_count; i++) {
		addresses |= (uintptr_t)iov[i].iov_base;
		transfers |= iov[i].iov_len;
	}
	return addresses % shim_direct.memory_alignment_bytes ||
	       transfers % shim_direct.transfer_alignment_bytes;
}

/* The part of the array that a call cut short transfers. */
static int cut(const struct iovec *iov, int iov_count, size_t bytes, struct iovec *part)
{
	int count = 0;

	for (int i = 0; i < iov_count && bytes; i++) {
		part[count] = iov[i];
		if (part[count].iov_len > bytes)
			part[count].iov_len = bytes;
		bytes -= part[count++].iov_len;
	}
	return count;
}

/* The same call, but for the flags. */
ssize_t __real_preadv64v2(int fd, const struct iovec *iov, int iov_count, off_t offset, int flags);
ssize_t __wrap_preadv64v2(int fd, const struct iovec *iov, int iov_count, off_t offset, int flags);
ssize_t __wrap_preadv64v2(int fd, const struct iovec *iov, int iov_count, off_t offset, int flags)
{
	size_t bytes = total_bytes(iov, iov_count);
	long action = enter(SHIM_PREADV, (struct shim_record){
						 .flags = flags,
						 .offset = (uint64_t)offset,
						 .bytes = bytes,
						 .iov_count = (size_t)iov_count,
					 });
	struct iovec part[IOV_MAX];
	int result;

	assert_true(iov_count <= IOV_MAX);
	if (action <= 0 && is_settled(action, &result))
		return result;
	if (breaks_direct_rules(fd, iov, iov_count, offset)) {
		errno = EINVAL;
		return -1;
	}
	if (action == SHIM_PASS)
		return __real_preadv64v2(fd, iov, iov_count, offset, flags);
	return __real_preadv64v2(fd, part, cut(iov, iov_count, (size_t)action, part), offset,
				 flags);
}

ssize_t __wrap_preadv64(int fd, const struct iovec *iov, int iov_count, off_t offset);
ssize_t __wrap_preadv64(int fd, const struct iovec *iov, int iov_count, off_t offset)
{
	return __wrap_preadv64v2(fd, iov, iov_count, offset, 0);
}

ssize_t __real_pwritev64v2(int fd, const struct iovec *iov, int iov_count, off_t offset, int flags);
ssize_t __wrap_pwritev64v2(int fd, const struct iovec *iov, int iov_count, off_t offset, int flags);
ssize_t __wrap_pwritev64v2(int fd, const struct iovec *iov, int iov_count, off_t offset, int flags)
{
	size_t bytes = total_bytes(iov, iov_count);
	long action = enter(SHIM_PWRITEV2, (struct shim_record){
						   .flags = flags,
						   .offset = (uint64_t)offset,
						   .bytes = bytes,
						   .iov_count = (size_t)iov_count,
					   });
	struct iovec part[IOV_MAX];
	int result;

	assert_true(iov_count <= IOV_MAX);
	if (action <= 0 && is_settled(action, &result))
		return result;
	if (breaks_direct_rules(fd, iov, iov_count, offset)) {
		errno = EINVAL;
		return -1;
	}
	if (is_device_fd(fd) && (uint64_t)offset >= shim_device.bytes) {
		errno = ENOSPC;
		return -1;
	}
	if (action == SHIM_PASS)
		return __real_pwritev64v2(fd, iov, iov_count, offset, flags);
	return __real_pwritev64v2(fd, part, cut(iov, iov_count, (size_t)action, part), offset,
				  flags);
}

ssize_t __real_pread64(int fd, void *buffer, size_t bytes, off_t offset);
ssize_t __wrap_pread64(int fd, void *buffer, size_t bytes, off_t offset);
ssize_t __wrap_pread64(int fd, void *buffer, size_t bytes, off_t offset)
{
	struct iovec iov = { buffer, bytes };
	int result;

	if (is_settled(enter(SHIM_PREAD, (struct shim_record){ .bytes = bytes }), &result))
		return result;
	if (breaks_direct_rules(fd, &iov, 1, offset)) {
		errno = EINVAL;
		return -1;
	}
	return __real_pread64(fd, buffer, bytes, offset);
}

/* -- making durable, changing the size, making zeroes ------------------------------------------ */

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	int result;

	if (is_settled(enter(SHIM_FDATASYNC, (struct shim_record){ 0 }), &result))
		return result;
	return __real_fdatasync(fd);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	int result;

	if (is_settled(enter(SHIM_FSYNC, (struct shim_record){ 0 }), &result))
		return result;
	return __real_fsync(fd);
}

int __real_ftruncate64(int fd, off_t size);
int __wrap_ftruncate64(int fd, off_t size);
int __wrap_ftruncate64(int fd, off_t size)
{
	struct shim_record record = { .bytes = (size_t)size };
	int result;

	if (is_settled(enter(SHIM_FTRUNCATE, record), &result))
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

	if (is_settled(enter(fallocate_call(mode), record), &result))
		return result;
	if (is_device_fd(fd))
		return device_fallocate(fd, mode, (uint64_t)offset, (uint64_t)bytes);
	return __real_fallocate64(fd, mode, offset, bytes);
}

static int device_range(int fd, enum shim_call call, const uint64_t *range)
{
	struct shim_record record = { .offset = range[0], .bytes = range[1] };
	int result;

	if (is_settled(enter(call, record), &result))
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
	    is_settled(enter(SHIM_OTHER_IOCTL, (struct shim_record){ 0 }), &result))
		return result;
	if (is_device_fd(fd))
		return device_ioctl(fd, request, argument);
	return __real_ioctl(fd, request, argument);
}

/* -- opening and asking ------------------------------------------------------------------------ */

static enum shim_call open_call(const char *path, int flags)
{
	if (flags & O_PATH)
		return SHIM_OPEN_PATH;
	return strncmp(path, "/proc/self/fd/", 14) ? SHIM_OPEN_OTHER : SHIM_REOPEN;
}

/* Where the attributes of the pretended device are. */
static const char *redirect(const char *path, char *buffer, size_t buffer_bytes)
{
	char prefix[64];

	snprintf(prefix, sizeof(prefix), "/sys/dev/block/%u:%d/", device_major(), DEVICE_MINOR);
	if (!shim_device.sysfs || strncmp(path, prefix, strlen(prefix)))
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
	if (is_settled(enter(open_call(path, flags), (struct shim_record){ .flags = flags }),
		       &result))
		return result;
	result = __real_open64(redirect(path, buffer, sizeof(buffer)), flags);
	if (result >= 0 && result < (int)ARRAY_COUNT(direct_fds))
		direct_fds[result] = false;
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
	if (is_settled(enter(SHIM_OPENAT, (struct shim_record){ .flags = flags }), &result))
		return result;
	result = __real_openat64(directory_fd, path, flags, mode);
	if (result >= 0 && result < (int)ARRAY_COUNT(direct_fds))
		direct_fds[result] = false;
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
	if (is_settled(enter(SHIM_FCNTL, (struct shim_record){ .flags = command }), &result))
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
	direct_fds[fd] = true;
	return __real_fcntl64(fd, command, flags & ~O_DIRECT);
}

static int disguise(int result, struct stat *status)
{
	if (!result && shim_file_block_bytes)
		status->st_blksize = shim_file_block_bytes;
	if (!result && is_device(status)) {
		status->st_mode = S_IFBLK | 0600;
		status->st_rdev = makedev(device_major(), DEVICE_MINOR);
		status->st_size = 0;
	}
	return result;
}

int __wrap_fstat64(int fd, struct stat *status);
int __wrap_fstat64(int fd, struct stat *status)
{
	int result;

	if (is_settled(enter(SHIM_FSTAT, (struct shim_record){ 0 }), &result))
		return result;
	return disguise(__real_fstat64(fd, status), status);
}

int __real_stat64(const char *path, struct stat *status);
int __wrap_stat64(const char *path, struct stat *status);
int __wrap_stat64(const char *path, struct stat *status)
{
	int result;

	if (is_settled(enter(SHIM_STAT, (struct shim_record){ 0 }), &result))
		return result;
	return disguise(__real_stat64(path, status), status);
}

int __real_statx(int fd, const char *path, int flags, unsigned int mask, struct statx *status);
int __wrap_statx(int fd, const char *path, int flags, unsigned int mask, struct statx *status);
int __wrap_statx(int fd, const char *path, int flags, unsigned int mask, struct statx *status)
{
	int result;

	if (is_settled(enter(SHIM_STATX, (struct shim_record){ 0 }), &result))
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
	long action = enter(SHIM_LSEEK, record);

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
	if (is_settled(enter(SHIM_FADVISE, record), &result))
		return result ? errno : 0;
	return __real_posix_fadvise64(fd, offset, bytes, advice);
}

/* -- memory ------------------------------------------------------------------------------------ */

static bool memory_runs_out(size_t bytes)
{
	int result;

	return is_settled(enter(SHIM_ALLOCATE_MEMORY, (struct shim_record){ .bytes = bytes }),
			  &result);
}

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
	return memory_runs_out(bytes) ? NULL : __real_aligned_alloc(alignment, bytes);
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
	return memory_runs_out(bytes) ? NULL : __real_malloc(bytes);
}

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
	return memory_runs_out(count * bytes) ? NULL : __real_calloc(count, bytes);
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
	return memory_runs_out(strlen(text) + 1) ? NULL : __real_strdup(text);
}

char *__real_strndup(const char *text, size_t bytes);
char *__wrap_strndup(const char *text, size_t bytes);
char *__wrap_strndup(const char *text, size_t bytes)
{
	return memory_runs_out(bytes + 1) ? NULL : __real_strndup(text, bytes);
}
