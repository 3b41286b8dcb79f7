/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#ifndef VHOST_OPTIONS_H
#define VHOST_OPTIONS_H

#include "vhost-session.h"

struct options {
	struct session_options session;
	struct load_options load;
	unsigned endpoint_cycles; /* how often to take the endpoint away under load */
	const char *command;      /* hexadecimal, or NULL to make load */
	size_t data_in_bytes;
	const char *data_out_file;
};

/* Prints how to use the program, and ends it, when the words are not understood. */
void options_parse(struct options *options, int count, char **words);

/* Fills in what depends on the LUN; ends the program when the options do not fit it. */
void options_complete(struct options *options, const struct session *session);

#endif
