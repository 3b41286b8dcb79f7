/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What is said of options that are refused. Each function returns a text that the caller frees, or
 * NULL if memory ran out.
 */
#ifndef PLUMBING_REFUSAL_H
#define PLUMBING_REFUSAL_H

#include <stddef.h>

#include <tcmu-ext/options.h>

/* What the administrator wrote, between quotation marks: as written, but for bytes that would
 * garble a terminal or a D-Bus reply, which become %XX, and for all that is too long to show. */
char *refusal_quote(const char *text, size_t bytes);

/* That there is no option of this name, which there are, and which one may have been meant. */
char *refusal_of_name(const struct tcmu_ext_option *options, size_t option_count, const char *name,
		      size_t name_bytes);

/* That an option does not take a value, and which it takes. `value` is NULL where none was given;
 * `fault`, if not NULL, says what else is wrong with the value. */
char *refusal_of_value(const struct tcmu_ext_option *option, const char *value, size_t value_bytes,
		       const char *fault);

#endif
