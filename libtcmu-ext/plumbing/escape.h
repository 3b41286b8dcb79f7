/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The %XX escapes of configuration strings, and of paths in messages. */
#ifndef PLUMBING_ESCAPE_H
#define PLUMBING_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a byte must be written as %XX: the tools and the kernel cut or refuse a string there. */
bool escape_needed(unsigned char byte);

/*
 * Unescapes `bytes` bytes of `text` into memory the caller frees. NULL with `*reason` set (which
 * the caller frees, and which is NULL itself when memory ran out) when the text holds a byte that
 * must be escaped, a damaged escape, or %00.
 */
char *escape_decode(const char *text, size_t bytes, char **reason);

/* `text` with each byte of which `is_needed` says so as %XX, in memory the caller frees; NULL if
 * memory ran out. */
char *escape_encode(const char *text, bool (*is_needed)(unsigned char byte));

#endif
