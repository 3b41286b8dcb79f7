/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "vhost-command.h"

#include <endian.h>
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	STATUS_GOOD = 0x00,
	STATUS_CHECK_CONDITION = 0x02,
	STATUS_BUSY = 0x08,
	STATUS_TASK_SET_FULL = 0x28,
	STATUS_TASK_ABORTED = 0x40,
};

enum { SENSE_KEY_UNIT_ATTENTION = 0x06, SENSE_KEY_ABORTED_COMMAND = 0x0b };

struct sense {
	uint8_t key, code, qualifier;
};

void command_init(struct command *command, unsigned index, uint64_t tag, uint8_t target,
		  uint16_t lun)
{
	struct virtio_scsi_cmd_req *request = &command->buffers->request;

	command->head = (uint16_t)(index * DESCRIPTORS_PER_COMMAND);
	request->lun[0] = 1;
	request->lun[1] = target;
	request->lun[2] = (uint8_t)(0x40 | lun >> 8);
	request->lun[3] = (uint8_t)lun;
	request->tag = htole64(tag);
	request->task_attr = VIRTIO_SCSI_S_SIMPLE;
}

static void describe_buffers(const struct command *command, struct vhost_queue *queue,
			     enum data_direction direction, size_t data_bytes)
{
	const struct command_buffers *buffers = command->buffers;
	uint16_t next = command->head;

	queue_describe(queue, next++, &buffers->request, sizeof(buffers->request),
		       VRING_DESC_F_NEXT);
	if (direction == DATA_OUT)
		queue_describe(queue, next++, command->data, data_bytes, VRING_DESC_F_NEXT);
	queue_describe(queue, next++, &buffers->response, sizeof(buffers->response),
		       VRING_DESC_F_WRITE | (direction == DATA_IN ? VRING_DESC_F_NEXT : 0));
	if (direction == DATA_IN)
		queue_describe(queue, next, command->data, data_bytes, VRING_DESC_F_WRITE);
}

void command_offer(struct command *command, struct vhost_queue *queue, const uint8_t *cdb,
		   size_t cdb_bytes, enum data_direction direction, size_t data_bytes)
{
	struct command_buffers *buffers = command->buffers;

	memset(buffers->request.cdb, 0, sizeof(buffers->request.cdb));
	memcpy(buffers->request.cdb, cdb, cdb_bytes);
	/* A response that the device never wrote must not look like a good one. */
	memset(&buffers->response, 0xff, sizeof(buffers->response));
	describe_buffers(command, queue, direction, data_bytes);
	queue_offer(queue, command->head);
}

/* Both formats of sense data: SPC-4, clauses 4.5.2 and 4.5.3. */
static struct sense parse_sense(const struct virtio_scsi_cmd_resp *response)
{
	const uint8_t *data = response->sense;
	uint32_t length = le32toh(response->sense_len);
	uint8_t code = data[0] & 0x7f;

	if ((code == 0x72 || code == 0x73) && length >= 4)
		return (struct sense){ data[1] & 0x0f, data[2], data[3] };
	if ((code == 0x70 || code == 0x71) && length >= 14)
		return (struct sense){ data[2] & 0x0f, data[12], data[13] };
	return (struct sense){ 0 };
}

static enum command_result check_condition_result(const struct virtio_scsi_cmd_resp *response)
{
	switch (parse_sense(response).key) {
	case SENSE_KEY_UNIT_ATTENTION:
	case SENSE_KEY_ABORTED_COMMAND:
		return COMMAND_RETRY_ATTENTION;
	default:
		return COMMAND_FAILED;
	}
}

enum command_result command_result(const struct command *command)
{
	const struct virtio_scsi_cmd_resp *response = &command->buffers->response;

	if (response->response == VIRTIO_SCSI_S_BAD_TARGET)
		return COMMAND_NO_TARGET;
	if (response->response != VIRTIO_SCSI_S_OK)
		return COMMAND_FAILED;
	switch (response->status) {
	case STATUS_GOOD:
		return COMMAND_GOOD;
	case STATUS_CHECK_CONDITION:
		return check_condition_result(response);
	case STATUS_BUSY:
	case STATUS_TASK_SET_FULL:
		return COMMAND_RETRY_BUSY;
	case STATUS_TASK_ABORTED:
		return COMMAND_RETRY_ATTENTION;
	default:
		return COMMAND_FAILED;
	}
}

uint32_t command_residual(const struct command *command)
{
	return le32toh(command->buffers->response.resid);
}

void command_describe(const struct command *command, char *text, size_t size)
{
	const struct virtio_scsi_cmd_resp *response = &command->buffers->response;
	struct sense sense = parse_sense(response);

	if (response->response != VIRTIO_SCSI_S_OK)
		snprintf(text, size, "response %u", response->response);
	else if (response->status == STATUS_CHECK_CONDITION)
		snprintf(text, size, "status %02x sense %02x/%02x/%02x", response->status,
			 sense.key, sense.code, sense.qualifier);
	else
		snprintf(text, size, "status %02x residual %u", response->status,
			 command_residual(command));
}

static void run_once(struct command *command, struct vhost_queue *queue, const uint8_t *cdb,
		     size_t cdb_bytes, enum data_direction direction, size_t data_bytes)
{
	uint16_t head;

	command_offer(command, queue, cdb, cdb_bytes, direction, data_bytes);
	queue_publish(queue);
	while (!queue_take(queue, &head))
		queue_wait(queue);
	if (head != command->head)
		errx(1, "the device returned request %u, not %u", head, command->head);
}

enum command_result command_run(struct command *command, struct vhost_queue *queue,
				const uint8_t *cdb, size_t cdb_bytes, enum data_direction direction,
				size_t data_bytes)
{
	enum command_result result;

	for (;;) {
		run_once(command, queue, cdb, cdb_bytes, direction, data_bytes);
		result = command_result(command);
		if (result != COMMAND_RETRY_BUSY && result != COMMAND_RETRY_ATTENTION)
			return result;
		usleep(1000);
	}
}
