#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# A hung script ends at the time limit, which tells what it hung in; so does the kernel itself, in
# the guest's time, which the instruction clock runs through at once when nothing else happens.
# shellcheck source-path=SCRIPTDIR source=expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

readonly hang='set -e
	truncate -s 64M /tmp/disk
	mkfs.ext4 -q /tmp/disk
	mount -o loop /tmp/disk /mnt
	fsfreeze --freeze /mnt
	touch /mnt/file &'

# However busy the host is, the script is to have hung before the limit.
expect_status 0 -- true
limit=$((20 + 4 * SECONDS))
expect_status 124 --timeout "$limit" -- bash -c "$hang wait"
expect_said "time limit of $limit s reached while running the script"
expect_said "task:touch"
expect_said "NMI backtrace for cpu 1"

expect_status 99 --instruction-clock -- bash -c "$hang kill \$(cat /run/tcmu-ext/steady-clock.pid); sleep 100"
expect_said "INFO: task touch"

expect_status 124 --timeout 1 -- true
expect_said "reached while booting the kernel"
