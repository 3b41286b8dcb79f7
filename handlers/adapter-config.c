/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "adapter.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An option of the runner's own, which it removes from the string before a LUN is opened. */
#define RUNNER_OPTION ";tcmur_cmd_time_out="

static char *sentence(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *sentence(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	return text;
}

/*
 * What follows the subtype and its slash; NULL when the string names another handler. libtcmu picks
 * a handler by comparing no more characters than there are before the slash, so that `f/x` comes
 * to the handler `file`.
 */
static const char *after_subtype(const char *text)
{
	size_t bytes = strlen(tcmu_ext_handler.subtype);

	if (strncmp(text, tcmu_ext_handler.subtype, bytes) != 0 || text[bytes] != '/')
		return NULL;
	return text + bytes + 1;
}

/* The end of the string without a newline, which `echo` leaves when it writes the attribute. */
static size_t trimmed_bytes(const char *text)
{
	size_t bytes = strlen(text);

	return bytes && text[bytes - 1] == '\n' ? bytes - 1 : bytes;
}

/* `value` is what follows the option's name. */
static int refuse_runner_option(const char *value, char **reason)
{
	size_t digits = strspn(value, "0123456789");
	char *written = strndup(value, strcspn(value, ";"));
	char *shown = written ? tcmu_ext_options_escape(written) : NULL;

	if (digits && value[digits] == ';')
		*reason = sentence("tcmur_cmd_time_out must be the last option, since tcmu-runner "
				   "takes the semicolon after it away");
	else if (shown)
		*reason = sentence("option tcmur_cmd_time_out does not take \"%.40s\": write whole "
				   "seconds",
				   shown);
	free(written);
	free(shown);
	return -EINVAL;
}

/* Cuts off the runner's own option. It only works as the last one. */
static int drop_runner_option(char *text, char **reason)
{
	char *option = strstr(text, RUNNER_OPTION);
	const char *value;

	if (!option)
		return 0;
	value = option + strlen(RUNNER_OPTION);
	if (!*value || value[strspn(value, "0123456789")])
		return refuse_runner_option(value, reason);
	*option = '\0';
	return 0;
}

const struct tcmu_ext_option *adapter_options(size_t *count)
{
	if (!tcmu_ext_handler.options)
		return tcmu_ext_backend_options(tcmu_ext_handler.operations, count);
	*count = tcmu_ext_handler.option_count;
	return tcmu_ext_handler.options;
}

static int parse_options(const char *text, struct tcmu_ext_backend_config *config, char **reason)
{
	if (!tcmu_ext_handler.options)
		return tcmu_ext_backend_config_parse(tcmu_ext_handler.operations, text, config,
						     reason);
	*config = (struct tcmu_ext_backend_config){ .struct_bytes = sizeof(*config) };
	return tcmu_ext_options_parse(text, tcmu_ext_handler.options, tcmu_ext_handler.option_count,
				      config, &config->path, reason);
}

/* Parses what follows the subtype. */
static int parse(const char *text, struct tcmu_ext_backend_config *config, char **reason)
{
	char *own = strndup(text, trimmed_bytes(text));
	int error;

	if (!own)
		return -ENOMEM;
	error = drop_runner_option(own, reason);
	if (!error)
		error = parse_options(own, config, reason);
	free(own);
	return error;
}

static int refuse_length(char **reason)
{
	*reason = sentence("the configuration string is too long to arrive whole: with \"%s/\" "
			   "it may have %d bytes; use a shorter path or a symbolic link",
			   tcmu_ext_handler.subtype, TCMU_EXT_CONFIG_STRING_MAXIMUM_BYTES);
	return -ENAMETOOLONG;
}

static int refuse_subtype(char **reason)
{
	*reason = sentence("this is the handler \"%s\": write user:%s as the backstore, or %s/ "
			   "before the path",
			   tcmu_ext_handler.subtype, tcmu_ext_handler.subtype,
			   tcmu_ext_handler.subtype);
	return -EINVAL;
}

int adapter_parse_config(const char *text, struct tcmu_ext_backend_config *config, char **reason)
{
	const char *own = after_subtype(text);

	*reason = NULL;
	if (trimmed_bytes(text) > TCMU_EXT_CONFIG_STRING_MAXIMUM_BYTES)
		return refuse_length(reason);
	if (!own)
		return refuse_subtype(reason);
	return parse(own, config, reason);
}

/*
 * As adapter_parse_config(), for a string that is not yet a LUN's: targetcli and libtcmu both send
 * the subtype with it, another D-Bus client may leave it out.
 */
static int parse_proposed(const char *text, struct tcmu_ext_backend_config *config, char **reason)
{
	size_t prefix_bytes = strlen(tcmu_ext_handler.subtype) + 1;

	if (*text != '/')
		return adapter_parse_config(text, config, reason);
	if (trimmed_bytes(text) + prefix_bytes > TCMU_EXT_CONFIG_STRING_MAXIMUM_BYTES)
		return refuse_length(reason);
	return parse(text, config, reason);
}

/* Looks only; see the rules of the `check` operation. */
static int check(const char *text, char **reason)
{
	struct tcmu_ext_backend_config config = { .struct_bytes = sizeof(config) };
	int error = parse_proposed(text, &config, reason);

	if (!error && tcmu_ext_handler.operations->check)
		error = tcmu_ext_handler.operations->check(&config, reason);
	tcmu_ext_backend_config_clear(&config);
	return error;
}

bool adapter_check_config(const char *text, char **reason)
{
	char *own_reason = NULL;
	int error = check(text, &own_reason);

	if (!error) {
		free(own_reason);
		return true;
	}
	if (!own_reason)
		own_reason = sentence("%s", strerror(-error));
	*reason = own_reason;
	return false;
}

/* The length up to the runner's own option or a final newline. */
static size_t significant_bytes(const char *text)
{
	const char *option = strstr(text, RUNNER_OPTION);

	return option ? (size_t)(option - text) : trimmed_bytes(text);
}

bool adapter_same_config(const char *a, const char *b)
{
	size_t bytes = significant_bytes(a);

	return bytes == significant_bytes(b) && !memcmp(a, b, bytes);
}
