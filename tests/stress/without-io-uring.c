/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * without-io-uring PROGRAM [ARGUMENT…]: runs a program that cannot use io_uring, as where a
 * container's rules or kernel.io_uring_disabled forbid it. WITHOUT_IO_URING=1 tells it so.
 */
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (argc < 2)
		errx(2, "usage: without-io-uring PROGRAM [ARGUMENT...]");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		err(2, "seccomp");
	if (setenv("WITHOUT_IO_URING", "1", 1))
		err(2, "WITHOUT_IO_URING");
	execvp(argv[1], argv + 1);
	err(2, "%s", argv[1]);
}
