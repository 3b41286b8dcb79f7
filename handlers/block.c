/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include <tcmu-ext/handler.h>

const struct tcmu_ext_handler tcmu_ext_handler = {
	.name = "Block device backstore (tcmu-ext)",
	.subtype = "block",
	.operations = &tcmu_ext_backend_block,
	.form = "/absolute/path[;option=value]...  a block device; see tcmu-ext-block(5)",
	.product_identification = "TCMU block",
};
