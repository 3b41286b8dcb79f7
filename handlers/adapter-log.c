/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "adapter.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The runner keeps 254 bytes of a line, what it puts before the message and the newline included,
 * and drops the rest. Longer messages are sent as several lines.
 */
enum { LINE_BYTES = 160 };

/* How much of `text` fits a line: all, or up to the last space that does. */
static size_t line_bytes(const char *text, size_t *next)
{
	size_t bytes = strlen(text);
	size_t cut = LINE_BYTES;

	*next = bytes;
	if (bytes <= LINE_BYTES)
		return bytes;
	while (cut && text[cut] != ' ')
		cut--;
	*next = cut ? cut + 1 : LINE_BYTES; /* one long word, a path for example, is cut anywhere */
	return cut ? cut : LINE_BYTES;
}

static void send_line(struct tcmu_device *dev, enum tcmu_ext_log_level level, const char *mark,
		      const char *text, size_t bytes)
{
	void (*const send[])(struct tcmu_device *, const char *, int, const char *, ...) = {
		[TCMU_EXT_LOG_ERROR] = tcmu_err_message,
		[TCMU_EXT_LOG_WARNING] = tcmu_warn_message,
		[TCMU_EXT_LOG_INFO] = tcmu_info_message,
		[TCMU_EXT_LOG_DEBUG] = tcmu_dbg_message,
	};

	send[level](dev, "tcmu-ext", 0, "%s%.*s\n", mark, (int)bytes, text);
}

static void send_message(void *context, enum tcmu_ext_log_level level, const char *message)
{
	const char *mark = "";
	size_t next;

	for (const char *at = message; *at; at += next, mark = "... ")
		send_line(context, level, mark, at, line_bytes(at, &next));
}

struct tcmu_ext_log adapter_log(struct tcmu_device *dev)
{
	return (struct tcmu_ext_log){ .write = send_message, .context = dev };
}

void adapter_message(struct tcmu_device *dev, enum tcmu_ext_log_level level, const char *format,
		     ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (text)
		send_message(dev, level, text);
	free(text);
}
