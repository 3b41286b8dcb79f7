/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * How commands get to a disk: through a Linux SG device (transport-sg.c), or to the library in this
 * process (transport-library.c).
 */
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRANSPORT_SENSE_BYTES = 96 };

struct transport_command {
	const uint8_t *cdb;
	size_t cdb_bytes;
	bool to_disk;
	void *data;
	size_t data_bytes;
	uint8_t sense[TRANSPORT_SENSE_BYTES];
	uint8_t status; /* SAM status */
	unsigned int host_status;
};

/* What the name of a disk looks like here. */
extern const char transport_name_form[];

/* Opens one more handle of a disk; ends the program when that is not possible. */
int transport_open(const char *name);
void transport_close(int handle);

/* Sends a command and waits for its end. Returns false when the disk is gone. */
bool transport_send(int handle, struct transport_command *command);

#endif
