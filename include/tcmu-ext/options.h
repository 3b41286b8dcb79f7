/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Configuration strings: `/absolute/path[;key=value]…`, the text an administrator gives as
 * `cfgstring=` (without the subtype and slash that targetcli puts before it).
 *
 * One array of struct tcmu_ext_option drives parsing, the description shown by configuration tools
 * and the manual page. A path or a value may hold any byte when written as %XX (two hexadecimal
 * digits); comma, colon, semicolon, percent sign, space, newline and other control characters must
 * be, since the tools between the administrator and the handler cut the string there.
 */
#ifndef TCMU_EXT_OPTIONS_H
#define TCMU_EXT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <tcmu-ext/visibility.h>

TCMU_EXT_BEGIN_DECLS

/*
 * The longest configuration string, subtype and slash included, that arrives whole: the kernel
 * keeps 255 characters of dev_config and cuts the rest without a word, so 255 cannot be told from
 * more.
 */
#define TCMU_EXT_CONFIG_STRING_MAXIMUM_BYTES 254

/*
 * One option. Its value is an int at `value_offset` bytes into the caller's struct: the index into
 * `choices` (a NULL-terminated list). An option written without `=value` gets index
 * `bare_choice`, or is refused when that is negative. `default_choice` is what holds when the
 * option is absent.
 */
struct tcmu_ext_option {
	const char *name;
	const char *const *choices;
	int default_choice;
	int bare_choice;
	size_t value_offset;
	const char *summary; /* one sentence, for help texts and the manual */
};

/* The choices of a switch: index 0 is "no", index 1 is "yes". */
TCMU_EXT_API extern const char *const tcmu_ext_option_switch[];

/*
 * Parses `config` into `values` (all options, defaults included) and `*path`, the unescaped path,
 * which the caller frees.
 *
 * Returns 0; -EINVAL when the string is not valid, with `*reason` a sentence for the administrator
 * that says what to write instead, which the caller frees (NULL if memory ran out); -ENAMETOOLONG
 * likewise for a string too long to have arrived whole; -ENOMEM. On failure `*path` is NULL.
 * `reason` may be NULL. More than 64 options are refused without a reason. Touches no file; any
 * thread.
 */
TCMU_EXT_API int tcmu_ext_options_parse(const char *config, const struct tcmu_ext_option *options,
					size_t option_count, void *values, char **path,
					char **reason);

/*
 * The description of a configuration string that tools print (targetcli's `help create`): the form,
 * then each option with its choices and its default. The caller frees it; NULL if memory ran out.
 */
TCMU_EXT_API char *tcmu_ext_options_describe(const char *form,
					     const struct tcmu_ext_option *options,
					     size_t option_count);

/*
 * Writes `path` with %XX for every byte that a configuration string cannot hold, that targetcli
 * does not take in one (quotation marks, `^`, `{`, `|`, `}`, bytes beyond ASCII), or that would
 * garble a terminal. The caller frees it; NULL if memory ran out. The inverse of what
 * tcmu_ext_options_parse() does to a path.
 */
TCMU_EXT_API char *tcmu_ext_options_escape(const char *path);

TCMU_EXT_END_DECLS

#endif
