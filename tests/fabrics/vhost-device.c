/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "vhost-device.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/virtio_config.h>
#include <linux/virtio_scsi.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* In <linux/vhost.h> since Linux 6.5. */
#ifndef VHOST_NEW_WORKER
struct vhost_worker_state {
	unsigned int worker_id;
};
struct vhost_vring_worker {
	unsigned int index;
	unsigned int worker_id;
};
#define VHOST_NEW_WORKER          _IOR(VHOST_VIRTIO, 0x8, struct vhost_worker_state)
#define VHOST_ATTACH_VRING_WORKER _IOW(VHOST_VIRTIO, 0x15, struct vhost_vring_worker)
#endif

static const char device_path[] = "/dev/vhost-scsi";

/* Version 1 makes every field little-endian; hot-plug makes the device report changes of LUNs. */
static const uint64_t wanted_features =
	(uint64_t)1 << VIRTIO_F_VERSION_1 | (uint64_t)1 << VIRTIO_SCSI_F_HOTPLUG;

static void request(const struct vhost_device *device, unsigned long number, const char *name,
		    void *argument)
{
	if (ioctl(device->fd, number, argument) < 0)
		err(1, "%s: %s", device_path, name);
}

#define REQUEST(device, name, argument) request(device, name, #name, argument)

static void agree_on_features(struct vhost_device *device)
{
	uint64_t features;

	REQUEST(device, VHOST_GET_FEATURES, &features);
	if ((features & wanted_features) != wanted_features)
		errx(1, "%s lacks a feature: it has %#llx, wanted is %#llx", device_path,
		     (unsigned long long)features, (unsigned long long)wanted_features);
	features = wanted_features;
	REQUEST(device, VHOST_SET_FEATURES, &features);
}

void device_open(struct vhost_device *device, const char *port_name)
{
	int version;

	*device = (struct vhost_device){ .target.abi_version = VHOST_SCSI_ABI_VERSION };
	if (strlen(port_name) >= sizeof(device->target.vhost_wwpn))
		errx(1, "%s is too long for the name of a target port", port_name);
	strcpy(device->target.vhost_wwpn, port_name);
	device->fd = open(device_path, O_RDWR | O_CLOEXEC);
	if (device->fd < 0)
		err(1, "%s", device_path);
	REQUEST(device, VHOST_SCSI_GET_ABI_VERSION, &version);
	if (version != VHOST_SCSI_ABI_VERSION)
		errx(1, "%s speaks version %d of its interface", device_path, version);
	/* From here on the kernel's thread uses this process's memory and is charged to it. */
	if (ioctl(device->fd, VHOST_SET_OWNER) < 0)
		err(1, "%s: VHOST_SET_OWNER", device_path);
	agree_on_features(device);
}

void device_share_memory(struct vhost_device *device, void *start, size_t bytes)
{
	union {
		struct vhost_memory table;
		uint8_t space[sizeof(struct vhost_memory) + sizeof(struct vhost_memory_region)];
	} memory = { .table.nregions = 1 };

	memory.table.regions[0] = (struct vhost_memory_region){
		.guest_phys_addr = (uintptr_t)start,
		.userspace_addr = (uintptr_t)start,
		.memory_size = bytes,
	};
	REQUEST(device, VHOST_SET_MEM_TABLE, &memory.table);
}

void device_add_queue(struct vhost_device *device, unsigned number, const struct vhost_queue *queue)
{
	struct vhost_vring_state size = { .index = number, .num = queue->ring.num };
	struct vhost_vring_state first = { .index = number, .num = 0 };
	struct vhost_vring_addr address = {
		.index = number,
		.desc_user_addr = (uintptr_t)queue->ring.desc,
		.avail_user_addr = (uintptr_t)queue->ring.avail,
		.used_user_addr = (uintptr_t)queue->ring.used,
	};
	struct vhost_vring_file kick = { .index = number, .fd = queue->kick };
	struct vhost_vring_file call = { .index = number, .fd = queue->call };

	if (ioctl(device->fd, VHOST_SET_VRING_NUM, &size) < 0) {
		if (errno == ENOBUFS)
			errx(1, "%s has no queue %u: see the parameter max_io_vqs of vhost_scsi",
			     device_path, number);
		err(1, "%s: VHOST_SET_VRING_NUM", device_path);
	}
	REQUEST(device, VHOST_SET_VRING_BASE, &first);
	REQUEST(device, VHOST_SET_VRING_ADDR, &address);
	REQUEST(device, VHOST_SET_VRING_CALL, &call);
	REQUEST(device, VHOST_SET_VRING_KICK, &kick);
}

void device_add_worker(struct vhost_device *device, unsigned number)
{
	struct vhost_worker_state worker;
	struct vhost_vring_worker attachment = { .index = number };

	REQUEST(device, VHOST_NEW_WORKER, &worker);
	attachment.worker_id = worker.worker_id;
	REQUEST(device, VHOST_ATTACH_VRING_WORKER, &attachment);
}

void device_set_endpoint(struct vhost_device *device)
{
	if (!ioctl(device->fd, VHOST_SCSI_SET_ENDPOINT, &device->target))
		return;
	if (errno == ENODEV)
		errx(1, "no target port %s is free: it must exist, have a nexus and no other user",
		     device->target.vhost_wwpn);
	err(1, "%s: VHOST_SCSI_SET_ENDPOINT", device_path);
}

void device_clear_endpoint(struct vhost_device *device)
{
	REQUEST(device, VHOST_SCSI_CLEAR_ENDPOINT, &device->target);
}

void device_close(struct vhost_device *device)
{
	close(device->fd);
	device->fd = -1;
}
