/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk/mode_pages.h"

#include <string.h>

#include "plumbing/byte_order.h"

enum {
	PAGE_ERROR_RECOVERY = 0x01,
	PAGE_CACHING = 0x08,
	PAGE_CONTROL_MODE = 0x0a,
	PAGE_INFORMATIONAL_EXCEPTIONS = 0x1c,

	WCE = 0x04,                     /* caching, byte 2 */
	D_SENSE = 0x04,                 /* control, byte 2 */
	GLTSD = 0x02,                   /* control, byte 2: no log parameters are saved */
	UNRESTRICTED_REORDERING = 0x10, /* control, byte 3 */
	SWP = 0x08,                     /* control, byte 4 */
	TAS = 0x40,                     /* control, byte 5: as the target core aborts tasks */
	DEXCPT = 0x08,                  /* informational exceptions, byte 2: none are reported */
};

/* Each writes one page in full and returns its length; `page` is all zero before. */

static size_t write_error_recovery(const struct tcmu_ext_disk *disk, enum page_control control,
				   uint8_t *page)
{
	(void)disk;
	(void)control;
	page[0] = PAGE_ERROR_RECOVERY;
	page[1] = 0x0a;
	return 12;
}

static size_t write_caching(const struct tcmu_ext_disk *disk, enum page_control control,
			    uint8_t *page)
{
	bool set = control == PAGE_CHANGEABLE ||
		   (control == PAGE_DEFAULT ? disk->default_write_cache
					    : atomic_load(&disk->write_cache));

	page[0] = PAGE_CACHING;
	page[1] = 0x12;
	page[2] = set ? WCE : 0;
	return 20;
}

static size_t write_control(const struct tcmu_ext_disk *disk, enum page_control control,
			    uint8_t *page)
{
	page[0] = PAGE_CONTROL_MODE;
	page[1] = 0x0a;
	if (control == PAGE_CHANGEABLE) {
		page[2] = D_SENSE;
		page[4] = SWP;
		return 12;
	}
	page[2] = GLTSD;
	page[3] = UNRESTRICTED_REORDERING;
	page[5] = TAS;
	put_be16(page + 8, UINT16_MAX); /* BUSY TIMEOUT PERIOD: unlimited */
	if (control == PAGE_CURRENT) {
		page[2] |= disk->descriptor_sense ? D_SENSE : 0;
		page[4] = disk->software_write_protect ? SWP : 0;
	}
	return 12;
}

static size_t write_informational_exceptions(const struct tcmu_ext_disk *disk,
					     enum page_control control, uint8_t *page)
{
	(void)disk;
	page[0] = PAGE_INFORMATIONAL_EXCEPTIONS;
	page[1] = 0x0a;
	page[2] = control == PAGE_CHANGEABLE ? 0 : DEXCPT;
	return 12;
}

static const struct {
	uint8_t page_code;
	size_t (*write)(const struct tcmu_ext_disk *disk, enum page_control control, uint8_t *page);
} pages[] = {
	{ PAGE_ERROR_RECOVERY, write_error_recovery },
	{ PAGE_CACHING, write_caching },
	{ PAGE_CONTROL_MODE, write_control },
	{ PAGE_INFORMATIONAL_EXCEPTIONS, write_informational_exceptions },
};

size_t mode_pages_write(const struct tcmu_ext_disk *disk, uint8_t page_code,
			enum page_control page_control, uint8_t *data)
{
	size_t length = 0;

	memset(data, 0, MODE_PAGES_MAXIMUM_BYTES);
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		if (page_code == ALL_PAGES || page_code == pages[i].page_code)
			length += pages[i].write(disk, page_control, data + length);
	return length;
}

int mode_page_apply(struct tcmu_ext_disk *disk, const uint8_t *page)
{
	switch (page[0]) {
	case PAGE_CACHING:
		return tcmu_ext_disk_set_write_cache(disk, page[2] & WCE);
	case PAGE_CONTROL_MODE:
		disk->descriptor_sense = page[2] & D_SENSE;
		disk->software_write_protect = page[4] & SWP;
		return 0;
	default:
		return 0;
	}
}
