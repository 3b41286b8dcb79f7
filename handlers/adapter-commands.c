/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "adapter.h"

#include <pthread.h>

#include <tcmu-ext/scsi.h>

enum { ANY_SERVICE_ACTION = -1 };

/*
 * What is left to the runner, of the commands the disk does not take. FORMAT UNIT is not: the
 * runner would overwrite the LUN from first to last block within this one command, while every
 * other command of the LUN waits.
 */
static const struct {
	uint8_t operation_code;
	int service_action; /* byte 1, bits 4 to 0 */
} left_to_runner[] = {
	/*
	 * VPD page 83h names the ports; page 80h holds a serial number that is set only after a LUN
	 * was opened, so that the runner looks it up for each command.
	 */
	{ TCMU_EXT_INQUIRY, ANY_SERVICE_ACTION }, /* those pages */
	{ TCMU_EXT_EXTENDED_COPY, 0x00 },
	{ TCMU_EXT_RECEIVE_COPY_RESULTS, 0x03 }, /* operating parameters */
	{ TCMU_EXT_MAINTENANCE_IN, 0x0a },       /* REPORT TARGET PORT GROUPS */
	{ TCMU_EXT_MAINTENANCE_OUT, 0x0a },      /* SET TARGET PORT GROUPS */
};

static bool is_left_to_runner(const uint8_t *cdb)
{
	for (size_t i = 0; i < sizeof(left_to_runner) / sizeof(left_to_runner[0]); i++) {
		int action = left_to_runner[i].service_action;

		if (left_to_runner[i].operation_code == cdb[0] &&
		    (action == ANY_SERVICE_ACTION || action == (cdb[1] & 0x1f)))
			return true;
	}
	return false;
}

/* What its group code says (SPC-4 4.2.5.1). */
size_t adapter_cdb_bytes(const uint8_t *cdb)
{
	static const uint8_t of_group[] = { 6, 10, 10, 0, 16, 12, 0, 0 };

	if (cdb[0] == 0x7f)
		return 8u + cdb[7];
	return of_group[cdb[0] >> 5];
}

int adapter_status(enum tcmu_ext_status status)
{
	switch (status) {
	case TCMU_EXT_STATUS_GOOD:
		return TCMU_STS_OK;
	case TCMU_EXT_STATUS_BUSY:
		return TCMU_STS_BUSY;
	case TCMU_EXT_STATUS_TASK_SET_FULL:
		return TCMU_STS_NO_RESOURCE;
	case TCMU_EXT_STATUS_CHECK_CONDITION:
	case TCMU_EXT_STATUS_NOT_MINE:
	case TCMU_EXT_STATUS_WOULD_BLOCK:
		break;
	}
	return TCMU_STS_PASSTHROUGH_ERR;
}

/* On a thread of the disk's engine. */
static void complete(void *context, void *caller_command, enum tcmu_ext_status status)
{
	tcmur_cmd_complete(context, caller_command, adapter_status(status));
}

struct tcmu_ext_command adapter_command(struct tcmu_device *dev, struct tcmur_cmd *cmd)
{
	struct tcmulib_cmd *lib_cmd = cmd->lib_cmd;

	return (struct tcmu_ext_command){
		.iov = lib_cmd->iovec,
		.iov_count = lib_cmd->iov_cnt,
		.sense = lib_cmd->sense_buf,
		.sense_bytes = sizeof(lib_cmd->sense_buf),
		.complete = complete,
		.context = dev,
		.caller_command = cmd,
	};
}

static int leave_to_runner(struct adapter_lun *lun, struct tcmu_ext_command *command)
{
	enum tcmu_ext_status status;

	if (command->cdb[0] != TCMU_EXT_EXTENDED_COPY)
		return TCMU_STS_NOT_HANDLED;
	status = adapter_check_extended_copy(lun->disk, command);
	if (status != TCMU_EXT_STATUS_NOT_MINE)
		return adapter_status(status);
	/* The one that may go on after this; its end will not be seen. */
	atomic_fetch_add(&lun->ring.under_way, 1);
	return TCMU_STS_NOT_HANDLED;
}

static int execute(struct tcmu_device *dev, struct adapter_lun *lun, struct tcmur_cmd *cmd)
{
	struct tcmu_ext_command command = adapter_command(dev, cmd);
	enum tcmu_ext_status status;

	command.cdb = cmd->lib_cmd->cdb;
	command.cdb_bytes = adapter_cdb_bytes(command.cdb);
	if (lun->ring.is_watched && adapter_ring_is_alone(&lun->ring, cmd->lib_cmd))
		command.flags = TCMU_EXT_COMMAND_ALONE;
	status = tcmu_ext_disk_execute(lun->disk, &command);
	if (lun->ring.is_watched)
		adapter_ring_executed(&lun->ring);
	if (status == TCMU_EXT_STATUS_GOOD && command.data_in_bytes)
		adapter_ring_set_data_in_bytes(&lun->ring, cmd->lib_cmd,
					       (uint32_t)command.data_in_bytes);
	if (status == TCMU_EXT_STATUS_WOULD_BLOCK)
		return adapter_divert(lun, cmd);
	if (status == TCMU_EXT_STATUS_NOT_MINE) {
		if (is_left_to_runner(command.cdb))
			return leave_to_runner(lun, &command);
		status = tcmu_ext_command_refuse_opcode(lun->disk, &command);
	}
	return adapter_status(status);
}

/*
 * The runner cancels the ring thread when a LUN is removed or the daemon stops, and the system
 * calls under a command are cancellation points: without this a command would end half-way, its
 * memory be lost, and the runner's count of running commands never return to zero (its assertion
 * then ends the daemon). Two calls of some twenty instructions.
 */
int adapter_handle_cmd(struct tcmu_device *dev, struct tcmur_cmd *cmd)
{
	struct adapter_lun *lun = tcmur_dev_get_private(dev);
	int cancel_state;
	int status;

	if (!lun)
		return TCMU_STS_BUSY; /* between close and reopen */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	status = execute(dev, lun, cmd);
	pthread_setcancelstate(cancel_state, NULL);
	return status;
}

static enum tcmu_ext_status execute_request(struct adapter_lun *lun,
					    const struct adapter_request *request)
{
	struct tcmu_ext_command command = adapter_command(request->dev, request->cmd);

	command.iov = request->iov;
	command.iov_count = request->iov_count;
	switch (request->kind) {
	case ADAPTER_READ:
		return tcmu_ext_disk_read(lun->disk, &command, request->offset, request->bytes);
	case ADAPTER_WRITE:
		return tcmu_ext_disk_write(lun->disk, &command, request->offset, request->bytes);
	case ADAPTER_FLUSH:
		return tcmu_ext_disk_flush(lun->disk, &command);
	case ADAPTER_NOTHING:
		break;
	}
	return TCMU_EXT_STATUS_GOOD;
}

/*
 * With nr_threads 0 the runner takes OK from these callouts for "queued" and waits for
 * tcmur_cmd_complete(). That call goes on with the next step of a compound command, which calls
 * the next callout, of this LUN or another, before it returns: a long EXTENDED COPY would nest
 * without bound. So a callout that comes while another one completes is only noted down, and the
 * outermost one works it off.
 */
static _Thread_local struct {
	bool completing;
	struct adapter_request queued; /* the request that came meanwhile */
} chain;

static void complete_chain(struct adapter_request request)
{
	chain.completing = true;
	while (request.kind != ADAPTER_NOTHING) {
		struct adapter_lun *lun = tcmur_dev_get_private(request.dev);
		enum tcmu_ext_status status = TCMU_EXT_STATUS_BUSY;

		chain.queued.kind = ADAPTER_NOTHING;
		if (lun)
			status = execute_request(lun, &request);
		tcmur_cmd_complete(request.dev, request.cmd, adapter_status(status));
		request = chain.queued;
	}
	chain.completing = false;
}

static int answer(struct adapter_request request)
{
	int cancel_state;

	if (chain.completing) {
		chain.queued = request;
		return TCMU_STS_OK;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	complete_chain(request);
	pthread_setcancelstate(cancel_state, NULL);
	return TCMU_STS_OK;
}

/* A compound command goes on from a thread of the engine, so that it keeps no other waiting. */
static int transfer(struct adapter_request request)
{
	struct adapter_lun *lun = tcmur_dev_get_private(request.dev);
	struct tcmu_ext_command command;

	if (!lun)
		return TCMU_STS_BUSY; /* between close and reopen */
	if (!tcmu_ext_disk_has_engine(lun->disk))
		return answer(request);
	command = adapter_command(request.dev, request.cmd);
	command.iov = request.iov;
	command.iov_count = request.iov_count;
	if (request.kind == ADAPTER_READ)
		tcmu_ext_disk_submit_read(lun->disk, &command, request.offset, request.bytes);
	else
		tcmu_ext_disk_submit_write(lun->disk, &command, request.offset, request.bytes);
	return TCMU_STS_OK;
}

int adapter_read(struct tcmu_device *dev, struct tcmur_cmd *cmd, struct iovec *iov,
		 size_t iov_count, size_t bytes, off_t offset)
{
	return transfer((struct adapter_request){ dev, ADAPTER_READ, cmd, iov, iov_count, bytes,
						  (uint64_t)offset });
}

int adapter_write(struct tcmu_device *dev, struct tcmur_cmd *cmd, struct iovec *iov,
		  size_t iov_count, size_t bytes, off_t offset)
{
	return transfer((struct adapter_request){ dev, ADAPTER_WRITE, cmd, iov, iov_count, bytes,
						  (uint64_t)offset });
}

int adapter_flush(struct tcmu_device *dev, struct tcmur_cmd *cmd)
{
	struct adapter_lun *lun = tcmur_dev_get_private(dev);

	if (!lun)
		return TCMU_STS_BUSY; /* between close and reopen */
	if (adapter_is_diverted(lun, cmd))
		return adapter_submit_diverted(dev, lun, cmd);
	return answer((struct adapter_request){ .dev = dev, .kind = ADAPTER_FLUSH, .cmd = cmd });
}
