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

/* The length of the UTF-8 sequence (RFC 3629) at `text`; 0 when it is none. */
static size_t utf8_bytes(const unsigned char *text)
{
	size_t bytes = text[0] < 0x80   ? 1
		       : text[0] < 0xc2 ? 0
		       : text[0] < 0xe0 ? 2
		       : text[0] < 0xf0 ? 3
		       : text[0] < 0xf5 ? 4
					: 0;

	for (size_t i = 1; i < bytes; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((text[0] == 0xe0 && text[1] < 0xa0) ||  /* a longer form than needed */
	    (text[0] == 0xed && text[1] >= 0xa0) || /* a surrogate */
	    (text[0] == 0xf0 && text[1] < 0x90) ||  /* a longer form than needed */
	    (text[0] == 0xf4 && text[1] >= 0x90))   /* beyond U+10FFFF */
		return 0;
	return bytes;
}

void adapter_make_printable(char *text)
{
	unsigned char *at = (unsigned char *)text;

	while (*at) {
		size_t bytes = utf8_bytes(at);
		bool control = *at < 0x20 || *at == 0x7f;

		if (bytes && !control) {
			at += bytes;
			continue;
		}
		*at++ = '?';
	}
}

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
	*next = cut + 1;
	if (!cut) /* one long word, a path for example: cut it before a character */
		for (*next = cut = LINE_BYTES; (text[cut] & 0xc0) == 0x80; *next = --cut)
			;
	return cut;
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
	char *text = strdup(message);
	const char *mark = "";
	const char *at = text;
	size_t next;

	if (!text)
		return;
	adapter_make_printable(text);
	for (; *at; at += next, mark = "... ")
		send_line(context, level, mark, at, line_bytes(at, &next));
	free(text);
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
