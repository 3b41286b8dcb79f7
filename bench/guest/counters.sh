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
	local switches threads
	switches=$(($(counters_context_switches) - counters_switches_before))
	threads=$(cd "/proc/$(runner_pid)/task" && echo *)
	printf 'context_switches %s\n' "$switches"
	histograms_read | counters_sum "$(counters_dev_of "$1")" "$threads"
	histograms_stop
}

# The kernel's number for a disk: twenty bits for the minor number.
counters_dev_of() {
	local numbers
	read -r numbers <"/sys/class/block/${1##*/}/dev"
	printf '%s\n' $((${numbers%:*} << 20 | ${numbers#*:}))
}

# counters_sum DISK THREADS: of the daemon's system calls, those to wait for or wake up a thread are
# what a contended lock in user space comes to. "contended:FUNCTION" is who waited in the kernel.
counters_sum() {
	awk -v "disk=$1" -v "threads=$2" -v "lock_function=$counters_lock_functions" '
		function caller(i) {
			for (i = 3; i < NF && $i ~ lock_function; i++)
				;
			return $i
		}
		BEGIN { split(threads, list, " "); for (i in list) daemon[list[i]] = 1 }
		$1 == "block_rq_complete" && $3 == disk { requests += $2 }
		$1 == "softirq_raise" && $3 == 4 { softirqs += $2 }
		$1 == "uio_write" { writes += $2 }
		$1 == "sys_enter" && $3 in daemon { calls += $2 }
		$1 == "sys_enter" && $3 in daemon && $4 == 202 { futex_calls += $2 }
		$1 == "contention_begin" { contended[caller()] += $2 }
		END {
			printf "requests %d\nblock_softirqs %d\nuio_writes %d\n", requests, softirqs, writes
			printf "daemon_system_calls %d\ndaemon_futex_calls %d\n", calls, futex_calls
			for (name in contended) printf "contended:%s %d\n", name, contended[name]
		}'
}
