# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# Counts what a workload costs apart from time: with histograms in the kernel, so that nothing is
# written down per event. Sourced after guest-lib.sh.

counters_tracing=/sys/kernel/tracing

# The functions that take a lock or report that one is contended, which are not "the caller".
readonly counters_lock_functions='^(__traceiter_|__probestub_|trace_|do_trace_|event_triggers|queued_|native_queued|__pv_|_raw_|__raw_|mutex_|__mutex|ww_mutex|rwsem_|down_|__down|up_|rt_mutex|__rt_mutex|percpu_down|__percpu_down|osq_|lock_)'

# EVENT KEYS pairs of the histograms.
# shellcheck disable=SC2054 # the commas belong to the keys
readonly counters_histograms=(
	raw_syscalls/sys_enter common_pid,id
	tcmu_ext/uio_write common_pid
	irq/softirq_raise vec
	block/block_rq_complete dev
	lock/contention_begin common_stacktrace
)

counters_trigger() {
	local event=$1 keys=$2 off=${3:-}
	# Kernels before 6.3 know the stack as "stacktrace".
	if [[ $keys == common_stacktrace ]] &&
		! grep -q common_stacktrace "$counters_tracing/README"; then
		keys=stacktrace
	fi
	printf '%shist:keys=%s\n' "$off" "$keys" >"$counters_tracing/events/$event/trigger"
}

counters_each() {
	local i
	for ((i = 0; i < ${#counters_histograms[@]}; i += 2)); do
		"$@" "${counters_histograms[i]}" "${counters_histograms[i + 1]}"
	done
}

counters_remove() {
	counters_trigger "$1" "$2" '!'
}

# Context switches of the whole system since it started.
counters_context_switches() {
	sed -n 's/^ctxt //p' /proc/stat
}

counters_start() {
	printf 'p:tcmu_ext/uio_write uio_write\n' >"$counters_tracing/kprobe_events"
	counters_each counters_trigger
	counters_switches_before=$(counters_context_switches)
}

# counters_stop DEVICE: prints "NAME COUNT" lines and takes the histograms away.
counters_stop() {
	local device=$1 switches
	switches=$(($(counters_context_switches) - counters_switches_before))
	printf 'context_switches %s\n' "$switches"
	printf 'requests %s\n' "$(counters_requests "$device")"
	printf 'block_softirqs %s\n' "$(counters_hist irq/softirq_raise | awk '$1 == 4 { n += $NF } END { print n + 0 }')"
	printf 'uio_writes %s\n' "$(counters_hist tcmu_ext/uio_write | awk '{ n += $NF } END { print n + 0 }')"
	counters_daemon_calls
	counters_contended
	counters_each counters_remove
	printf '\n' >"$counters_tracing/kprobe_events"
}

# The entries of a histogram of numbers, as "KEY… COUNT".
counters_hist() {
	sed -n 's/^{ \(.*\) } hitcount: */\1 /p' "$counters_tracing/events/$1/hist" |
		sed -e 's/[a-z_]*: *//g' -e 's/,/ /g'
}

# dev_t in the kernel: twenty bits for the minor number.
counters_requests() {
	local major_minor
	read -r major_minor <"/sys/class/block/${1##*/}/dev"
	counters_hist block/block_rq_complete |
		awk -v "dev=$((${major_minor%:*} << 20 | ${major_minor#*:}))" '$1 == dev { n += $NF } END { print n + 0 }'
}

# The system calls of tcmu-runner's threads: all, and those to wait for or wake up a thread, which
# is what a contended lock in user space comes to.
counters_daemon_calls() {
	local threads
	threads=$(cd "/proc/$(runner_pid)/task" && echo *)
	counters_hist raw_syscalls/sys_enter | awk -v "threads=$threads" '
		BEGIN { split(threads, list, " "); for (i in list) daemon[list[i]] = 1 }
		$1 in daemon { all += $NF }
		$1 in daemon && $2 == 202 { futex += $NF }
		END { printf "daemon_system_calls %d\ndaemon_futex_calls %d\n", all, futex }'
}

# "contended:FUNCTION COUNT" for each function that had to wait for a lock of the kernel.
counters_contended() {
	awk -v "skip=$counters_lock_functions" '
		/stacktrace:/ { caller = ""; next }
		/^ +[A-Za-z_]/ && caller == "" { split($1, part, "+"); if (part[1] !~ skip) caller = part[1] }
		/hitcount:/ { sum[caller == "" ? "unknown" : caller] += $NF }
		END { for (caller in sum) printf "contended:%s %d\n", caller, sum[caller] }
	' "$counters_tracing/events/lock/contention_begin/hist"
}
