/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The kernel's vhost-scsi device, /dev/vhost-scsi (linux/vhost.h): a virtio-scsi controller
 * without its registers. The kernel works on the queues in a thread of its own; what a virtual
 * machine's monitor does for a guest, this does for the process itself.
 *
 * The order: open, share memory, add queues, set the endpoint. Functions end the program when the
 * kernel refuses.
 */
#ifndef VHOST_DEVICE_H
#define VHOST_DEVICE_H

#include <linux/vhost.h>
#include <stddef.h>

#include "vhost-queue.h"

/* Numbers of the queues (Virtual I/O Device, version 1.1, clause 5.6.2). */
enum { CONTROL_QUEUE = 0, EVENT_QUEUE = 1, FIRST_REQUEST_QUEUE = 2 };

struct vhost_device {
	int fd;
	struct vhost_scsi_target target;
};

/* Opens the device for the target port with this name, as "naa.5001405…", and agrees on features.
 */
void device_open(struct vhost_device *device, const char *port_name);

/*
 * Makes this memory all that the device can reach. "Guest-physical" addresses are made the same as
 * our own: a pointer can go into a descriptor as it is.
 */
void device_share_memory(struct vhost_device *device, void *start, size_t bytes);

/* Gives the device a queue: its size, where its three parts lie, and its two eventfds. */
void device_add_queue(struct vhost_device *device, unsigned number,
		      const struct vhost_queue *queue);

/* Gives request queue `number` a kernel thread of its own, which kernels before 6.5 cannot. */
void device_add_worker(struct vhost_device *device, unsigned number);

/*
 * Connects the queues with the target port and starts them; disconnects them, which waits for the
 * commands in flight. What was offered and not yet picked up stays in the queue; after the next
 * start it wants a kick.
 */
void device_set_endpoint(struct vhost_device *device);
void device_clear_endpoint(struct vhost_device *device);

void device_close(struct vhost_device *device);

#endif
