/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "plumbing/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	/* The longest path that a configuration string holds, twice, each byte as %XX, and a text.
	 */
	MESSAGE_MAXIMUM_BYTES = 2048,
	REPEAT_SECONDS = 60,
};

void log_message(const struct tcmu_ext_log *log, enum tcmu_ext_log_level level, const char *format,
		 ...)
{
	char message[MESSAGE_MAXIMUM_BYTES];
	va_list arguments;

	if (!log->write)
		return;
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	log->write(log->context, level, message);
}

char *format_text(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	return text;
}

char *finish_text(FILE *stream, char **text)
{
	bool failed = ferror(stream);

	if (!fclose(stream) && !failed)
		return *text;
	free(*text);
	return NULL;
}

/* Of several threads that come when it is time again, one wins. */
static bool is_turn_to_log(struct log_limiter *limiter)
{
	int64_t next_seconds = atomic_load(&limiter->next_seconds);
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (next_seconds && now.tv_sec < next_seconds)
		return false;
	return atomic_compare_exchange_strong(&limiter->next_seconds, &next_seconds,
					      (int64_t)now.tv_sec + REPEAT_SECONDS);
}

void log_limited(struct log_limiter *limiter, const struct tcmu_ext_log *log,
		 enum tcmu_ext_log_level level, const char *format, ...)
{
	char message[MESSAGE_MAXIMUM_BYTES];
	uint64_t suppressed;
	va_list arguments;

	if (!is_turn_to_log(limiter)) {
		atomic_fetch_add(&limiter->suppressed, 1);
		return;
	}
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	suppressed = atomic_exchange(&limiter->suppressed, 0);
	if (suppressed)
		log_message(log, level, "%s (and %" PRIu64 " more like it since the last message)",
			    message, suppressed);
	else
		log_message(log, level, "%s", message);
}
