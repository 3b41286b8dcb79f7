/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <scsi/sg.h>

#include "transport.h"

enum { COMMAND_MILLISECONDS = 600 * 1000 };

const char transport_name_form[] = "/dev/sgN";

int transport_open(const char *name)
{
	int handle = open(name, O_RDWR | O_CLOEXEC);

	if (handle < 0)
		err(2, "%s", name);
	return handle;
}

void transport_close(int handle)
{
	close(handle);
}

static int direction_of(const struct transport_command *command)
{
	if (!command->data_bytes)
		return SG_DXFER_NONE;
	return command->to_disk ? SG_DXFER_TO_DEV : SG_DXFER_FROM_DEV;
}

bool transport_send(int handle, struct transport_command *command)
{
	sg_io_hdr_t header = {
		.interface_id = 'S',
		.dxfer_direction = direction_of(command),
		.cmd_len = (unsigned char)command->cdb_bytes,
		.cmdp = (unsigned char *)(uintptr_t)command->cdb,
		.dxferp = command->data,
		.dxfer_len = (unsigned int)command->data_bytes,
		.sbp = command->sense,
		.mx_sb_len = sizeof(command->sense),
		.timeout = COMMAND_MILLISECONDS,
	};

	if (ioctl(handle, SG_IO, &header)) {
		if (errno == ENODEV || errno == ENXIO)
			return false;
		err(1, "SG_IO of operation %02x", command->cdb[0]);
	}
	command->status = header.status;
	command->host_status = header.host_status;
	return true;
}
