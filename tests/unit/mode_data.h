/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Mode parameter lists for tests (SPC-4 7.5). */
#ifndef MODE_DATA_H
#define MODE_DATA_H

#include "disk_fixture.h"

enum {
	MODE_PAGE_ERROR_RECOVERY = 0x01,
	MODE_PAGE_CACHING = 0x08,
	MODE_PAGE_CONTROL = 0x0a,
	MODE_PAGE_INFORMATIONAL_EXCEPTIONS = 0x1c,
	MODE_PAGE_ALL = 0x3f,

	MODE_CURRENT = 0x00,
	MODE_CHANGEABLE = 0x40,
	MODE_DEFAULT = 0x80,
	MODE_SAVED = 0xc0,

	MODE_BUFFER_BYTES = 255,
};

/* MODE SENSE of a page (ORed with a PAGE CONTROL), with or without block descriptors. */
struct cdb mode_sense_6(uint8_t page, uint8_t allocation_length);
struct cdb mode_sense_10(uint8_t page, uint16_t allocation_length);

/* The answer to MODE SENSE, taken apart. Fails the test unless it is well formed. */
struct mode_answer {
	uint8_t bytes[MODE_BUFFER_BYTES];
	size_t length;
	uint8_t device_specific_parameter;
	const uint8_t *descriptor;
	size_t descriptor_bytes;
	const uint8_t *pages;
	size_t pages_bytes;
};

void mode_sense(struct disk_fixture *fixture, struct cdb cdb, struct mode_answer *answer);

/* One page by MODE SENSE (6) without descriptors: `page` gets it, its length is returned. */
size_t mode_page(struct disk_fixture *fixture, uint8_t page, uint8_t *bytes);

/* MODE SELECT (6) of a list that is a header of zeroes and `bytes` bytes of pages. */
enum tcmu_ext_status mode_select_pages(struct disk_fixture *fixture, const uint8_t *pages,
				       size_t bytes);

/* MODE SELECT (6) or (10) of a whole parameter list. */
enum tcmu_ext_status mode_select(struct disk_fixture *fixture, uint8_t operation_code,
				 const uint8_t *list, size_t bytes);

/* Sets or clears bits in one byte of a page by MODE SELECT. */
enum tcmu_ext_status mode_change(struct disk_fixture *fixture, uint8_t page, size_t byte,
				 uint8_t bits, bool set);

#endif
