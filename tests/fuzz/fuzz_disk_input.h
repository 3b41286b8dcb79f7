/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The bits of fuzz_disk's input, which also the maker of its seeds writes. */
#ifndef FUZZ_DISK_INPUT_H
#define FUZZ_DISK_INPUT_H

enum {
	/* Set-up. */
	SETUP_LARGE_BLOCKS = 0x01,
	SETUP_WRITE_CACHE = 0x02,
	SETUP_DISCARD = 0x04,
	SETUP_DISCARD_READS_ZERO = 0x08,
	SETUP_READ_ONLY = 0x10,
	SETUP_BARE_BACKEND = 0x20, /* none of the optional operations */
	SETUP_WRITE_PROTECT = 0x40,

	/* Flags of a command. */
	COMMAND_TAME = 0x01,      /* bring address and length near the medium's */
	COMMAND_FIT = 0x02,       /* give the buffer the length the CDB asks for */
	COMMAND_AGREE = 0x04,     /* let the data begin with what is on the medium there */
	COMMAND_ZEROES = 0x08,    /* let the data be zeroes */
	COMMAND_SHORT_CDB = 0x80, /* give only as many bytes of it as bits 6 to 3 say */

	CDB_BYTES = 16,
};

#endif
