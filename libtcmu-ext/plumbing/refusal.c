/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "plumbing/refusal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plumbing/escape.h"
#include "plumbing/log.h"

enum {
	QUOTED_MAXIMUM_BYTES = 40,
	DISTANCE_MAXIMUM = 2, /* of a name that may have been meant */
};

char *refusal_quote(const char *text, size_t bytes)
{
	bool whole = bytes <= QUOTED_MAXIMUM_BYTES;
	char *copy = strndup(text, whole ? bytes : QUOTED_MAXIMUM_BYTES);
	char *shown = copy ? escape_encode(copy, escape_garbles) : NULL;
	char *quoted = shown ? format_text("\"%s%s\"", shown, whole ? "" : "...") : NULL;

	free(copy);
	free(shown);
	return quoted;
}

/*
 * How many letters must be put in, left out or replaced to make one name of the other, whether
 * large or small. `written` has at most QUOTED_MAXIMUM_BYTES.
 */
static size_t edit_distance(const char *name, const char *written, size_t written_bytes)
{
	size_t row[QUOTED_MAXIMUM_BYTES + 1];

	for (size_t j = 0; j <= written_bytes; j++)
		row[j] = j;
	for (size_t i = 0; name[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < written_bytes; j++) {
			int differ = tolower((unsigned char)name[i]) !=
				     tolower((unsigned char)written[j]);
			size_t replaced = diagonal + (size_t)differ;
			size_t moved = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;

			diagonal = row[j + 1];
			row[j + 1] = replaced < moved ? replaced : moved;
		}
	}
	return row[written_bytes];
}

/* Of a short name nearly every other is near: less than half of it may differ. */
static const char *nearest_name(const struct tcmu_ext_option *options, size_t option_count,
				const char *written, size_t written_bytes)
{
	size_t least = DISTANCE_MAXIMUM + 1;
	const char *nearest = NULL;

	if (written_bytes > QUOTED_MAXIMUM_BYTES)
		return NULL;
	for (size_t i = 0; i < option_count; i++) {
		const char *name = options[i].name;
		size_t distance = edit_distance(name, written, written_bytes);

		if (distance < least && 2 * distance < strlen(name)) {
			least = distance;
			nearest = name;
		}
	}
	return nearest;
}

char *refusal_of_name(const struct tcmu_ext_option *options, size_t option_count, const char *name,
		      size_t name_bytes)
{
	const char *nearest = nearest_name(options, option_count, name, name_bytes);
	char *quoted = refusal_quote(name, name_bytes);
	char *text = NULL;
	size_t text_bytes;
	FILE *stream = quoted ? open_memstream(&text, &text_bytes) : NULL;

	if (stream) {
		fprintf(stream, "there is no option %s; ", quoted);
		fputs(option_count ? "options are" : "this handler takes no options", stream);
		for (size_t i = 0; i < option_count; i++)
			fprintf(stream, "%s %s", i ? "," : "", options[i].name);
		if (nearest)
			fprintf(stream, " (did you mean %s?)", nearest);
		text = finish_text(stream, &text);
	}
	free(quoted);
	return text;
}

/* Writes name=choice1, name=choice2 or name=choice3. */
static void list_choices(FILE *stream, const struct tcmu_ext_option *option)
{
	const char *const *choices = option->choices;

	for (size_t i = 0; choices[i]; i++) {
		const char *separator = i == 0 ? "" : choices[i + 1] ? ", " : " or ";

		fprintf(stream, "%s%s=%s", separator, option->name, choices[i]);
	}
}

char *refusal_of_value(const struct tcmu_ext_option *option, const char *value, size_t value_bytes,
		       const char *fault)
{
	char *quoted = refusal_quote(value ? value : "", value_bytes);
	char *text = NULL;
	size_t text_bytes;
	FILE *stream = quoted ? open_memstream(&text, &text_bytes) : NULL;

	if (stream) {
		fprintf(stream, "option %s ", option->name);
		if (value_bytes)
			fprintf(stream, "does not take %s", quoted);
		else
			fputs(value ? "has no value" : "needs a value", stream);
		fputs(": write ", stream);
		list_choices(stream, option);
		if (fault)
			fprintf(stream, " (%s)", fault);
		text = finish_text(stream, &text);
	}
	free(quoted);
	return text;
}
