/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

uint32_t chance(struct thread *thread, uint32_t below)
{
	thread->random ^= thread->random << 13;
	thread->random ^= thread->random >> 7;
	thread->random ^= thread->random << 17;
	return (uint32_t)(thread->random >> 32) % below;
}

uint64_t new_tag(struct thread *thread)
{
	return ++thread->tags << 8 | (thread->number + 1);
}

uint64_t begin(struct thread *thread)
{
	struct disk *disk = thread->disk;
	uint64_t now;

	/* Something not later than the number, first: whoever looks meanwhile must see it. */
	atomic_store(&disk->began[thread->number], atomic_load(&disk->now));
	now = atomic_fetch_add(&disk->now, 1) + 1;
	atomic_store(&disk->began[thread->number], now);
	return now;
}

uint64_t end(struct thread *thread)
{
	struct disk *disk = thread->disk;

	atomic_store(&disk->began[thread->number], UINT64_MAX);
	atomic_fetch_add(&disk->commands, 1);
	return atomic_fetch_add(&disk->now, 1) + 1;
}

uint64_t earliest_beginning(struct disk *disk)
{
	uint64_t earliest = atomic_load(&disk->now);

	for (unsigned int i = 0; i < disk->threads; i++) {
		uint64_t began = atomic_load(&disk->began[i]);

		if (began < earliest)
			earliest = began;
	}
	return earliest;
}

bool expect_good(struct thread *thread, enum scsi_outcome outcome, const char *what)
{
	if (outcome == SCSI_GOOD)
		return true;
	if (outcome == SCSI_MISCOMPARE)
		violation("%s met with a miscompare", what);
	atomic_store(&thread->disk->gone, true);
	atomic_store(&thread->disk->stop, true);
	return false;
}

_Noreturn void violation(const char *format, ...)
{
	va_list arguments;

	fputs("scsi-stress: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}
