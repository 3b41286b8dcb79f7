/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A read or write that succeeds allocates nothing, takes no lock, reads no clock, logs nothing and
 * makes one system call, on its data. Two nets: the functions that do such things are this
 * program's own and count, and a seccomp filter ends the process at any other system call.
 */
#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "standin.h"

enum {
	COMMANDS = 10000,
	DURABLE_COMMANDS = 100, /* each waits for the disk under /var/tmp */
	SIZE_BYTES = 1 << 20,
	DATA_BYTES = 4096,
};

/* -- the first net: calls into the C library -- */

static struct {
	bool on;
	unsigned long allocations, locks, clocks;
} counted;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void __libc_free(void *memory);

void *malloc(size_t bytes)
{
	counted.allocations += counted.on;
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	counted.allocations += counted.on;
	return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
	counted.allocations += counted.on;
	return __libc_realloc(memory, bytes);
}

void free(void *memory)
{
	counted.allocations += counted.on;
	__libc_free(memory);
}

/* Calls the function of this name that would have been called without ours. */
#define NEXT(name, ...)                                            \
	({                                                         \
		static __typeof__(&name) next;                     \
		if (!next)                                         \
			*(void **)&next = dlsym(RTLD_NEXT, #name); \
		next(__VA_ARGS__);                                 \
	})

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	counted.locks += counted.on;
	return NEXT(pthread_mutex_lock, mutex);
}

int pthread_spin_lock(pthread_spinlock_t *lock)
{
	counted.locks += counted.on;
	return NEXT(pthread_spin_lock, lock);
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	counted.locks += counted.on;
	return NEXT(pthread_rwlock_rdlock, lock);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	counted.clocks += counted.on;
	return NEXT(clock_gettime, clock, now);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	counted.clocks += counted.on;
	return NEXT(gettimeofday, now, zone);
}

time_t time(time_t *now)
{
	counted.clocks += counted.on;
	return NEXT(time, now);
}

/* The counters must be in the way of the plugin's calls: one that allocates is counted. */
static void the_net_holds(const struct tcmur_handler *handler)
{
	char *reason = NULL;

	counted.on = true;
	handler->check_config("file/relative", &reason);
	counted.on = false;
	free(reason);
	assert_int_not_equal(counted.allocations, 0);
	memset(&counted, 0, sizeof(counted));
}

/* -- the second net: system calls -- */

/* What the child saw, in memory it shares with its parent. */
static struct report {
	int forbidden_call;
	int failed_commands;
	unsigned long allocations, locks, clocks;
} * report;

static void report_call(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	report->forbidden_call = info->si_syscall;
	_exit(1);
}

/* Traps all but one data system call and the child's exit. There is no way back. */
static int allow_only(int system_call)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)system_call, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	const struct sigaction action = { .sa_sigaction = report_call, .sa_flags = SA_SIGINFO };

	if (sigaction(SIGSYS, &action, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void send_all(const struct tcmur_handler *handler, struct tcmu_device *dev,
		     struct tcmur_cmd *cmd, int commands, const struct iovec *iov, size_t iov_count)
{
	for (int i = 0; i < commands; i++) {
		memcpy(cmd->lib_cmd->iovec, iov, iov_count * sizeof(*iov));
		report->failed_commands += handler->handle_cmd(dev, cmd) != TCMU_STS_OK;
	}
}

static void serve(const struct tcmur_handler *handler, struct tcmu_device *dev, const uint8_t *cdb,
		  int commands, int system_call)
{
	static uint8_t data[DATA_BYTES];
	const struct iovec iov[2] = { { data, DATA_BYTES / 4 },
				      { data + DATA_BYTES / 4, DATA_BYTES - DATA_BYTES / 4 } };
	struct tcmur_cmd *cmd = standin_command(cdb, iov, 2);

	if (handler->handle_cmd(dev, cmd) != TCMU_STS_OK || allow_only(system_call))
		_exit(2);
	counted.on = true;
	send_all(handler, dev, cmd, commands, iov, 2);
	counted.on = false;
	report->allocations = counted.allocations;
	report->locks = counted.locks;
	report->clocks = counted.clocks;
	_exit(0);
}

static void run(const char *subtype, const char *config, const uint8_t *cdb, int commands,
		int system_call)
{
	const struct tcmur_handler *handler = standin_load(subtype);
	struct tcmu_device dev = standin_device(config, SIZE_BYTES);
	int status;
	pid_t child;

	the_net_holds(standin_load("file"));
	*report = (struct report){ 0 };
	assert_int_equal(handler->open(&dev, false), 0);
	child = fork();
	if (!child)
		serve(handler, &dev, cdb, commands, system_call);
	assert_int_equal(waitpid(child, &status, 0), child);
	handler->close(&dev);
	if (report->forbidden_call)
		fail_msg("system call %d on the way of a command", report->forbidden_call);
	assert_int_equal(status, 0);
	assert_int_equal(report->failed_commands, 0);
	assert_int_equal(report->allocations, 0);
	assert_int_equal(report->locks, 0);
	assert_int_equal(report->clocks, 0);
}

static const uint8_t read_10[10] = { 0x28, 0, 0, 0, 0, 8, 0, 0, DATA_BYTES / 512, 0 };
static const uint8_t write_10[10] = { 0x2a, 0, 0, 0, 0, 8, 0, 0, DATA_BYTES / 512, 0 };
static const uint8_t write_fua[10] = { 0x2a, 8, 0, 0, 0, 8, 0, 0, DATA_BYTES / 512, 0 };

static void run_file(const char *options, const uint8_t *cdb, int commands, int system_call)
{
	char *image = standin_file("disk.img", SIZE_BYTES);
	char config[4096];

	snprintf(config, sizeof(config), "file/%s%s", image, options);
	run("file", config, cdb, commands, system_call);
	free(image);
}

static void file_reads(void **state)
{
	(void)state;
	run_file(";io=inline", read_10, COMMANDS, SYS_preadv);
}

/* What is in the page cache is read there and then. */
static void file_reads_in_auto(void **state)
{
	struct statfs file_system;

	(void)state;
	assert_int_equal(statfs(standin_directory(), &file_system), 0);
	run_file(";io=auto", read_10, COMMANDS,
		 file_system.f_type == TMPFS_MAGIC ? SYS_preadv : SYS_preadv2);
}

static void file_writes(void **state)
{
	(void)state;
	run_file(";io=inline", write_10, COMMANDS, SYS_pwritev2);
	run_file(";io=auto", write_10, COMMANDS, SYS_pwritev2);
}

static void file_writes_with_fua(void **state)
{
	(void)state;
	run_file(";io=inline", write_fua, DURABLE_COMMANDS, SYS_pwritev2);
}

static void file_writes_through(void **state)
{
	(void)state;
	run_file(";cache=writethrough;io=inline", write_10, DURABLE_COMMANDS, SYS_pwritev2);
}

/* No system call at all. */
static void null_reads_and_writes(void **state)
{
	(void)state;
	run("null", "null/", read_10, COMMANDS, SYS_exit_group);
	run("null", "null/", write_10, COMMANDS, SYS_exit_group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_reads),          cmocka_unit_test(file_reads_in_auto),
		cmocka_unit_test(file_writes),         cmocka_unit_test(file_writes_with_fua),
		cmocka_unit_test(file_writes_through), cmocka_unit_test(null_reads_and_writes),
	};

	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (report == MAP_FAILED)
		return 1;
	return standin_end(cmocka_run_group_tests(tests, NULL, NULL));
}
