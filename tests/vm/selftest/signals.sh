#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# However run-in-guest is ended, its QEMU ends with it.
# shellcheck source-path=SCRIPTDIR source=expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

wait_until() {
	local polls
	for ((polls = 0; polls < 3000; polls++)); do
		! "$@" || return 0
		sleep 0.1
	done
	fail "waited in vain: $*"
}

guest_runs() {
	grep -qs "the script runs" "$results/output.log"
}

children_of() {
	cat "/proc/$1/task/$1/children"
}

qemu_of() {
	local child
	for child in $(children_of "$1"); do
		[[ $(<"/proc/$child/comm") != qemu-system-* ]] || printf '%s\n' "$child"
	done
}

gone() {
	[[ ! -e /proc/$1 ]]
}

for signal in TERM KILL; do
	"$run_in_guest" --results "$results" -- bash -c 'echo the script runs; sleep 1000' &
	runner=$!
	wait_until guest_runs
	qemu=$(qemu_of "$runner")
	[[ -n $qemu ]] || fail "no QEMU to be seen"
	kill -s "$signal" "$runner"
	wait "$runner" && fail "success after SIG$signal"
	wait_until gone "$qemu"
	rm "$results/output.log"
done
