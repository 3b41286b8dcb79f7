/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* A handler with a subtype of which tcmu-runner could make no D-Bus object. */
#include <tcmu-ext/handler.h>

const struct tcmu_ext_handler tcmu_ext_handler = {
	.name = "Misnamed (test)",
	.subtype = MISNAMED_SUBTYPE,
	.operations = &tcmu_ext_backend_null,
	.form = "anything",
	.product_identification = "misnamed",
};
