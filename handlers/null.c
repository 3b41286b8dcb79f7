/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <tcmu-ext/handler.h>

const struct tcmu_ext_handler tcmu_ext_handler = {
	.name = "Null backstore (tcmu-ext)",
	.subtype = "null",
	.operations = &tcmu_ext_backend_null,
	.form = "anything, without options  keeps no data; see tcmu-ext-null(5)",
	.product_identification = "TCMU null",
};
