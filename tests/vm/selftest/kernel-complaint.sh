#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# A run fails when the kernel complains, whatever the script says of itself.
# shellcheck source-path=SCRIPTDIR source=expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

readonly complain='echo "<4>WARNING: CPU: 0 PID: 1 at made/up.c:1" >/dev/kmsg'

expect_status 99 -- bash -c "$complain; dmesg --clear"
expect_said "at made/up.c:1"

expect_status 5 -- bash -c "$complain; exit 5"
expect_said "at made/up.c:1"

expect_status 0 --allow-kernel-message 'at made/[a-z]*\.c' -- bash -c "$complain"
expect_unsaid "at made/up.c:1"

expect_status 99 --allow-kernel-message 'at made/[a-z]*\.c' -- bash -c "$complain
	echo '<4>Call Trace:' >/dev/kmsg; echo '<4> </TASK>' >/dev/kmsg
	echo '<4>BUG: another, not allowed' >/dev/kmsg"
expect_said "BUG: another, not allowed"
expect_unsaid "Call Trace"

expect_status 99 -- bash -c 'echo c >/proc/sysrq-trigger; sleep 60'
expect_said "Kernel panic"

expect_status 99 -- bash -c 'echo b >/proc/sysrq-trigger; sleep 60'
expect_said "went down"

expect_status 125 --kernel-argument rdinit=/missing -- true
