/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <tcmu-ext/options.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plumbing/escape.h"
#include "plumbing/log.h"
#include "plumbing/refusal.h"

const char *const tcmu_ext_option_switch[] = { "no", "yes", NULL };

enum { OPTIONS_MAXIMUM = 64 };

/* One parse: what is read, where the values go, and which options were met. */
struct parse {
	const struct tcmu_ext_option *options;
	size_t option_count;
	void *values;
	uint64_t seen; /* bit per option */
	char *reason;
};

static int *value_of(const struct parse *parse, const struct tcmu_ext_option *option)
{
	return (int *)((char *)parse->values + option->value_offset);
}

static const struct tcmu_ext_option *find_option(const struct parse *parse, const char *name,
						 size_t name_bytes)
{
	for (size_t i = 0; i < parse->option_count; i++) {
		const char *candidate = parse->options[i].name;

		if (strlen(candidate) == name_bytes && !memcmp(candidate, name, name_bytes))
			return &parse->options[i];
	}
	return NULL;
}

static int choose(struct parse *parse, const struct tcmu_ext_option *option, const char *text,
		  size_t bytes)
{
	char *fault;
	char *value = escape_decode(text, bytes, &fault);

	if (!value) {
		if (fault)
			parse->reason = refusal_of_value(option, text, bytes, fault);
		free(fault);
		return parse->reason ? -EINVAL : -ENOMEM;
	}
	for (int i = 0; option->choices[i]; i++) {
		if (!strcmp(option->choices[i], value)) {
			*value_of(parse, option) = i;
			free(value);
			return 0;
		}
	}
	free(value);
	parse->reason = refusal_of_value(option, text, bytes, NULL);
	return -EINVAL;
}

static int parse_option(struct parse *parse, const char *text, size_t bytes)
{
	const char *equals = memchr(text, '=', bytes);
	size_t name_bytes = equals ? (size_t)(equals - text) : bytes;
	const struct tcmu_ext_option *option = find_option(parse, text, name_bytes);
	uint64_t bit;

	if (!bytes) {
		parse->reason = format_text("there is no option between two semicolons or after "
					    "the last one: write key=value after each semicolon");
		return -EINVAL;
	}
	if (!option) {
		parse->reason =
			refusal_of_name(parse->options, parse->option_count, text, name_bytes);
		return -EINVAL;
	}
	bit = UINT64_C(1) << (option - parse->options);
	if (parse->seen & bit) {
		parse->reason = format_text("option %s is given more than once", option->name);
		return -EINVAL;
	}
	parse->seen |= bit;
	if (equals)
		return choose(parse, option, equals + 1, bytes - name_bytes - 1);
	if (option->bare_choice < 0) {
		parse->reason = refusal_of_value(option, NULL, 0, NULL);
		return -EINVAL;
	}
	*value_of(parse, option) = option->bare_choice;
	return 0;
}

static int parse_path(struct parse *parse, const char *text, size_t bytes, char **path)
{
	if (!bytes) {
		parse->reason = format_text("there is no path: write an absolute one, "
					    "for example cfgstring=/var/lib/disk0.img");
		return -EINVAL;
	}
	if (*text != '/') {
		parse->reason = format_text("the path is not absolute: write it from the root on, "
					    "for example cfgstring=/var/lib/disk0.img");
		return -EINVAL;
	}
	*path = escape_decode(text, bytes, &parse->reason);
	if (*path)
		return 0;
	return parse->reason ? -EINVAL : -ENOMEM;
}

static int check_length(struct parse *parse, const char *config)
{
	if (strlen(config) <= TCMU_EXT_CONFIG_STRING_MAXIMUM_BYTES)
		return 0;
	parse->reason = format_text("the configuration string is too long to arrive whole: with "
				    "the handler's name and the slash it may have %d bytes; use a "
				    "shorter path or a symbolic link",
				    TCMU_EXT_CONFIG_STRING_MAXIMUM_BYTES);
	return -ENAMETOOLONG;
}

static int parse_all(struct parse *parse, const char *config, char **path)
{
	size_t bytes = strcspn(config, ";");
	int error = check_length(parse, config);

	if (!error)
		error = parse_path(parse, config, bytes, path);
	for (config += bytes; !error && *config; config += bytes) {
		config++;
		bytes = strcspn(config, ";");
		error = parse_option(parse, config, bytes);
	}
	return error;
}

int tcmu_ext_options_parse(const char *config, const struct tcmu_ext_option *options,
			   size_t option_count, void *values, char **path, char **reason)
{
	struct parse parse = { .options = options, .option_count = option_count, .values = values };
	int error;

	*path = NULL;
	if (reason)
		*reason = NULL;
	if (option_count > OPTIONS_MAXIMUM)
		return -EINVAL;
	for (size_t i = 0; i < option_count; i++)
		*value_of(&parse, &options[i]) = options[i].default_choice;
	error = parse_all(&parse, config, path);
	if (error) {
		free(*path);
		*path = NULL;
	}
	if (reason)
		*reason = parse.reason;
	else
		free(parse.reason);
	return error;
}

char *tcmu_ext_options_describe(const char *form, const struct tcmu_ext_option *options,
				size_t option_count)
{
	char *text = NULL;
	size_t text_bytes;
	FILE *stream = open_memstream(&text, &text_bytes);

	if (!stream)
		return NULL;
	fprintf(stream, "%s\n", form);
	for (size_t i = 0; i < option_count; i++) {
		const struct tcmu_ext_option *option = &options[i];

		fprintf(stream, "  %s=", option->name);
		for (size_t j = 0; option->choices[j]; j++)
			fprintf(stream, "%s%s", j ? "|" : "", option->choices[j]);
		fprintf(stream, "  %s (default: %s)\n", option->summary,
			option->choices[option->default_choice]);
	}
	return finish_text(stream, &text);
}
