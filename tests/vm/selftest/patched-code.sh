#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# In the guest: its kernel can patch code that its processors are executing. Switching on the trace of
# a process patches the scheduler. With QEMU before 8.1 and --parallel this hangs once in four times.
set -euo pipefail

readonly trace=/sys/kernel/tracing/instances/selftest

mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
(($(nproc) > 1)) || { echo "one processor executes nothing while it patches" >&2 && exit 1; }
mkdir "$trace"
echo 1 >"$trace/options/event-fork"
for ((round = 0; round < 60; round++)); do
	echo $$ >"$trace/set_event_pid"
	for event in "$trace"/events/syscalls/sys_enter_p*/enable; do
		echo 1 >"$event"
	done
	ls / >/dev/null
	echo 0 >"$trace/events/enable"
	echo >"$trace/set_event_pid"
done
