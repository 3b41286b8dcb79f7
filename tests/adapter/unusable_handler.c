/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* Handlers that are not to be registered. */
#include <tcmu-ext/handler.h>

#ifdef INCOMPLETE
static const struct tcmu_ext_backend_operations operations = {
	.struct_bytes = sizeof(operations),
	.name = "incomplete",
};
#define OPERATIONS &operations
#else
#define OPERATIONS &tcmu_ext_backend_null
#endif

const struct tcmu_ext_handler tcmu_ext_handler = {
	.name = "Unusable (test)",
	.subtype = SUBTYPE,
	.operations = OPERATIONS,
	.form = "anything",
	.product_identification = "unusable",
};
