/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/* A kernel without io_uring, for tests that wrap io_uring_queue_init_params(). */
#ifndef RING_ERROR_H
#define RING_ERROR_H

extern int ring_error; /* what io_uring_queue_init_params() returns; 0: what it does */

#endif
