/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "plumbing/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	MESSAGE_MAXIMUM_BYTES = 1024,
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

void log_limited(struct log_limiter *limiter, const struct tcmu_ext_log *log,
		 enum tcmu_ext_log_level level, const char *format, ...)
{
	char message[MESSAGE_MAXIMUM_BYTES];
	struct timespec now;
	va_list arguments;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (limiter->next_seconds && now.tv_sec < limiter->next_seconds) {
		limiter->suppressed++;
		return;
	}
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	if (limiter->suppressed)
		log_message(log, level, "%s (and %" PRIu64 " more like it since the last message)",
			    message, limiter->suppressed);
	else
		log_message(log, level, "%s", message);
	limiter->suppressed = 0;
	limiter->next_seconds = now.tv_sec + REPEAT_SECONDS;
}
