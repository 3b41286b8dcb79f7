/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#ifndef DISK_SELF_TEST_H
#define DISK_SELF_TEST_H

#include "disk/range.h"

/*
 * SEND DIAGNOSTIC (SPC-4 6.42). Of the self-tests there is the default one, which changes nothing:
 * the first and the last block can be read, and no flush has failed since the backend was opened.
 */
enum tcmu_ext_status execute_send_diagnostic(struct tcmu_ext_disk *disk,
					     struct tcmu_ext_command *command);

/* From the first block to the last. */
struct extent extent_of_self_test(struct tcmu_ext_disk *disk, struct tcmu_ext_command *command);

#endif
