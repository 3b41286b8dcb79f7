/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * How a command gets from handle_cmd, which must end it, to the disk's engine, which ends it later.
 *
 * The runner waits for tcmur_cmd_complete() only where one of its own callouts has said "queued",
 * and it prepares a command for that only on the way there. So handle_cmd makes the command look
 * like SYNCHRONIZE CACHE, whatever it is, and says that it does not handle it: the runner then
 * calls the flush callout with it at once, on the same thread, and checks nothing about it on the
 * way (tcmur_cmd_handler() in tcmu-runner 1.5.4 to 1.6.2; unless the LUN is being reopened, when it
 * ends the command with BUSY). The flush callout restores the operation code. The CDB is a copy
 * that libtcmu made for this command, and a few instructions later it is as it was.
 */
#include "adapter.h"

#include <pthread.h>

#include <tcmu-ext/scsi.h>

int adapter_divert(struct adapter_lun *lun, struct tcmur_cmd *cmd)
{
	uint8_t *cdb = cmd->lib_cmd->cdb;

	lun->diverted = cmd;
	lun->diverted_operation_code = cdb[0];
	cdb[0] = TCMU_EXT_SYNCHRONIZE_CACHE_10;
	return TCMU_STS_NOT_HANDLED;
}

bool adapter_is_diverted(const struct adapter_lun *lun, const struct tcmur_cmd *cmd)
{
	return lun->diverted == cmd;
}

/* On a thread of the disk's engine, which closing the LUN waits for. */
static void complete(void *context, void *caller_command, enum tcmu_ext_status status)
{
	struct adapter_lun *lun = context;

	tcmur_cmd_complete(lun->dev, caller_command, adapter_status(status));
	atomic_fetch_sub(&lun->ring.under_way, 1);
}

int adapter_submit_diverted(struct tcmu_device *dev, struct adapter_lun *lun, struct tcmur_cmd *cmd)
{
	struct tcmu_ext_command command = adapter_command(dev, cmd);
	uint8_t *cdb = cmd->lib_cmd->cdb;
	int cancel_state;

	lun->diverted = NULL;
	cdb[0] = lun->diverted_operation_code;
	command.cdb = cdb;
	command.cdb_bytes = adapter_cdb_bytes(cdb);
	command.complete = complete;
	command.context = lun;
	atomic_fetch_add(&lun->ring.under_way, 1);
	/* The runner cancels this thread; see adapter_handle_cmd(). */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	tcmu_ext_disk_submit(lun->disk, &command);
	pthread_setcancelstate(cancel_state, NULL);
	return TCMU_STS_OK;
}
