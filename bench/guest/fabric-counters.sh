# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# Counts what a workload costs on any path to a LUN, and on which processors. Sourced after the
# lib.sh of the tests of paths and after histograms.sh.

fabric_events=/sys/kernel/tracing/events
fabric_synthetic=/sys/kernel/tracing/synthetic_events

# Functions that take a lock or report that one is contended, which are not "the caller".
readonly fabric_lock_functions='^(__traceiter_|__probestub_|trace_|do_trace_|event_triggers|queued_|native_queued|__pv_|_raw_|__raw_|mutex_|__mutex|ww_mutex|rwsem_|down_|__down|up_|rt_mutex|__rt_mutex|percpu_down|__percpu_down|osq_|lock_)'

# From the start of a command in the target core to its end there: an event with both processors. Tags
# come and go all through the boot, and each takes an entry.
readonly fabric_start_trigger='hist:keys=tag:started_on=common_cpu:size=65536'
# shellcheck disable=SC2016 # the kernel's variables
readonly fabric_end_trigger='hist:keys=tag:ended_on=common_cpu,from=$started_on:onmatch(target.target_sequencer_start).trace(tcmu_ext_processors,$from,$ended_on)'

# fabric_counters_prepare: once in a boot. What is counted stays switched on from then on: to switch
# a tracepoint replaces code, which an emulator of processors in parallel may not survive.
fabric_counters_prepare() {
	printf 'tcmu_ext_processors unsigned int started_on; unsigned int ended_on\n' >>"$fabric_synthetic"
	printf '%s\n' "$fabric_start_trigger" >"$fabric_events/target/target_sequencer_start/trigger"
	printf '%s\n' "$fabric_end_trigger" >"$fabric_events/target/target_cmd_complete/trigger"
	histogram_start synthetic/tcmu_ext_processors started_on,ended_on
	histogram_probe uio_write uio_write
	histogram_start tcmu_ext/uio_write common_pid
	histogram_start irq/softirq_raise vec
	histogram_start lock/contention_begin common_stacktrace
}

fabric_counters_start() {
	histograms_clear
	fabric_commands_before=$(path_commands)
	fabric_switches_before=$(fabric_context_switches)
}

fabric_context_switches() {
	sed -n 's/^ctxt //p' /proc/stat
}

# fabric_counters_stop: prints a JSON object.
fabric_counters_stop() {
	local switches=$(($(fabric_context_switches) - fabric_switches_before))
	local commands=$(($(path_commands) - fabric_commands_before))
	{
		printf 'commands %s\ncontext_switches %s\n' "$commands" "$switches"
		printf 'uio_writes %s\n' "$(fabric_sum tcmu_ext/uio_write '')"
		printf 'block_softirqs %s\n' "$(fabric_sum irq/softirq_raise 'vec: *4 ')"
		printf 'network_softirqs %s\n' "$(fabric_sum irq/softirq_raise 'vec: *[23] ')"
		fabric_processors
		fabric_contended
	} | fabric_counts_as_json
}

# fabric_sum EVENT REGEX: the counts of the entries that match.
fabric_sum() {
	awk -v "wanted=$2" '/hitcount:/ && $0 ~ wanted { sum += $NF } END { print sum + 0 }' \
		"$fabric_events/$1/hist"
}

# "processors:STARTED>ENDED COUNT"
fabric_processors() {
	sed -nE 's/^\{ started_on: *([0-9]+), ended_on: *([0-9]+) \} hitcount: *([0-9]+).*/processors:\1>\2 \3/p' \
		"$fabric_events/synthetic/tcmu_ext_processors/hist"
}

# "contended:FUNCTION COUNT" for each function that had to wait for a lock of the kernel.
fabric_contended() {
	awk -v "skip=$fabric_lock_functions" '
		/stacktrace:/ { caller = ""; next }
		/^ +[A-Za-z_]/ && caller == "" { split($1, part, "+"); if (part[1] !~ skip) caller = part[1] }
		/hitcount:/ { sum[caller == "" ? "unknown" : caller] += $NF }
		END { for (caller in sum) printf "contended:%s %d\n", caller, sum[caller] }
	' "$fabric_events/lock/contention_begin/hist"
}

fabric_counts_as_json() {
	jq -nR '
		[inputs | split(" ") | {key: .[0], value: (.[1] | tonumber)}] | from_entries
		| .commands as $commands
		| def part($kind; $scale): with_entries(select(.key | startswith($kind + ":"))
			| .key |= ltrimstr($kind + ":") | .value |= (. / $commands * $scale * 1000 | round / 1000));
		{requests: $commands,
		 per_request: (with_entries(select(.key | contains(":") | not)) | del(.commands)
			| map_values(. / $commands * 1000 | round / 1000)),
		 contended_per_thousand: part("contended"; 1000),
		 processors: part("processors"; 1)}'
}
