/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "plumbing/escape.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tcmu-ext/options.h>

#include "plumbing/log.h"

bool escape_needed(unsigned char byte)
{
	return byte <= ' ' || byte == 0x7f || strchr(",:;%", byte) != NULL;
}

bool escape_garbles(unsigned char byte)
{
	return byte < ' ' || byte >= 0x7f;
}

static const char *name_of(unsigned char byte)
{
	switch (byte) {
	case ' ':
		return "a space";
	case ',':
		return "a comma";
	case ':':
		return "a colon";
	case '\n':
		return "a newline";
	default:
		return "a control character";
	}
}

static int hexadecimal_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

/* The byte an escape stands for; negative when it is damaged. `text` begins at the percent sign. */
static int escaped_byte(const char *text, size_t bytes)
{
	int high = bytes > 1 ? hexadecimal_digit(text[1]) : -1;
	int low = bytes > 2 ? hexadecimal_digit(text[2]) : -1;

	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

enum fault { FAULT_NONE, FAULT_RAW_BYTE, FAULT_DAMAGED, FAULT_ZERO };

/* Decodes into `decoded`, which has room. `*culprit` is the byte at fault. */
static enum fault decode(const char *text, size_t bytes, char *decoded, unsigned char *culprit)
{
	for (size_t i = 0; i < bytes; i++) {
		int byte = (unsigned char)text[i];

		*culprit = (unsigned char)byte;
		if (byte == '%') {
			byte = escaped_byte(text + i, bytes - i);
			if (byte < 0)
				return FAULT_DAMAGED;
			if (byte == 0)
				return FAULT_ZERO;
			i += 2;
		} else if (escape_needed((unsigned char)byte)) {
			return FAULT_RAW_BYTE;
		}
		*decoded++ = (char)byte;
	}
	*decoded = '\0';
	return FAULT_NONE;
}

static char *describe_fault(enum fault fault, unsigned char culprit)
{
	if (fault == FAULT_DAMAGED)
		return format_text("a percent sign must be followed by two hexadecimal digits; "
				   "write the percent sign itself as %%25");
	if (fault == FAULT_ZERO)
		return format_text("%%00 stands for a byte that no path can hold");
	return format_text("%s would be lost on the way to the handler: write it as %%%02X",
			   name_of(culprit), culprit);
}

char *escape_decode(const char *text, size_t bytes, char **reason)
{
	char *decoded = malloc(bytes + 1);
	unsigned char culprit = 0;
	enum fault fault;

	*reason = NULL;
	if (!decoded)
		return NULL;
	fault = decode(text, bytes, decoded, &culprit);
	if (fault == FAULT_NONE)
		return decoded;
	*reason = describe_fault(fault, culprit);
	free(decoded);
	return NULL;
}

char *escape_encode(const char *text, bool (*is_needed)(unsigned char byte))
{
	static const char digits[] = "0123456789ABCDEF";
	char *escaped = malloc(strlen(text) * strlen("%XX") + 1);
	char *to = escaped;

	if (!escaped)
		return NULL;
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (is_needed(byte)) {
			*to++ = '%';
			*to++ = digits[byte >> 4];
			*to++ = digits[byte & 0x0f];
		} else {
			*to++ = (char)byte;
		}
	}
	*to = '\0';
	return escaped;
}

/* Also what targetcli does not take as part of a value, and what would garble a message. */
static bool escape_advised(unsigned char byte)
{
	return escape_needed(byte) || escape_garbles(byte) || strchr("\"'`^{|}", byte) != NULL;
}

char *tcmu_ext_options_escape(const char *path)
{
	return escape_encode(path, escape_advised);
}

/* Appends one byte, between the quotation marks '' or, with `c_escapes`, $''. */
static char *append_for_shell(char *to, char byte, bool c_escapes)
{
	if (escape_garbles((unsigned char)byte))
		return to + sprintf(to, "\\%03o", (unsigned char)byte);
	if (byte == '\'' && !c_escapes)
		return stpcpy(to, "'\\''");
	if (c_escapes && (byte == '\'' || byte == '\\'))
		*to++ = '\\';
	*to++ = byte;
	return to;
}

char *escape_for_shell(const char *text)
{
	bool c_escapes = false;
	char *quoted = malloc(strlen(text) * strlen("\\ooo") + sizeof("$''"));
	char *to = quoted;

	if (!quoted)
		return NULL;
	for (const char *at = text; *at; at++)
		c_escapes |= escape_garbles((unsigned char)*at);
	to = stpcpy(to, c_escapes ? "$'" : "'");
	for (; *text; text++)
		to = append_for_shell(to, *text, c_escapes);
	*to++ = '\'';
	*to = '\0';
	return quoted;
}
