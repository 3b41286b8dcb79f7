/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The commands that an initiator may send to a LUN and that the disk never sees, for REPORT
 * SUPPORTED OPERATION CODES: a LUN supports what somebody answers.
 */
#include "adapter.h"

#include <tcmu-ext/scsi.h>

/* Usage bytes from byte 1 on; that of byte 1 without the service action. */
#define WITHOUT_ACTION(code, bytes, ...)                                                    \
	{                                                                                   \
		.operation_code = (code), .cdb_bytes = (bytes), .usage = { 0, __VA_ARGS__ } \
	}
#define WITH_ACTION(code, action, bytes, ...)                                                     \
	{                                                                                         \
		.operation_code = (code), .has_service_action = true, .service_action = (action), \
		.cdb_bytes = (bytes), .usage = {                                                  \
			0,                                                                        \
			__VA_ARGS__                                                               \
		}                                                                                 \
	}

#define PERSISTENT_RESERVE_IN_ROW(action) \
	WITH_ACTION(TCMU_EXT_PERSISTENT_RESERVE_IN, action, 10, 0, 0, 0, 0, 0, 0, 0xff, 0xff)
#define PERSISTENT_RESERVE_OUT_ROW(action)                                                        \
	WITH_ACTION(TCMU_EXT_PERSISTENT_RESERVE_OUT, action, 10, 0, 0xff, 0, 0, 0xff, 0xff, 0xff, \
		    0xff)

/* CDB fields: SPC-4 6.4 ff., SPC-2 for RESERVE and RELEASE. */
static const struct tcmu_ext_command_description other_commands[] = {
	/*
	 * tcmu-runner's: EXTENDED COPY and RECEIVE COPY RESULTS. It also answers REPORT and SET
	 * TARGET PORT GROUPS, which are not offered (TPGS is 0): all paths to the LUN are alike,
	 * unless an administrator sets up groups, of which nothing is known here.
	 */
	WITH_ACTION(TCMU_EXT_EXTENDED_COPY, 0x00, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff,
		    0xff),
	WITH_ACTION(TCMU_EXT_RECEIVE_COPY_RESULTS, 0x03, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
		    0xff, 0xff),
	/* The target core's: REPORT LUNS, and reservations. */
	WITHOUT_ACTION(TCMU_EXT_REPORT_LUNS, 12, 0, 0xff, 0, 0, 0, 0xff, 0xff, 0xff, 0xff),
	WITHOUT_ACTION(TCMU_EXT_RESERVE_6, 6),
	WITHOUT_ACTION(TCMU_EXT_RELEASE_6, 6),
	WITHOUT_ACTION(TCMU_EXT_RESERVE_10, 10),
	WITHOUT_ACTION(TCMU_EXT_RELEASE_10, 10),
	PERSISTENT_RESERVE_IN_ROW(0),
	PERSISTENT_RESERVE_IN_ROW(1),
	PERSISTENT_RESERVE_IN_ROW(2),
	PERSISTENT_RESERVE_IN_ROW(3),
	PERSISTENT_RESERVE_OUT_ROW(0),
	PERSISTENT_RESERVE_OUT_ROW(1),
	PERSISTENT_RESERVE_OUT_ROW(2),
	PERSISTENT_RESERVE_OUT_ROW(3),
	PERSISTENT_RESERVE_OUT_ROW(4),
	PERSISTENT_RESERVE_OUT_ROW(5),
	PERSISTENT_RESERVE_OUT_ROW(6),
	PERSISTENT_RESERVE_OUT_ROW(7),
};

enum {
	ALL_COMMANDS = sizeof(other_commands) / sizeof(other_commands[0]),
	WITHOUT_RESERVATIONS = 3, /* the rows before them */
};

size_t adapter_other_commands(struct tcmu_device *dev,
			      const struct tcmu_ext_command_description **commands)
{
	*commands = other_commands;
	/* Kernels before 5.1 have no such attribute and always do reservations. */
	return tcmu_cfgfs_dev_get_attr_int(dev, "emulate_pr") == 0 ? WITHOUT_RESERVATIONS
								   : ALL_COMMANDS;
}
