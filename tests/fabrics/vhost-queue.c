/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "vhost-queue.h"

#include <endian.h>
#include <err.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { USED_RING_ALIGNMENT = 4096 };

size_t queue_bytes(unsigned descriptors)
{
	return vring_size(descriptors, USED_RING_ALIGNMENT);
}

void queue_init(struct vhost_queue *queue, unsigned descriptors, void *memory)
{
	*queue = (struct vhost_queue){ 0 };
	vring_init(&queue->ring, descriptors, memory, USED_RING_ALIGNMENT);
	queue->kick = eventfd(0, EFD_CLOEXEC);
	queue->call = eventfd(0, EFD_CLOEXEC);
	if (queue->kick < 0 || queue->call < 0)
		err(1, "eventfd");
}

/* Our addresses are also the device's: see device_share_memory(). */
void queue_describe(struct vhost_queue *queue, uint16_t descriptor, const void *buffer,
		    size_t bytes, uint16_t flags)
{
	queue->ring.desc[descriptor] = (struct vring_desc){
		.addr = htole64((uintptr_t)buffer),
		.len = htole32((uint32_t)bytes),
		.flags = htole16(flags),
		.next = htole16((uint16_t)(descriptor + 1)),
	};
}

void queue_offer(struct vhost_queue *queue, uint16_t head)
{
	unsigned position = queue->offered++ % queue->ring.num;

	queue->ring.avail->ring[position] = htole16(head);
	queue->requests++;
}

void queue_publish(struct vhost_queue *queue)
{
	if (queue->published == queue->offered)
		return;
	queue->published = queue->offered;
	queue->batches++;
	__atomic_store_n(&queue->ring.avail->idx, htole16(queue->offered), __ATOMIC_RELEASE);
	/*
	 * The device first allows kicks and then looks for requests once more; we first show the
	 * request and then look whether kicks are allowed. With a full barrier in between on both
	 * sides, one of the two sees the other.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&queue->ring.used->flags, __ATOMIC_RELAXED) &
	    htole16(VRING_USED_F_NO_NOTIFY))
		return;
	queue->kicks++;
	queue_kick(queue);
}

void queue_kick(const struct vhost_queue *queue)
{
	if (eventfd_write(queue->kick, 1))
		err(1, "cannot kick the device");
}

bool queue_take(struct vhost_queue *queue, uint16_t *head)
{
	uint16_t end = le16toh(__atomic_load_n(&queue->ring.used->idx, __ATOMIC_ACQUIRE));

	if (queue->taken == end)
		return false;
	*head = (uint16_t)le32toh(queue->ring.used->ring[queue->taken++ % queue->ring.num].id);
	return true;
}

void queue_wait(struct vhost_queue *queue)
{
	eventfd_t count;

	while (eventfd_read(queue->call, &count)) {
		if (errno != EINTR)
			err(1, "cannot wait for the device");
	}
	queue->calls++;
}
