/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Formatting and rate-limiting of messages; the interface to the library's user is tcmu-ext/log.h.
 */
#ifndef PLUMBING_LOG_H
#define PLUMBING_LOG_H

#include <stdint.h>
#include <stdio.h>

#include <tcmu-ext/log.h>

/* Formats one line and hands it on. Does nothing when there is nobody to hand it to. */
void log_message(const struct tcmu_ext_log *log, enum tcmu_ext_log_level level, const char *format,
		 ...) __attribute__((format(printf, 3, 4)));

/* Formats into memory that the caller frees; NULL if memory ran out. For `reason` parameters. */
char *format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Closes a stream of open_memstream(3) and returns what it wrote, `*text`, which the caller frees;
 * NULL, with nothing left behind, if memory ran out on the way. */
char *finish_text(FILE *stream, char **text);

/*
 * One kind of failure of one device. The first is logged; later ones at most once in a minute, with
 * the number left out in between. Zero-initialise. Any thread may use it.
 */
struct log_limiter {
	_Atomic uint64_t suppressed;
	_Atomic int64_t next_seconds; /* CLOCK_MONOTONIC; 0: nothing logged yet */
};

void log_limited(struct log_limiter *limiter, const struct tcmu_ext_log *log,
		 enum tcmu_ext_log_level level, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
