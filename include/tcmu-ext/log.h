/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Messages from the library to its user.
 *
 * The library writes to no file and no terminal: it calls the function given here. A message is one
 * line without a newline, in plain words, and names the file or device it is about. Nothing is
 * logged on the read and write path while commands succeed; a failure is reported once per kind and
 * device, and after that at most once a minute with the number of messages left out.
 */
#ifndef TCMU_EXT_LOG_H
#define TCMU_EXT_LOG_H

#include <tcmu-ext/visibility.h>

TCMU_EXT_BEGIN_DECLS

enum tcmu_ext_log_level {
	TCMU_EXT_LOG_ERROR,
	TCMU_EXT_LOG_WARNING,
	TCMU_EXT_LOG_INFO,
	TCMU_EXT_LOG_DEBUG,
};

/*
 * Where messages go. `write` may be NULL: messages are then dropped. It is called on whichever
 * thread meets the event and must not call back into the library; `message` is valid only during
 * the call.
 */
struct tcmu_ext_log {
	void (*write)(void *context, enum tcmu_ext_log_level level, const char *message);
	void *context;
};

TCMU_EXT_END_DECLS

#endif
