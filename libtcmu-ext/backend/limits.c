/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* What a block device says of itself: ioctls, and the queue's limits in sysfs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backend/block.h"
#include "backend/object.h"
#include "plumbing/log.h"

enum {
	ATTRIBUTE_MAXIMUM_BYTES = 64,
	SYSFS_PATH_MAXIMUM_BYTES = 128,
};

/* Reads an attribute of the device into `text`, or nothing where there is none. */
static void read_attribute(dev_t device, const char *name, char text[ATTRIBUTE_MAXIMUM_BYTES])
{
	char path[SYSFS_PATH_MAXIMUM_BYTES];
	ssize_t count = -1;
	int fd;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(device), minor(device), name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		count = read(fd, text, ATTRIBUTE_MAXIMUM_BYTES - 1);
		close(fd);
	}
	text[count > 0 ? count : 0] = '\0';
}

static uint64_t read_number(dev_t device, const char *name)
{
	char text[ATTRIBUTE_MAXIMUM_BYTES];

	read_attribute(device, name, text);
	return strtoull(text, NULL, 10);
}

/* A limit of the request queue, which a partition shares with its disk. */
static void read_queue_attribute(dev_t device, const char *name, char text[ATTRIBUTE_MAXIMUM_BYTES])
{
	char path[SYSFS_PATH_MAXIMUM_BYTES];

	snprintf(path, sizeof(path), "queue/%s", name);
	read_attribute(device, path, text);
	if (*text)
		return;
	snprintf(path, sizeof(path), "../queue/%s", name);
	read_attribute(device, path, text);
}

static uint64_t read_queue_number(dev_t device, const char *name)
{
	char text[ATTRIBUTE_MAXIMUM_BYTES];

	read_queue_attribute(device, name, text);
	return strtoull(text, NULL, 10);
}

/* The kernel gives -1 for a partition that no multiple of whole blocks brings into line. */
static uint32_t alignment_below(uint64_t alignment, uint32_t granularity)
{
	return alignment < granularity ? (uint32_t)alignment : 0;
}

/*
 * Discarding is what the device says it can. Where it also writes zeroes by itself,
 * FALLOC_FL_PUNCH_HOLE does both and keeps its word; BLKDISCARD promises nothing about what is read
 * afterwards.
 */
static void learn_discard(struct block *block, dev_t device)
{
	struct storage *storage = &block->storage;
	uint64_t granularity = read_queue_number(device, "discard_granularity");

	if (storage->read_only || !read_queue_number(device, "discard_max_bytes"))
		return;
	storage->discard_method = read_queue_number(device, "write_zeroes_max_bytes")
					  ? DISCARD_ZERO
					  : DISCARD_BLKDISCARD;
	if (granularity < block->logical_block_bytes || granularity > UINT32_MAX)
		granularity = block->logical_block_bytes;
	block->discard_granularity_bytes = (uint32_t)granularity;
	block->discard_alignment_bytes = alignment_below(read_number(device, "discard_alignment"),
							 block->discard_granularity_bytes);
}

static void learn_geometry(struct block *block)
{
	int fd = block->storage.fd;
	unsigned int value;
	unsigned short flag;
	int logical;

	block->logical_block_bytes = ioctl(fd, BLKSSZGET, &logical) ? 512 : (uint32_t)logical;
	block->physical_block_bytes = ioctl(fd, BLKPBSZGET, &value) ? 0 : value;
	if (block->physical_block_bytes < block->logical_block_bytes)
		block->physical_block_bytes = block->logical_block_bytes;
	block->optimal_transfer_bytes = ioctl(fd, BLKIOOPT, &value) ? 0 : value;
	block->rotational = !ioctl(fd, BLKROTATIONAL, &flag) && flag;
}

/* A drive that takes only sequential writes in each zone is no disk for a LUN. */
static int check_zones(const struct block *block, dev_t device)
{
	char model[ATTRIBUTE_MAXIMUM_BYTES];

	read_queue_attribute(device, "zoned", model);
	if (strncmp(model, "host-managed", strlen("host-managed")) != 0)
		return 0;
	log_message(&block->storage.log, TCMU_EXT_LOG_ERROR,
		    "%s is a host-managed zoned device, which takes writes only in order: give "
		    "another device",
		    block->storage.name);
	return -EINVAL;
}

int block_learn_limits(struct block *block)
{
	struct stat status;

	if (fstat(block->storage.fd, &status))
		return object_refuse_open(&block->storage, -errno);
	learn_geometry(block);
	block->physical_alignment_bytes = alignment_below(
		read_number(status.st_rdev, "alignment_offset"), block->physical_block_bytes);
	learn_discard(block, status.st_rdev);
	return check_zones(block, status.st_rdev);
}
