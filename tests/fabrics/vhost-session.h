/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Everything put together: memory, the three kinds of queue, the device, and what a driver asks a
 * LUN before it uses it.
 */
#ifndef VHOST_SESSION_H
#define VHOST_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vhost-command.h"
#include "vhost-device.h"
#include "vhost-load.h"
#include "vhost-queue.h"

enum { EVENT_BUFFERS = 8 };

struct session_options {
	const char *port_name;
	uint8_t target; /* the target portal group's number */
	uint16_t lun;
	unsigned queues;   /* request queues */
	unsigned depth;    /* commands in flight in each */
	size_t data_bytes; /* of each command */
	bool workers;      /* a kernel thread for each request queue */
};

struct session {
	struct vhost_device device;
	struct vhost_queue control, events;
	struct virtio_scsi_event *event_buffers;
	struct load_queue *queues; /* request queues and their commands */
	unsigned queue_count;
	unsigned event_count;
	uint64_t blocks; /* of the LUN, from READ CAPACITY */
	uint32_t block_bytes;
	uint8_t *memory, *free_memory, *memory_end;
};

/* Ends the program if something is refused. Afterwards the request queues are idle and in order. */
void session_open(struct session *session, const struct session_options *options);

/* Asks the LUN for its size; a unit attention from before is taken by the way. */
void session_read_capacity(struct session *session);

/* Waits a moment at most for events of the device and prints each; the buffers go back to it. */
void session_take_events(struct session *session, int milliseconds);

/* Takes the endpoint away under the queues and gives it back. */
void session_cycle_endpoint(struct session *session);

void session_close(struct session *session);

#endif
