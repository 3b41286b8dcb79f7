# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# Reads the guest's kernel log for complaints and for what tasks wait for. Sourced by run-in-guest.

readonly script_start='tcmu-ext: the script starts'
readonly interrupted_here='NMI received for unknown reason'
readonly complaint='WARNING:|BUG[: ]|kernel BUG at|blocked for more than|Oops[: ]|general protection|KASAN:|UBSAN:|KCSAN:|soft lockup|hard LOCKUP|detected stall|self-detected stall|Kernel panic|invalid opcode:|segfault at'
readonly report_end='cut here|end trace|</TASK>'
# Begins what is only the state of a task, after a complaint or on request.
readonly task_state='task:.* state:'

# The part of LOG since the script started; all of it if that line was lost. What follows the
# interrupt at the time limit is not the test's doing.
log_of_script() {
	local from=1
	[[ -e $1 ]] || return 0
	from=$(grep -anF "$script_start" "$1" | tail -n 1 | cut -d : -f 1) || from=1
	tail -n "+$from" "$1" | tr -d '\r' | sed "/$interrupted_here/,\$d"
}

# message_allowed LINE REGEX…
message_allowed() {
	local line=$1 regex
	shift
	for regex in "$@"; do
		[[ ! $line =~ $regex ]] || return 0
	done
	return 1
}

# kernel_complaints LOG REGEX…: the complaints in LOG that match no REGEX. A call trace belongs to
# the complaint before it and is allowed with it.
kernel_complaints() {
	local log=$1 line allowed=no
	shift
	while IFS= read -r line; do
		if [[ $line =~ $report_end ]]; then
			allowed=no
			continue
		fi
		[[ ! $line =~ $task_state ]] || allowed=yes
		[[ ! $line =~ $complaint ]] || allowed=no
		[[ $allowed == no ]] || continue
		if message_allowed "$line" "$@"; then
			allowed=yes
		else
			printf '%s\n' "$line"
		fi
	done < <(log_of_script "$log" | grep -aE "$complaint|$report_end|$task_state|Call Trace" || true)
}

# report_complaints FOLDER REGEX…: prints what the kernel complained of in the console's and the
# kernel's own log, which can each have lost lines; false if there is nothing.
report_complaints() {
	local folder=$1 complaints
	shift
	complaints=$(for log in console dmesg; do
		kernel_complaints "$folder/$log.log" "$@"
	done | sort -u)
	[[ -n $complaints ]] || return 1
	vm_say "the guest's kernel complained:"
	printf '%s\n' "$complaints" >&2
}

# report_interrupted FOLDER: what the kernel wrote when it was interrupted.
report_interrupted() {
	local log
	log=$(tr -d '\r' <"$1/console.log" 2>/dev/null | sed "1,/$interrupted_here/d") || true
	if [[ -z $log ]]; then
		vm_say "its kernel did not say what its tasks were doing"
		return
	fi
	report_processors <<<"$log"
	report_blocked_tasks <<<"$log"
}

# The functions that each processor was executing.
report_processors() {
	vm_say "its processors were executing:"
	awk '/NMI backtrace for cpu/ { show = 1; functions = 0 }
		/<\/TASK>|Sending NMI| task:/ || functions > 40 { show = 0 }
		show && / (NMI backtrace|CPU:|RIP:)|  [a-z_][^ :]*\+0x/ { print; functions++ }' >&2
}

# The stacks of tasks in uninterruptible sleep.
report_blocked_tasks() {
	local blocked
	blocked=$(awk '
		/ task:/ { show = / state:D / }
		/ task:/ || /<\/TASK>/ { if (/ task:/ && show) print; if (!/ task:/) show = 0; next }
		show' | head -n 100)
	if [[ -n $blocked ]]; then
		vm_say "tasks blocked in the kernel:"
		printf '%s\n' "$blocked" >&2
	else
		vm_say "no task is blocked in the kernel"
	fi
}
