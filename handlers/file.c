/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <tcmu-ext/handler.h>

const struct tcmu_ext_handler tcmu_ext_handler = {
	.name = "File backstore (tcmu-ext)",
	.subtype = "file",
	.operations = &tcmu_ext_backend_file,
	.form = "/absolute/path[;option=value]...  a regular file; see tcmu-ext-file(5)",
	.product_identification = "TCMU file",
};
