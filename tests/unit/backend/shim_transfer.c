/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Reading and writing. */
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../cmocka_test.h"
#include "shim_calls.h"

static size_t total_bytes(const struct iovec *iov, int iov_count)
{
	size_t total = 0;

	for (int i = 0; i < iov_count; i++)
		total += iov[i].iov_len;
	return total;
}

bool shim_direct_fds[SHIM_DIRECT_FDS];

static bool breaks_direct_rules(int fd, const struct iovec *iov, int iov_count, off_t offset)
{
	uint64_t transfers = (uint64_t)offset;
	uint64_t addresses = 0;

	if (!shim_direct.transfer_alignment_bytes || !shim_direct_fds[fd])
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
	long action = shim_enter(SHIM_PREADV, (struct shim_record){
						      .flags = flags,
						      .offset = (uint64_t)offset,
						      .bytes = bytes,
						      .iov_count = (size_t)iov_count,
					      });
	struct iovec part[IOV_MAX];
	int result;

	assert_true(iov_count <= IOV_MAX);
	if (action <= 0 && shim_is_settled(action, &result))
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
	long action = shim_enter(SHIM_PWRITEV2, (struct shim_record){
							.flags = flags,
							.offset = (uint64_t)offset,
							.bytes = bytes,
							.iov_count = (size_t)iov_count,
						});
	struct iovec part[IOV_MAX];
	int result;

	assert_true(iov_count <= IOV_MAX);
	if (action <= 0 && shim_is_settled(action, &result))
		return result;
	if (breaks_direct_rules(fd, iov, iov_count, offset)) {
		errno = EINVAL;
		return -1;
	}
	if (shim_is_device_fd(fd) && (uint64_t)offset >= shim_device.bytes) {
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

	if (shim_is_settled(shim_enter(SHIM_PREAD, (struct shim_record){ .bytes = bytes }),
			    &result))
		return result;
	if (breaks_direct_rules(fd, &iov, 1, offset)) {
		errno = EINVAL;
		return -1;
	}
	return __real_pread64(fd, buffer, bytes, offset);
}
