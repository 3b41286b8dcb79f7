/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "adapter.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static uint64_t size_bytes(struct tcmu_device *dev)
{
	return tcmu_dev_get_num_lbas(dev) * tcmu_dev_get_block_size(dev);
}

/* The runner raises the unit attention and takes over the new size when this succeeds. */
static int resize(struct tcmu_device *dev, struct adapter_lun *lun, uint64_t new_bytes)
{
	uint64_t old_bytes = size_bytes(dev);
	int error = 0;

	if (new_bytes < old_bytes)
		error = -EINVAL;
	else
		error = tcmu_ext_disk_resize(lun->disk, new_bytes);
	if (!error)
		adapter_message(dev, TCMU_EXT_LOG_INFO,
				"%s: grown from %" PRIu64 " to %" PRIu64 " bytes", lun->path,
				old_bytes, new_bytes);
	else if (new_bytes < old_bytes)
		adapter_message(dev, TCMU_EXT_LOG_ERROR,
				"%s: dev_size %" PRIu64 " is refused: a LUN is not made smaller, "
				"since what lies beyond would be lost; it stays at %" PRIu64
				" bytes",
				lun->path, new_bytes, old_bytes);
	else
		adapter_message(dev, TCMU_EXT_LOG_ERROR,
				"%s: cannot grow from %" PRIu64 " to %" PRIu64 " bytes: %s",
				lun->path, old_bytes, new_bytes, strerror(-error));
	return error;
}

/*
 * Initiators learn of it when they read the caching mode page again. One that still takes the LUN
 * for write-through does not flush, hence the advice.
 */
static int set_write_cache(struct tcmu_device *dev, struct adapter_lun *lun, bool enabled)
{
	bool was_enabled = tcmu_ext_disk_get_write_cache(lun->disk);
	int error = tcmu_ext_disk_set_write_cache(lun->disk, enabled);

	if (error) {
		adapter_message(dev, TCMU_EXT_LOG_ERROR,
				"%s: the write cache cannot be turned %s and stays as it is: %s",
				lun->path, enabled ? "on" : "off", strerror(-error));
		return error;
	}
	tcmu_dev_set_write_cache_enabled(dev, enabled);
	if (was_enabled && !enabled)
		adapter_message(
			dev, TCMU_EXT_LOG_INFO,
			"%s: write cache turned off (emulate_write_cache=0): every write is "
			"durable when it completes",
			lun->path);
	if (!was_enabled && enabled)
		adapter_message(
			dev, TCMU_EXT_LOG_WARNING,
			"%s: write cache turned on (emulate_write_cache=1): rescan the disk "
			"on each connected initiator, or it will not flush",
			lun->path);
	return 0;
}

static int set_config(struct tcmu_device *dev, struct adapter_lun *lun, const char *text)
{
	if (adapter_same_config(text, tcmu_dev_get_cfgstring(dev)))
		return 0;
	adapter_message(dev, TCMU_EXT_LOG_ERROR,
			"%s: dev_config cannot be changed while the LUN exists: delete the "
			"backstore and create it with the new cfgstring",
			lun->path);
	return -EOPNOTSUPP;
}

int adapter_reconfig(struct tcmu_device *dev, struct tcmulib_cfg_info *info)
{
	struct adapter_lun *lun = tcmur_dev_get_private(dev);

	if (!lun)
		return -ENODEV;
	switch (info->type) {
	case TCMULIB_CFG_DEV_SIZE:
		return resize(dev, lun, info->data.dev_size);
	case TCMULIB_CFG_WRITE_CACHE:
		return set_write_cache(dev, lun, info->data.write_cache);
	case TCMULIB_CFG_DEV_CFGSTR:
		return set_config(dev, lun, info->data.dev_cfgstring);
	}
	return -EOPNOTSUPP;
}

bool adapter_was_in_use(struct tcmu_device *dev, bool reopen)
{
	/* When in doubt it is enabled: to store an attribute would then wait for this very thread.
	 */
	return reopen || tcmu_cfgfs_dev_get_attr_int(dev, "../enable") != 0;
}

/*
 * The kernel gives user backstores emulate_write_cache=0 whatever they do, and saveconfig and
 * restoreconfig would carry that 0 to us as a request to turn the write cache off. So the attribute
 * is set to the truth while a LUN is created: as long as the device is not enabled the kernel only
 * stores the value and sends no event. Once it is enabled the attribute holds the administrator's
 * last word, also across a restart of the daemon. Both paths go through the attribute directory
 * since libtcmu offers no function for the device's own.
 */
bool adapter_initial_write_cache(struct tcmu_device *dev, bool configured, bool was_in_use)
{
	int attribute;

	if (was_in_use) {
		attribute = tcmu_cfgfs_dev_get_attr_int(dev, "emulate_write_cache");
		return attribute < 0 ? configured : attribute > 0;
	}
	if (tcmu_cfgfs_dev_exec_action(dev, "../attrib/emulate_write_cache", configured))
		adapter_message(dev, TCMU_EXT_LOG_DEBUG,
				"emulate_write_cache could not be set to %d", configured);
	return configured;
}
