/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * SCSI commands as virtio-scsi carries them (Virtual I/O Device, version 1.1, clause 5.6.6.1): a
 * request, data to the device, a response, data from the device, in that order and each in a
 * buffer of its own.
 */
#ifndef VHOST_COMMAND_H
#define VHOST_COMMAND_H

#include <linux/virtio_scsi.h>
#include <stddef.h>
#include <stdint.h>

#include "vhost-queue.h"

/* Descriptors each command owns in the queue it belongs to. */
enum { DESCRIPTORS_PER_COMMAND = 3 };

enum data_direction { DATA_NONE, DATA_IN, DATA_OUT };

/* What lies in memory that the device can reach. */
struct command_buffers {
	struct virtio_scsi_cmd_req request;
	struct virtio_scsi_cmd_resp response;
};

struct command {
	struct command_buffers *buffers;
	void *data; /* also reachable by the device */
	uint16_t head;
};

enum command_result {
	COMMAND_GOOD,
	COMMAND_RETRY_BUSY,      /* BUSY or TASK SET FULL: the same again, a little later */
	COMMAND_RETRY_ATTENTION, /* a unit attention, or aborted by another command's doing */
	COMMAND_NO_TARGET,       /* the target port is not there, or not at the moment */
	COMMAND_FAILED,
};

/*
 * Command number `index` of a queue, with a tag that no other command of the LUN has. The LUN is in
 * the format of virtio-scsi: 1, the target, which vhost-scsi takes for the number of the target
 * portal group, and a flat LUN.
 */
void command_init(struct command *command, unsigned index, uint64_t tag, uint8_t target,
		  uint16_t lun);

/* Fills in the command and offers it to the queue. */
void command_offer(struct command *command, struct vhost_queue *queue, const uint8_t *cdb,
		   size_t cdb_bytes, enum data_direction direction, size_t data_bytes);

/* What the response of a used command says. */
enum command_result command_result(const struct command *command);

/* How many bytes of its data a used command did not transfer. */
uint32_t command_residual(const struct command *command);

/* Prints status and sense data, as "status 02 sense 05/25/00". */
void command_describe(const struct command *command, char *text, size_t size);

/*
 * Runs one command, on a queue that has no other, until it ends; one that the device asks to
 * repeat is repeated.
 */
enum command_result command_run(struct command *command, struct vhost_queue *queue,
				const uint8_t *cdb, size_t cdb_bytes, enum data_direction direction,
				size_t data_bytes);

#endif
