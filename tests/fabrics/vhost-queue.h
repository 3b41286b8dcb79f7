/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The driver's side of a split virtqueue (Virtual I/O Device, version 1.1, clause 2.6).
 *
 * A queue is used by one thread. Descriptors are laid out once: whoever offers a request knows
 * which descriptors are its own, so there is no list of free ones.
 */
#ifndef VHOST_QUEUE_H
#define VHOST_QUEUE_H

#include <linux/virtio_ring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vhost_queue {
	struct vring ring;
	uint16_t offered;   /* where the next request goes in the available ring, free running */
	uint16_t published; /* how far the device has been told of */
	uint16_t taken;     /* how far the used ring has been read */
	int kick;           /* eventfd written to by us: there are new requests */
	int call;           /* eventfd written to by the device: there are used ones */
	uint64_t requests, batches, kicks, calls; /* a batch needs no kick if the device is awake */
};

/* The memory that a queue with so many descriptors, a power of two, takes. */
size_t queue_bytes(unsigned descriptors);

/* Makes the queue in zeroed memory that the device can reach, aligned to a page. */
void queue_init(struct vhost_queue *queue, unsigned descriptors, void *memory);

/*
 * Fills in a descriptor; flags are VRING_DESC_F_NEXT, the following descriptor continuing this
 * one, and VRING_DESC_F_WRITE, the device writing the buffer.
 */
void queue_describe(struct vhost_queue *queue, uint16_t descriptor, const void *buffer,
		    size_t bytes, uint16_t flags);

/* Puts a chain of descriptors, by its first, into the available ring. */
void queue_offer(struct vhost_queue *queue, uint16_t head);

/* Lets the device see what was offered, and wakes it unless it says that it is awake. */
void queue_publish(struct vhost_queue *queue);

/* Wakes the device in any case: it lost sight of the queue. */
void queue_kick(const struct vhost_queue *queue);

/* Takes one used request, if there is one; its first descriptor goes to *head. */
bool queue_take(struct vhost_queue *queue, uint16_t *head);

/* Sleeps until the device calls. */
void queue_wait(struct vhost_queue *queue);

#endif
