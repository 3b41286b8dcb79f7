/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * fuzz_…_replay FILE|FOLDER…: runs a fuzz target on stored inputs, with any compiler. Prints how
 * many there were, and fails when there was none.
 */
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz_input.h"

static int replay_file(const char *path, size_t bytes)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(bytes + 1);
	size_t got;

	if (!file || !data) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(EXIT_FAILURE);
	}
	got = fread(data, 1, bytes, file);
	fclose(file);
	/* In memory of just its length, so that a read beyond it is seen. */
	data = realloc(data, got ? got : 1);
	LLVMFuzzerTestOneInput(data, got);
	free(data);
	return 1;
}

static int replay_all(char **paths)
{
	FTS *tree = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	int count = 0;

	while (tree && (entry = fts_read(tree)))
		if (entry->fts_info == FTS_F)
			count += replay_file(entry->fts_accpath, (size_t)entry->fts_statp->st_size);
	if (tree)
		fts_close(tree);
	return count;
}

int main(int argument_count, char **arguments)
{
	int count = argument_count > 1 ? replay_all(arguments + 1) : 0;

	printf("%d inputs replayed\n", count);
	return count ? EXIT_SUCCESS : EXIT_FAILURE;
}
