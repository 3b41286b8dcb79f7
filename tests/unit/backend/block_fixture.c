/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "block_fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

char sysfs[PATH_MAX + 64];

void set_attribute(const char *name, const char *value)
{
	char path[sizeof(sysfs) + 64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", sysfs, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%s\n", value);
	assert_int_equal(fclose(file), 0);
}

/* The attributes of a device that discards and writes zeroes. */
static void make_sysfs(const struct fixture *fixture)
{
	char path[sizeof(sysfs) + 16];

	snprintf(path, sizeof(path), "%s/sda", fixture->directory);
	assert_int_equal(mkdir(path, 0700), 0);
	strcpy(sysfs, path);
	strcat(path, "/queue");
	assert_int_equal(mkdir(path, 0700), 0);
	set_attribute("alignment_offset", "0");
	set_attribute("discard_alignment", "0");
	set_attribute("queue/zoned", "none");
	set_attribute("queue/discard_granularity", "4096");
	set_attribute("queue/discard_max_bytes", "4294966784");
	set_attribute("queue/write_zeroes_max_bytes", "33553920");
}

int block_setup(void **state)
{
	struct fixture *fixture;
	struct stat status;

	if (fixture_setup(state))
		return -1;
	fixture = *state;
	fixture_make_file(fixture->path, DEVICE_BYTES);
	if (stat(fixture->path, &status))
		return -1;
	make_sysfs(fixture);
	shim_device = (struct shim_device){
		.inode = status.st_ino,
		.bytes = DEVICE_BYTES,
		.logical_block_bytes = 512,
		.physical_block_bytes = 4096,
		.optimal_transfer_bytes = 65536,
		.sysfs = sysfs,
	};
	fixture->config.size_bytes = LUN_BYTES;
	return 0;
}

const struct tcmu_ext_backend_properties *open_device(struct fixture *fixture)
{
	fixture_open(fixture, &tcmu_ext_backend_block, LUN_BYTES);
	return tcmu_ext_backend_properties(fixture->backend);
}
