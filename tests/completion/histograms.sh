# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# Counts events in the guest's kernel with its own histograms, so that nothing is written down per
# event. Sourced after guest-lib.sh.

histogram_tracing=/sys/kernel/tracing
histograms_in_use=()

# histogram_probe NAME FUNCTION [ARGUMENT=EXPRESSION…]: an event tcmu_ext/NAME for each call.
histogram_probe() {
	printf 'p:tcmu_ext/%s %s\n' "$1" "${*:2}" >>"$histogram_tracing/kprobe_events" ||
		fail "the kernel refuses a probe on $2"
}

# histogram_start EVENT KEYS: counts EVENT (GROUP/NAME) by its fields KEYS (one or more, with commas).
histogram_start() {
	local keys=$2
	# Kernels before 6.3 know the stack as "stacktrace".
	if [[ $keys == common_stacktrace ]] &&
		! grep -q common_stacktrace "$histogram_tracing/README"; then
		keys=stacktrace
	fi
	printf 'hist:keys=%s\n' "$keys" >"$histogram_tracing/events/$1/trigger" ||
		fail "the kernel refuses to count $1 by $keys"
	histograms_in_use+=("$1" "$keys")
}

# histogram EVENT: prints "KEY… COUNT" lines, names of fields left out.
histogram() {
	sed -n 's/^{ \(.*\) } hitcount: */\1 /p' "$histogram_tracing/events/$1/hist" |
		sed -e 's/[a-z_]*: *//g' -e 's/,/ /g'
}

# histogram_sum EVENT [KEY]: the count of all entries, or of those whose first field is KEY.
histogram_sum() {
	histogram "$1" | awk -v "all=$#" -v "key=${2-}" \
		'all == 1 || $1 == key { sum += $NF } END { print sum + 0 }'
}

# histogram_stacks EVENT: prints for each different stack its count and its functions, the
# innermost first, on one line.
histogram_stacks() {
	awk '/stacktrace:/ { stack = ""; next }
		/hitcount:/ { print $NF stack; next }
		/^ +[A-Za-z_]/ { split($1, part, "+"); stack = stack " " part[1] }
	' "$histogram_tracing/events/$1/hist"
}

# Takes all histograms and probes away.
histograms_stop() {
	local i
	for ((i = 0; i < ${#histograms_in_use[@]}; i += 2)); do
		printf '!hist:keys=%s\n' "${histograms_in_use[i + 1]}" \
			>"$histogram_tracing/events/${histograms_in_use[i]}/trigger"
	done
	histograms_in_use=()
	printf '\n' >"$histogram_tracing/kprobe_events"
}
