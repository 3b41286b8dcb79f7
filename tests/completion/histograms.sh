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

# Forgets what has been counted, and goes on counting. Appended: to open the file for writing anew
# takes the trigger away.
histograms_clear() {
	local i
	for ((i = 0; i < ${#histograms_in_use[@]}; i += 2)); do
		printf 'hist:keys=%s:clear\n' "${histograms_in_use[i + 1]}" \
			>>"$histogram_tracing/events/${histograms_in_use[i]}/trigger"
	done
}

# histograms_read: prints every entry as "EVENT COUNT KEY…", EVENT without its group, a stack as its
# functions, the innermost first; and for each probe "missed COUNT PROBE". One process reads all:
# starting one takes long in the guest.
histograms_read() {
	local i
	local -a files=("$histogram_tracing/kprobe_profile")
	for ((i = 0; i < ${#histograms_in_use[@]}; i += 2)); do
		files+=("$histogram_tracing/events/${histograms_in_use[i]}/hist")
	done
	awk '
		FNR == 1 { parts = split(FILENAME, path, "/"); event = path[parts - 1] }
		path[parts] == "kprobe_profile" { print "missed", $NF, $1; next }
		/^{ [a-z_]*stacktrace:/ { keys = ""; next }
		/^ +[A-Za-z_]/ { split($1, symbol, "+"); keys = keys " " symbol[1]; next }
		/^{ / { keys = $0; sub(/ } hitcount.*/, "", keys); gsub(/[{,]|[a-z_]+: */, "", keys) }
		/} hitcount:/ { print event, $NF, keys }
	' "${files[@]}"
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
