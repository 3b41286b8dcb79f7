/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#ifndef TCMU_EXT_VISIBILITY_H
#define TCMU_EXT_VISIBILITY_H

/* Marks what the shared library exports; everything else is hidden. */
#define TCMU_EXT_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define TCMU_EXT_BEGIN_DECLS extern "C" {
#define TCMU_EXT_END_DECLS   }
#else
#define TCMU_EXT_BEGIN_DECLS
#define TCMU_EXT_END_DECLS
#endif

#endif
