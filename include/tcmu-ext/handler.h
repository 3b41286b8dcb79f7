/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A tcmu-runner handler of one's own: a backend, and the description of a handler that serves it.
 * All else that tcmu-runner asks of a plugin is in the static library libtcmu-ext-handler.a, from
 * which the handlers `file`, `block` and `null` are made as well.
 *
 * A plugin defines `tcmu_ext_handler`, and is linked with what `pkg-config --cflags --libs
 * tcmu-ext-handler` prints into a shared object named handler_SUBTYPE.so. Its place is the
 * directory that `pkg-config --variable=handlerdir tcmu-ext-handler` prints: tcmu-runner loads
 * every file there whose name begins with handler_, and calls the function handler_init(), which
 * the library defines and the plugin exports. The functions of tcmu-runner stay undefined in the
 * plugin (no -Wl,-z,defs): the daemon that loads it has them.
 *
 * The library is linked into each plugin, so that its names are not to be used there again:
 * handler_init, and all that begin with adapter_. It fits tcmu-runner 1.5.4 to 1.6.2, and the
 * libtcmu-ext.so of the same release.
 *
 * Threads: a backend is opened, and its `check` called, on tcmu-runner's main thread; it is closed,
 * and its data operations are called, on the LUN's own ring thread, or on threads of the disk's
 * engine where there is one. `resize` is called on the main thread, beside commands.
 */
#ifndef TCMU_EXT_HANDLER_H
#define TCMU_EXT_HANDLER_H

#include <stddef.h>

#include <tcmu-ext/backend.h>
#include <tcmu-ext/options.h>
#include <tcmu-ext/visibility.h>

TCMU_EXT_BEGIN_DECLS

/* What tells one handler from another. Texts and tables live as long as the plugin. */
struct tcmu_ext_handler {
	const char *name; /* for tcmu-runner's log */
	/*
	 * What precedes the first slash of a configuration string, and follows `user:` in
	 * targetcli: letters, digits and underscores of ASCII, since tcmu-runner names a D-Bus
	 * object after it; with another character the plugin is refused. None may be the beginning
	 * of another handler's: libtcmu compares only as many characters as the administrator
	 * wrote.
	 */
	const char *subtype;
	const struct tcmu_ext_backend_operations *operations;
	const char *form;                   /* of the configuration string, for help texts */
	const char *product_identification; /* of INQUIRY data: at most 16 characters of ASCII */
	/*
	 * The options a configuration string may have. Their values go into struct
	 * tcmu_ext_backend_config: each `value_offset` is that of `cache`, `read_only`, `lock`,
	 * `create` or `io` there, and the choices are that field's, in the order of its
	 * enumeration. What no option sets is 0, the first one. NULL: those of a built-in backend,
	 * or none. A choice of `io` other than inline needs the operation `describe_queue`.
	 */
	const struct tcmu_ext_option *options;
	size_t option_count;
};

/* Defined once in each plugin, which does not export it. */
__attribute__((visibility("hidden"))) extern const struct tcmu_ext_handler tcmu_ext_handler;

TCMU_EXT_END_DECLS

#endif
