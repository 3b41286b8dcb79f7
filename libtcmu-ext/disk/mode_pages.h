/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The mode pages of the disk (SPC-4 7.5, SBC-3 6.5), for MODE SENSE and MODE SELECT alike. */
#ifndef DISK_MODE_PAGES_H
#define DISK_MODE_PAGES_H

#include <stddef.h>

#include "disk/disk.h"

/* PAGE CONTROL (SPC-4 table 178). */
enum page_control {
	PAGE_CURRENT = 0,
	PAGE_CHANGEABLE = 1,
	PAGE_DEFAULT = 2,
	PAGE_SAVED = 3,
};

enum {
	ALL_PAGES = 0x3f,
	ALL_SUBPAGES = 0xff,
	MODE_PAGE_MAXIMUM_BYTES = 20,
	MODE_PAGES_MAXIMUM_BYTES = 12 + 20 + 12 + 12,
};

/*
 * Writes the page, or all in ascending order for ALL_PAGES, to `data`, which has room for
 * MODE_PAGES_MAXIMUM_BYTES. Returns their length in bytes; 0 when there is no such page.
 */
size_t mode_pages_write(const struct tcmu_ext_disk *disk, uint8_t page_code,
			enum page_control page_control, uint8_t *data);

/*
 * Makes a page take effect whose fields differ from the current ones only where they are
 * changeable. Returns 0, or -errno when turning the write cache off could not flush it.
 */
int mode_page_apply(struct tcmu_ext_disk *disk, const uint8_t *page);

#endif
