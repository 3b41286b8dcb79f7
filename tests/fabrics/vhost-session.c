/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "vhost-session.h"

#include <endian.h>
#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, OPERATION_READ_CAPACITY_16 = 0x9e, CAPACITY_BYTES = 32 };

/* The part at the end that no command uses: queues need not have a power of two of commands. */
static unsigned descriptors_for(unsigned commands)
{
	unsigned descriptors = 4;

	while (descriptors < commands * DESCRIPTORS_PER_COMMAND)
		descriptors *= 2;
	return descriptors;
}

static size_t pages(size_t bytes)
{
	return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static size_t memory_needed(const struct session_options *options)
{
	size_t request_queue = pages(queue_bytes(descriptors_for(options->depth))) +
			       options->depth * (pages(options->data_bytes) +
						 pages(sizeof(struct command_buffers)));
	size_t event_queue = pages(queue_bytes(EVENT_BUFFERS)) +
			     pages(EVENT_BUFFERS * sizeof(struct virtio_scsi_event));

	return options->queues * request_queue + event_queue + pages(queue_bytes(EVENT_BUFFERS));
}

static void make_memory(struct session *session, size_t bytes)
{
	session->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (session->memory == MAP_FAILED)
		err(1, "no memory");
	session->free_memory = session->memory;
	session->memory_end = session->memory + bytes;
}

static void *take_memory(struct session *session, size_t bytes)
{
	void *taken = session->free_memory;

	session->free_memory += pages(bytes);
	if (session->free_memory > session->memory_end)
		errx(1, "the memory was reckoned too small");
	return taken;
}

static void make_queue(struct session *session, struct vhost_queue *queue, unsigned descriptors)
{
	queue_init(queue, descriptors, take_memory(session, queue_bytes(descriptors)));
}

/* The device has nothing to say on this queue unless we hand it buffers in advance. */
static void make_event_queue(struct session *session)
{
	struct virtio_scsi_event *buffers;

	make_queue(session, &session->events, EVENT_BUFFERS);
	buffers = take_memory(session, EVENT_BUFFERS * sizeof(*buffers));
	for (unsigned i = 0; i < EVENT_BUFFERS; i++) {
		queue_describe(&session->events, (uint16_t)i, &buffers[i], sizeof(buffers[i]),
			       VRING_DESC_F_WRITE);
		queue_offer(&session->events, (uint16_t)i);
	}
	session->event_buffers = buffers;
}

static void make_request_queue(struct session *session, struct load_queue *queue,
			       uint64_t first_tag, const struct session_options *options)
{
	make_queue(session, &queue->queue, descriptors_for(options->depth));
	queue->slots = calloc(options->depth, sizeof(*queue->slots));
	if (!queue->slots)
		err(1, "no memory");
	for (unsigned i = 0; i < options->depth; i++) {
		struct command *command = &queue->slots[i].command;

		command->buffers = take_memory(session, sizeof(*command->buffers));
		command->data = take_memory(session, options->data_bytes);
		command_init(command, i, first_tag + i, options->target, options->lun);
	}
}

static void make_queues(struct session *session, const struct session_options *options)
{
	make_memory(session, memory_needed(options));
	make_queue(session, &session->control, EVENT_BUFFERS);
	make_event_queue(session);
	session->queue_count = options->queues;
	session->queues = calloc(options->queues, sizeof(*session->queues));
	if (!session->queues)
		err(1, "no memory");
	for (unsigned i = 0; i < options->queues; i++)
		make_request_queue(session, &session->queues[i], (uint64_t)i * options->depth,
				   options);
}

void session_open(struct session *session, const struct session_options *options)
{
	*session = (struct session){ 0 };
	make_queues(session, options);
	device_open(&session->device, options->port_name);
	device_share_memory(&session->device, session->memory,
			    (size_t)(session->memory_end - session->memory));
	device_add_queue(&session->device, CONTROL_QUEUE, &session->control);
	device_add_queue(&session->device, EVENT_QUEUE, &session->events);
	for (unsigned i = 0; i < options->queues; i++) {
		device_add_queue(&session->device, FIRST_REQUEST_QUEUE + i,
				 &session->queues[i].queue);
		if (options->workers)
			device_add_worker(&session->device, FIRST_REQUEST_QUEUE + i);
	}
	device_set_endpoint(&session->device);
	queue_publish(&session->events);
}

void session_read_capacity(struct session *session)
{
	static const uint8_t cdb[16] = { OPERATION_READ_CAPACITY_16, 0x10, [13] = CAPACITY_BYTES };
	struct load_queue *queue = &session->queues[0];
	struct command *command = &queue->slots[0].command;
	uint64_t last_block;
	uint32_t block_bytes;
	char text[64];

	if (command_run(command, &queue->queue, cdb, sizeof(cdb), DATA_IN, CAPACITY_BYTES) !=
	    COMMAND_GOOD) {
		command_describe(command, text, sizeof(text));
		errx(3, "READ CAPACITY failed: %s", text);
	}
	memcpy(&last_block, command->data, sizeof(last_block));
	memcpy(&block_bytes, (const uint8_t *)command->data + 8, sizeof(block_bytes));
	session->blocks = be64toh(last_block) + 1;
	session->block_bytes = be32toh(block_bytes);
}

static void print_event(const struct virtio_scsi_event *event)
{
	fprintf(stderr, "event %u reason %u lun %u\n", le32toh(event->event),
		le32toh(event->reason), (event->lun[2] & 0x3f) << 8 | event->lun[3]);
}

void session_take_events(struct session *session, int milliseconds)
{
	struct pollfd call = { .fd = session->events.call, .events = POLLIN };
	uint16_t head;

	if (poll(&call, 1, milliseconds) <= 0)
		return;
	queue_wait(&session->events);
	while (queue_take(&session->events, &head)) {
		print_event(&session->event_buffers[head]);
		session->event_count++;
		queue_offer(&session->events, head);
	}
	queue_publish(&session->events);
}

void session_cycle_endpoint(struct session *session)
{
	device_clear_endpoint(&session->device);
	device_set_endpoint(&session->device);
	queue_kick(&session->events);
	for (unsigned i = 0; i < session->queue_count; i++)
		queue_kick(&session->queues[i].queue);
}

void session_close(struct session *session)
{
	device_clear_endpoint(&session->device);
	device_close(&session->device);
}
