/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* A file that passes for a block device, with attributes in a folder that passes for sysfs. */
#ifndef BLOCK_FIXTURE_H
#define BLOCK_FIXTURE_H

#include "fixture.h"

enum {
	DEVICE_BYTES = 4 * 1024 * 1024,
	LUN_BYTES = DEVICE_BYTES - 64 * 1024,
};

/* The device's directory there. */
extern char sysfs[PATH_MAX + 64];

/* A device that discards and writes zeroes. */
int block_setup(void **state);

void set_attribute(const char *name, const char *value);

const struct tcmu_ext_backend_properties *open_device(struct fixture *fixture);

#endif
