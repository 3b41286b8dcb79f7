#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# The script's status, output, arguments, environment and files come through as they are.
# shellcheck source-path=SCRIPTDIR source=expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

expect_status 7 -- bash -c 'echo to stdout; echo to stderr >&2; exit 7'
expect_said "to stdout"
expect_said "to stderr"
expect_said "exit status 7"

export TCMU_EXT_SELFTEST="two  words; \$HOME"
# shellcheck disable=SC2016 # the guest expands it
expect_status 0 -- bash -c 'printf "<%s>" "$@" "$TCMU_EXT_SELFTEST"; uname -r >"$TCMU_EXT_RESULTS/release"' \
	name "an  argument" "it's" ""
expect_said "<an  argument><it's><><two  words; \$HOME>"
grep -q '^6\.1\.' "$results/release" || fail "the guest's file is not in the results"
[[ ! -e $results/.guest ]] || fail "control files are left in the results"

printf '#!/bin/sh\necho from a script in /tmp; id -u\n' >"$results/script"
chmod 755 "$results/script"
expect_status 0 "$results/script"
expect_said "from a script in /tmp"

expect_status 127 -- no-such-command
expect_status 125 --kernel 5.10 -- true
expect_status 125 --parallel --instruction-clock -- true
expect_status 125
