/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* The engine of a disk, and commands handed to it. */
#ifndef DISK_SUBMIT_H
#define DISK_SUBMIT_H

#include "disk/disk.h"

/*
 * Gives the disk the engine that the option `io` asks for, as far as the backend allows. Without
 * one, every command is executed by the caller. Returns 0, or -ENOMEM.
 */
int submit_init(struct tcmu_ext_disk *disk, enum tcmu_ext_io_mode mode);

/* Waits for what was submitted and frees the engine. */
void submit_release(struct tcmu_ext_disk *disk);

#endif
