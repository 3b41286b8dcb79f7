/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The parser of configuration strings, with the options of each built-in backend. The string is
 * what any local user can hand to the daemon, so that no text may harm it, and each refusal must
 * come with a reason that can be shown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tcmu-ext/backend.h>
#include <tcmu-ext/options.h>

#include "fuzz_input.h"
#include "test_failure.h"

static void check_reason(const char *reason)
{
	check(reason && *reason, "refused without a reason");
	for (; *reason; reason++)
		check(*reason >= ' ' && *reason < 0x7f, "a reason with the byte %02x",
		      (unsigned char)*reason);
}

/* The escaped form of a path is a configuration string that gives the path back. */
static void check_round_trip(const char *path)
{
	char *escaped = tcmu_ext_options_escape(path);
	char *again, *reason;
	int result = tcmu_ext_options_parse(escaped, NULL, 0, NULL, &again, &reason);

	if (strlen(escaped) > TCMU_EXT_CONFIG_STRING_MAXIMUM_BYTES)
		check(result == -ENAMETOOLONG, "%zu bytes gave %d", strlen(escaped), result);
	else
		check(result == 0 && !strcmp(again, path), "'%s' gave %d: %s", escaped, result,
		      reason);
	free(escaped);
	free(again);
	free(reason);
}

static void parse(const struct tcmu_ext_backend_operations *operations, const char *text)
{
	struct tcmu_ext_backend_config config;
	char *reason = NULL;
	int result = tcmu_ext_backend_config_parse(operations, text, &config, &reason);

	if (result == 0) {
		check(config.path != NULL, "accepted without a path");
		check(!reason, "accepted with a reason");
		if (*config.path == '/')
			check_round_trip(config.path);
		tcmu_ext_backend_config_clear(&config);
		return;
	}
	check(result == -EINVAL || result == -ENAMETOOLONG, "result %d", result);
	check(!config.path, "refused with a path");
	check_reason(reason);
	free(reason);
	/* Safe although there is nothing to clear. */
	tcmu_ext_backend_config_clear(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 2);

	/* Also as a path: absolute, and with every byte but zero. */
	text[0] = '/';
	memcpy(text + 1, data, bytes);
	text[bytes + 1] = 0;
	check_round_trip(text);
	parse(&tcmu_ext_backend_file, text + 1);
	parse(&tcmu_ext_backend_block, text + 1);
	parse(&tcmu_ext_backend_null, text + 1);
	free(text);
	return 0;
}
