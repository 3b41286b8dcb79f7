/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* How configuration strings and messages write a path. */
#ifndef PLUMBING_ESCAPE_H
#define PLUMBING_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a byte must be written as %XX: the tools and the kernel cut or refuse a string there. */
bool escape_needed(unsigned char byte);

/* Whether a byte would garble a terminal, or a D-Bus reply, in which it need not be UTF-8. */
bool escape_garbles(unsigned char byte);

/*
 * Unescapes `bytes` bytes of `text` into memory the caller frees. NULL with `*reason` set (which
 * the caller frees, and which is NULL itself when memory ran out) when the text holds a byte that
 * must be escaped, a damaged escape, or %00.
 */
char *escape_decode(const char *text, size_t bytes, char **reason);

/* `text` with each byte of which `is_needed` says so as %XX, in memory the caller frees; NULL if
 * memory ran out. */
char *escape_encode(const char *text, bool (*is_needed)(unsigned char byte));

/*
 * `text` as one word of a command to paste into a shell, in printable ASCII and in memory the
 * caller frees; NULL if memory ran out. Control characters and bytes beyond ASCII take the form
 * $'\ooo', which the usual shells (bash, zsh, ksh) know; all else is plain POSIX.
 */
char *escape_for_shell(const char *text);

#endif
