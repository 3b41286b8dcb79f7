# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# What the tests in this folder share:  source "$TCMU_EXT_SOURCE/tests/kernel/lib.sh"
#
# As in guest-lib.sh, functions end the test through fail() when something does not work.
# shellcheck source-path=SCRIPTDIR source=../vm/guest-lib.sh
source "$TCMU_EXT_SOURCE/tests/vm/guest-lib.sh"

# A command that fails unexpectedly says which it was.
set -E
trap 'printf "FAIL: %s (%s line %s)\n" "$BASH_COMMAND" "${BASH_SOURCE[0]##*/}" "$LINENO" >&2' ERR

# Where tests keep backing files: a tmpfs of their own, so that the size and the features are known.
test_files=/srv/files

# skip REASON…: the test cannot run here. Continuous integration takes that for a failure.
skip() {
	printf 'SKIP: %s\n' "$*"
	exit 77
}

# Folders with plugins for stack_start, if not those of the build tree.
test_plugins=()

# test_start: what nearly every test begins with.
test_start() {
	mkdir -p "$test_files"
	mount -t tmpfs -o size=1G,mode=755 tmpfs "$test_files"
	[[ -e $TCMU_EXT_BUILD/handlers/handler_file.so ]] ||
		fail "the handlers are not built in $TCMU_EXT_BUILD"
	# Only what a test asks for is written back: nothing hides a missing flush.
	echo 0 >/proc/sys/vm/dirty_writeback_centisecs
	echo 360000 >/proc/sys/vm/dirty_expire_centisecs
	# tcmu-runner inherits what these open, at each start the same.
	pause
	scsi_client_start
	stack_start ${test_plugins[@]+"${test_plugins[@]}"}
}

# wait_for_all PID…: waits for background jobs and returns 1 if any of them failed. `wait` itself
# returns what the last one did.
wait_for_all() {
	local pid status=0
	for pid; do
		wait "$pid" || status=1
	done
	return "$status"
}

# expect_same_bytes WHAT FILE FILE [BYTES]
expect_same_bytes() {
	local what=$1
	shift
	cmp ${3:+-n "$3"} -- "$1" "$2" >"$guest_state/cmp" 2>&1 || fail "$what: $(<"$guest_state/cmp")"
}

# --- the daemon ------------------------------------------------------------------------------

# count_memory_finely: before test_start. Memory that then grows is memory not given back. Otherwise
# a page of a thread's stack may become 2 MiB at the kernel's discretion; and the C library gives
# threads up to eight heaps for each processor, touched as chance has it.
count_memory_finely() {
	echo never >/sys/kernel/mm/transparent_hugepage/enabled
	runner_prefix=(env MALLOC_ARENA_MAX=1)
}

# resident_kib: tcmu-runner's anonymous memory.
resident_kib() {
	awk '/^RssAnon:/ { print $2 }' "/proc/$(runner_pid)/status"
}

# runner_descriptors: what tcmu-runner has open, one a line, sorted.
runner_descriptors() {
	local descriptor target
	for descriptor in "/proc/$(runner_pid)/fd"/*; do
		target=$(readlink "$descriptor") || continue
		printf '%s\n' "${target/socket:*/socket}"
	done | sort
}

# runner_threads: the names of tcmu-runner's threads, sorted, without those that GLib makes and ends
# as it pleases.
runner_threads() {
	{ cat "/proc/$(runner_pid)/task"/*/comm 2>/dev/null || true; } | grep -vE '^pool' | sort
}

# runner_has_open PATH
runner_has_open() {
	[[ $'\n'$(runner_descriptors)$'\n' == *$'\n'"$1"$'\n'* ]]
}

# descriptor_of PATH: the number under which tcmu-runner has PATH open.
descriptor_of() {
	local descriptor
	for descriptor in "/proc/$(runner_pid)/fd"/*; do
		if [[ $(readlink "$descriptor") == "$1" ]]; then
			printf '%s\n' "${descriptor##*/}"
			return
		fi
	done
	fail "tcmu-runner does not have $1 open"
}

# state: the backstores and LUNs there are, and what tcmu-runner has open and runs.
state() {
	(shopt -s nullglob && printf '%s\n' "$guest_core"/*_*/* "$guest_loopback"/naa.*/*/lun/*)
	runner_descriptors
	runner_threads
}

# expect_state FILE: waits until the state is again what it was when it was written to FILE.
expect_state() {
	local polls
	for ((polls = 0; polls < 200; polls++)); do
		if state | diff "$1" - >"$guest_state/state-difference"; then
			return 0
		fi
		pause
	done
	fail "not everything is as it was before: $(<"$guest_state/state-difference")"
}

# --- the daemon's log ------------------------------------------------------------------------

runner_log=/var/log/tcmu-runner.log

# log_size: a position for log_since.
log_size() {
	stat -c %s "$runner_log"
}

log_since() {
	tail -c "+$(($1 + 1))" "$runner_log"
}

# expect_log POSITION REGEX: waits for such a line, for the daemon logs from a thread of its own.
expect_log() {
	wait_until "a log line like \"$2\"; there is: $(log_since "$1")" log_has "$1" "$2"
}

log_has() {
	log_since "$1" | grep -E -- "$2" >/dev/null
}

# log_count POSITION REGEX
log_count() {
	log_since "$1" | grep -cE -- "$2" || true
}

# --- SCSI commands ---------------------------------------------------------------------------

# scsi_no_data DISK BYTE…; scsi_in LENGTH DISK BYTE…; scsi_out FILE DISK BYTE…
#
# Sends the CDB (a BYTE may be several, with spaces between), through the disk's sg device, and sets
# scsi_status (GOOD, CHECK, or the SAM status in hexadecimal), scsi_sense (KEY/ASC/ASCQ, - without
# sense data) and scsi_information (the INFORMATION field in decimal, - unless valid). Data arrives in
# the file $scsi_data, its first 256 bytes also in the array scsi_bytes, in hexadecimal.
scsi_data=$guest_state/scsi-data

scsi_no_data() {
	scsi_send "$1" "none 0 -" "${@:2}"
}

scsi_in() {
	scsi_send "$2" "in $1 $scsi_data" "${@:3}"
}

scsi_out() {
	scsi_send "$2" "out 0 $1" "${@:3}"
}

# scsi-client runs all the time: starting a process for each command takes far longer.
scsi_client_start() {
	mkfifo "$guest_state/scsi-commands" "$guest_state/scsi-answers"
	"$TCMU_EXT_BUILD/tests/kernel/scsi-client" <"$guest_state/scsi-commands" \
		>"$guest_state/scsi-answers" &
	exec {scsi_commands}>"$guest_state/scsi-commands" {scsi_answers}<"$guest_state/scsi-answers"
}

scsi_send() {
	local disk=$1 transfer=$2 answer
	local -a words
	shift 2
	find_sg_device "$disk"
	printf '%s %s %s\n' "$sg_device" "$transfer" "$*" >&"$scsi_commands"
	read -r answer <&"$scsi_answers"
	[[ $answer != error* ]] || fail "$* to $disk: $answer"
	read -ra words <<<"$answer"
	scsi_status=${words[0]} scsi_sense=${words[1]} scsi_information=${words[2]}
	scsi_bytes=("${words[@]:4}")
	case $scsi_status in
	00) scsi_status=GOOD ;;
	02) scsi_status=CHECK ;;
	esac
}

# find_sg_device DISK: sets sg_device to the /dev/sgN of /dev/sdX. Unlike the disk it can be opened
# for writing when that is read-only.
find_sg_device() {
	local -a nodes=("/sys/block/${1##*/}/device/scsi_generic"/*)
	sg_device=/dev/${nodes[0]##*/}
	[[ -c $sg_device ]] || wait_until "$1 has an sg device" has_sg_device "$1"
}

has_sg_device() {
	local -a nodes=("/sys/block/${1##*/}/device/scsi_generic"/*)
	sg_device=/dev/${nodes[0]##*/}
	[[ -c $sg_device ]]
}

# expect_good WHAT: the last command succeeded.
expect_good() {
	[[ $scsi_status == GOOD ]] || fail "$1: expected GOOD, got $scsi_status $scsi_sense"
}

# expect_sense WHAT KEY/ASC/ASCQ [INFORMATION]: the last command failed just so.
expect_sense() {
	[[ $scsi_status == CHECK ]] || fail "$1: expected CHECK CONDITION $2, got $scsi_status"
	expect_equal "$1" "$2" "$scsi_sense"
	[[ -z ${3:-} ]] || expect_equal "$1, INFORMATION" "$3" "$scsi_information"
}

# scsi_byte N: byte N of the data that came in, as two hexadecimal digits.
scsi_byte() {
	printf '%s\n' "${scsi_bytes[$1]}"
}

# scsi_number OFFSET BYTES: a big-endian number of the data that came in.
scsi_number() {
	local IFS=''
	printf '%d\n' "0x${scsi_bytes[*]:$1:$2}"
}

# hex_bytes NUMBER BYTES: the number, big-endian, as an argument of the functions above.
hex_bytes() {
	local digits
	printf -v digits "%0$(($2 * 2))x" "$1"
	while [[ $digits ]]; do
		printf '%s ' "${digits:0:2}"
		digits=${digits:2}
	done
}

# drain_unit_attentions DEVICE
drain_unit_attentions() {
	wait_until "$1 is ready" scsi_device_ready "$1"
}

# kernel_name DEVICE: sdX of /dev/sdX.
kernel_name() {
	basename "$1"
}

# queue_limit DEVICE NAME: a limit the block layer learned from the LUN.
queue_limit() {
	cat "/sys/block/${1##*/}/queue/$2"
}

# rescan DEVICE: makes the initiator read capacity, modes and limits again.
rescan() {
	echo 1 >"/sys/block/${1##*/}/device/rescan"
}

# --- data ------------------------------------------------------------------------------------

# random_file FILE BYTES
random_file() {
	head -c "$2" /dev/urandom >"$1"
}

# read_blocks DEVICE FIRST COUNT FILE, write_blocks FILE DEVICE FIRST COUNT: 512-byte blocks, past
# the initiator's page cache, in as few commands as the block layer makes of that.
read_blocks() {
	dd if="$1" of="$4" bs=$(($3 * 512)) skip=$(($2 * 512)) count=1 iflag=direct,skip_bytes,fullblock \
		status=none
}

write_blocks() {
	dd if="$1" of="$2" bs=$(($4 * 512)) seek=$(($3 * 512)) count=1 oflag=direct,seek_bytes conv=notrunc \
		status=none
}

# is_zero FILE [OFFSET [BYTES]]
is_zero() {
	cmp -s -n "${3:-$(($(stat -c %s "$1") - ${2:-0}))}" -i "${2:-0}:0" -- "$1" /dev/zero
}

# fio_run NAME ARGUMENT…: fio, quiet unless it fails. Its report stays among the results.
fio_run() {
	local name=$1 report=$TCMU_EXT_RESULTS/fio-$1
	shift
	if ! fio --output="$report" --verify_state_save=0 --thread=0 "$@" >"$report.output" 2>&1; then
		cat "$report.output" "$report" >&2 2>/dev/null || true
		fail "fio $name failed"
	fi
}

# --- backing devices -------------------------------------------------------------------------

# ram_disks COUNT MIB: /dev/ram0 and so on. Once a boot.
ram_disks() {
	modprobe brd "rd_nr=$1" "rd_size=$(($2 * 1024))"
}

# loop_device FILE [OPTION…]: a loop device over FILE; prints its name.
loop_device() {
	local file=$1
	shift
	modprobe loop
	losetup --find --show "$@" "$file"
}

# scsi_debug_disk PARAMETER=VALUE…: loads scsi_debug and prints its disk. Once at a time; end with
# `modprobe -r scsi_debug`.
scsi_debug_disk() {
	modprobe scsi_debug "$@"
	wait_until "the disk of scsi_debug appears" scsi_debug_path >/dev/null
	scsi_debug_path
}

scsi_debug_path() {
	local model
	for model in /sys/block/sd*/device/model; do
		if grep -q scsi_debug "$model" 2>/dev/null; then
			model=${model%/device/model}
			[[ -b /dev/${model##*/} ]] || return 1
			printf '/dev/%s\n' "${model##*/}"
			return
		fi
	done
	return 1
}

# --- system calls of the daemon --------------------------------------------------------------

runner_trace=/sys/kernel/tracing/instances/tcmu-runner

# trace_begin SYSCALL…: records these system calls, on entry, of every thread tcmu-runner has or
# makes; "all" for all of them.
trace_begin() {
	local name
	mkdir -p "$runner_trace"
	echo 0 >"$runner_trace/tracing_on"
	echo 16384 >"$runner_trace/buffer_size_kb"
	echo 1 >"$runner_trace/options/event-fork"
	echo >"$runner_trace/trace"
	for name in "/proc/$(runner_pid)/task"/*; do
		printf '%s ' "${name##*/}"
	done >"$runner_trace/set_event_pid"
	echo 0 >"$runner_trace/events/enable"
	[[ $1 != all ]] || set -- '*'
	for name in "$@"; do
		# shellcheck disable=SC2086 # a pattern
		trace_enable "$runner_trace"/events/syscalls/sys_enter_$name
	done
	echo 1 >"$runner_trace/tracing_on"
}

trace_enable() {
	local event
	for event in "$@"; do
		echo 1 >"$event/enable"
	done
}

# trace_mark TEXT: a line "mark TEXT" between the calls.
trace_mark() {
	printf '%s\n' "$1" >"$runner_trace/trace_marker"
}

# trace_end FILE: stops, and writes one line for each call: THREAD-NAME SYSCALL ARGUMENT=VALUE…
trace_end() {
	local lost
	echo 0 >"$runner_trace/tracing_on"
	echo 0 >"$runner_trace/events/enable"
	lost=$(awk '/overrun|dropped events/ { lost += $NF } END { print lost + 0 }' \
		"$runner_trace"/per_cpu/cpu*/stats)
	expect_equal "events lost by the trace" 0 "$lost"
	sed -nE -e 's/^.*: tracing_mark_write: (.*)$/mark \1/p;t' \
		-e 's/^ *(.*)-([0-9]+) +\[[0-9]+\] .*: sys_([a-z0-9_]+)\((.*)\)$/\1 \3 \4/;T' \
		-e 's/: /=/g; s/,//g; p' "$runner_trace/trace" >"$1"
	echo >"$runner_trace/trace"
}

# --- LUNs ------------------------------------------------------------------------------------

# create_luns <<END: one LUN a line, in one start of targetcli: SUBTYPE NAME SIZE CFGSTRING [MORE].
create_luns() {
	local subtype name size config more names=() commands=''
	while read -r subtype name size config more; do
		commands+="/backstores/user:$subtype create $name $size cfgstring=$config $more"$'\n'
		names+=("$name")
	done
	targetcli_batch <<<"$commands" >"$guest_state/targetcli" 2>&1 || true
	for name in "${names[@]}"; do
		[[ -d $(echo "$guest_core"/user_*/"$name") ]] ||
			fail "targetcli did not create $name: $(<"$guest_state/targetcli") $(tail -n 5 "$runner_log")"
	done
}

# backstore_attribute BACKSTORE NAME
backstore_attribute() {
	cat "$(backstore_folder "$1")/attrib/$2"
}

# expect_write_cache WHAT DEVICE 0|1: the WCE bit of the caching mode page.
expect_write_cache() {
	scsi_in 192 "$2" 1a 08 08 00 c0 00
	expect_good "MODE SENSE of the caching page of $2"
	expect_equal "$1" "$3" "$((0x$(scsi_byte 6) >> 2 & 1))"
}
