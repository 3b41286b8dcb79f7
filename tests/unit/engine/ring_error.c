/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "ring_error.h"

#include <liburing.h>

int ring_error;

int __real_io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
				      struct io_uring_params *parameters);
int __wrap_io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
				      struct io_uring_params *parameters);
int __wrap_io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
				      struct io_uring_params *parameters)
{
	return ring_error ? ring_error
			  : __real_io_uring_queue_init_params(entries, ring, parameters);
}
