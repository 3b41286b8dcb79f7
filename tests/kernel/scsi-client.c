/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Sends SCSI commands for test scripts, which start it once: under emulation a process costs a
 * hundred times what a command does.
 *
 * Each line of standard input is a command:  DEVICE DIRECTION LENGTH FILE CDB-BYTE…
 * DEVICE is an sg device. DIRECTION is none, in (LENGTH bytes are asked for and written to FILE) or
 * out (FILE is sent). CDB bytes are hexadecimal. Each is answered by a line:
 *     STATUS SENSE INFORMATION RESIDUAL DATA…
 * STATUS is the SAM status in hexadecimal, or `error` and what went wrong; SENSE is KEY/ASC/ASCQ or
 * a dash; INFORMATION is decimal, a dash where it is not valid; DATA is the first bytes that came
 * in, hexadecimal.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <scsi/sg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	TIMEOUT_MILLISECONDS = 60000,
	DATA_MAXIMUM_BYTES = 4 * 1024 * 1024,
	DATA_SHOWN_BYTES = 256,
	SENSE_BYTES = 96,
	CDB_MAXIMUM_BYTES = 16,
};

struct command {
	char device[64];
	char direction[8];
	size_t length;
	char file[256];
	uint8_t cdb[CDB_MAXIMUM_BYTES];
	uint8_t cdb_bytes;
};

static uint8_t sense[SENSE_BYTES];
static uint8_t data[DATA_MAXIMUM_BYTES];

static bool parse(const char *line, struct command *command)
{
	int used = 0;
	unsigned int byte;

	*command = (struct command){ .cdb_bytes = 0 };
	if (sscanf(line, "%63s %7s %zu %255s%n", command->device, command->direction,
		   &command->length, command->file, &used) != 4)
		return false;
	for (line += used; sscanf(line, " %2x%n", &byte, &used) == 1; line += used) {
		if (command->cdb_bytes == CDB_MAXIMUM_BYTES)
			return false;
		command->cdb[command->cdb_bytes++] = (uint8_t)byte;
	}
	return command->cdb_bytes >= 6 && command->length <= sizeof(data);
}

/* Fills the buffer from the file that is to be sent. */
static int load(struct command *command)
{
	int fd = open(command->file, O_RDONLY | O_CLOEXEC);
	ssize_t count;

	if (fd < 0)
		return -errno;
	count = read(fd, data, sizeof(data));
	close(fd);
	if (count < 0)
		return -EIO;
	command->length = (size_t)count;
	return 0;
}

static int store(const char *file, size_t bytes)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t count;

	if (fd < 0)
		return -errno;
	count = write(fd, data, bytes);
	close(fd);
	return count == (ssize_t)bytes ? 0 : -EIO;
}

static int transfer_direction(const struct command *command)
{
	if (!strcmp(command->direction, "in"))
		return SG_DXFER_FROM_DEV;
	if (!strcmp(command->direction, "out"))
		return SG_DXFER_TO_DEV;
	return SG_DXFER_NONE;
}

static int send_command(struct command *command, struct sg_io_hdr *header)
{
	int fd = open(command->device, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	int error;

	if (fd < 0)
		return -errno;
	memset(sense, 0, sizeof(sense));
	*header = (struct sg_io_hdr){
		.interface_id = 'S',
		.dxfer_direction = transfer_direction(command),
		.cmd_len = command->cdb_bytes,
		.mx_sb_len = sizeof(sense),
		.dxfer_len = (unsigned int)command->length,
		.dxferp = data,
		.cmdp = command->cdb,
		.sbp = sense,
		.timeout = TIMEOUT_MILLISECONDS,
	};
	error = ioctl(fd, SG_IO, header) ? -errno : 0;
	close(fd);
	return error;
}

/* SPC-4 4.5: fixed and descriptor format. */
static void print_sense(const struct sg_io_hdr *header)
{
	bool descriptor = (sense[0] & 0x7e) == 0x72;
	uint64_t information = 0;
	bool valid = false;

	if (!header->sb_len_wr) {
		printf(" - -");
		return;
	}
	if (!descriptor) {
		valid = sense[0] & 0x80;
		for (int i = 3; i < 7; i++)
			information = information << 8 | sense[i];
		printf(" %02x/%02x/%02x", sense[2] & 15, sense[12], sense[13]);
	} else {
		/* An information descriptor comes first where there is one. */
		valid = sense[7] >= 12 && sense[8] == 0 && (sense[10] & 0x80);
		for (int i = 12; i < 20; i++)
			information = information << 8 | sense[i];
		printf(" %02x/%02x/%02x", sense[1] & 15, sense[2], sense[3]);
	}
	if (valid)
		printf(" %" PRIu64, information);
	else
		printf(" -");
}

static int answer(const char *line)
{
	struct command command;
	struct sg_io_hdr header;
	size_t received;
	int error;

	if (!parse(line, &command))
		return -EINVAL;
	memset(data, 0, command.length);
	error = transfer_direction(&command) == SG_DXFER_TO_DEV ? load(&command) : 0;
	if (!error)
		error = send_command(&command, &header);
	if (error)
		return error;
	if (header.host_status) {
		printf("error the initiator's host status is %u\n", header.host_status);
		return 0;
	}
	received = transfer_direction(&command) == SG_DXFER_FROM_DEV ? command.length : 0;
	if (received)
		error = store(command.file, received);
	if (error)
		return error;
	printf("%02x", header.status);
	print_sense(&header);
	printf(" %d", header.resid);
	for (size_t i = 0; i < received && i < DATA_SHOWN_BYTES; i++)
		printf(" %02x", data[i]);
	putchar('\n');
	return 0;
}

int main(void)
{
	char *line = NULL;
	size_t line_bytes = 0;

	while (getline(&line, &line_bytes, stdin) > 0) {
		int error = answer(line);

		if (error)
			printf("error %s\n", strerror(-error));
		fflush(stdout);
	}
	free(line);
	return 0;
}
