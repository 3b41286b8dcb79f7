# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# What the tests of run-in-guest share. Sourced on the host by each of them.
set -euo pipefail

run_in_guest=$(dirname "${BASH_SOURCE[0]}")/../run-in-guest
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

fail() {
	printf 'FAIL: %s\n' "$*" >&2
	exit 1
}

# expect_status STATUS ARGUMENT…: run-in-guest must end with STATUS; leaves its output in $output.
expect_status() {
	local wanted=$1 status=0
	shift
	output=$("$run_in_guest" --results "$results" "$@" 2>&1) || status=$?
	printf '%s\n' "$output"
	[[ $status == "$wanted" ]] || fail "exit status $status instead of $wanted: run-in-guest $*"
}

expect_said() {
	[[ $output == *"$1"* ]] || fail "did not say: $1"
}

expect_unsaid() {
	[[ $output != *"$1"* ]] || fail "said: $1"
}
