# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# Counts what a workload costs apart from time. Sourced after histograms.sh.

# The functions that take a lock or report that one is contended, which are not "the caller".
readonly counters_lock_functions='^(__traceiter_|__probestub_|trace_|do_trace_|event_triggers|queued_|native_queued|__pv_|_raw_|__raw_|mutex_|__mutex|ww_mutex|rwsem_|down_|__down|up_|rt_mutex|__rt_mutex|percpu_down|__percpu_down|osq_|lock_)'

# Context switches of the whole system since it started.
counters_context_switches() {
	sed -n 's/^ctxt //p' /proc/stat
}

counters_start() {
	histogram_probe uio_write uio_write
	histogram_start tcmu_ext/uio_write common_pid
	histogram_start raw_syscalls/sys_enter common_pid,id
	histogram_start irq/softirq_raise vec
	histogram_start block/block_rq_complete dev
	histogram_start lock/contention_begin common_stacktrace
	counters_switches_before=$(counters_context_switches)
}

# counters_stop DEVICE: prints "NAME COUNT" lines and takes the histograms away.
counters_stop() {
	local switches
	switches=$(($(counters_context_switches) - counters_switches_before))
	printf 'context_switches %s\n' "$switches"
	printf 'requests %s\n' "$(histogram_sum block/block_rq_complete "$(counters_dev_of "$1")")"
	printf 'block_softirqs %s\n' "$(histogram_sum irq/softirq_raise 4)"
	printf 'uio_writes %s\n' "$(histogram_sum tcmu_ext/uio_write)"
	counters_daemon_calls
	counters_contended
	histograms_stop
}

# The kernel's number for a disk: twenty bits for the minor number.
counters_dev_of() {
	local numbers
	read -r numbers <"/sys/class/block/${1##*/}/dev"
	printf '%s\n' $((${numbers%:*} << 20 | ${numbers#*:}))
}

# The system calls of tcmu-runner's threads: all, and those to wait for or wake up a thread, which
# is what a contended lock in user space comes to.
counters_daemon_calls() {
	local threads
	threads=$(cd "/proc/$(runner_pid)/task" && echo *)
	histogram raw_syscalls/sys_enter | awk -v "threads=$threads" '
		BEGIN { split(threads, list, " "); for (i in list) daemon[list[i]] = 1 }
		$1 in daemon { all += $NF }
		$1 in daemon && $2 == 202 { futex += $NF }
		END { printf "daemon_system_calls %d\ndaemon_futex_calls %d\n", all, futex }'
}

# "contended:FUNCTION COUNT" for each function that had to wait for a lock of the kernel.
counters_contended() {
	histogram_stacks lock/contention_begin | awk -v "skip=$counters_lock_functions" '
		{
			for (i = 2; i < NF && $i ~ skip; i++)
				;
			sum[$i] += $1
		}
		END { for (caller in sum) printf "contended:%s %d\n", caller, sum[caller] }'
}
