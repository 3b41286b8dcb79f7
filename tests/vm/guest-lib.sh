# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# What test scripts use inside the guest:  source "$TCMU_EXT_SOURCE/tests/vm/guest-lib.sh"
#
# Functions end the script through fail() when something does not work, so callers need not check.
# Inside $(…) that ends the substitution only: keep set -e on, as sourcing this file does.
set -euo pipefail

guest_state=/run/tcmu-ext
guest_core=/sys/kernel/config/target/core
guest_loopback=/sys/kernel/config/target/loopback
guest_bus_name=org.kernel.TCMUService1
mkdir -p "$guest_state" "$HOME/.targetcli"

# targetcli's preferences, which it keeps as a Python pickle: neither colours nor a saved
# configuration nor a log of its own.
printf '(dVcolor_mode\nI00\nsVauto_save_on_exit\nI00\nsVloglevel_file\nVerror\ns.' \
	>"$HOME/.targetcli/prefs.bin"

# Words put before tcmu-runner's own command line, (strace -f -o FILE) or (env LD_PRELOAD=…), and
# after it, (--debug).
runner_prefix=()
runner_arguments=()

# --- talking ---------------------------------------------------------------------------------

# note MESSAGE…: a line of progress.
note() {
	printf '== %s\n' "$*"
}

# fail MESSAGE…: ends the script (or the substitution it is called in) with status 1, and tells from
# where it was called.
fail() {
	local frame callers=
	for ((frame = 0; frame < ${#FUNCNAME[@]} - 1; frame++)); do
		callers+=", ${BASH_SOURCE[frame + 1]##*/}:${BASH_LINENO[frame]}"
	done
	printf 'FAIL: %s (%s)\n' "$*" "${callers#, }" >&2
	exit 1
}

# expect_equal WHAT EXPECTED ACTUAL
expect_equal() {
	[[ $3 == "$2" ]] || fail "$1: expected \"$2\", found \"$3\""
}

# expect_refused TEXT COMMAND…: COMMAND must fail, and say TEXT while doing so.
expect_refused() {
	local text=$1 output
	shift
	if output=$("$@" 2>&1); then
		fail "was not refused: $*: $output"
	fi
	[[ $output == *"$text"* ]] || fail "was refused without saying \"$text\": $*: $output"
	note "refused as it should be: $output"
}

# --- waiting ---------------------------------------------------------------------------------

# pause: one short poll interval, without a process. Nothing ever writes into the pipe.
pause() {
	[[ -n ${guest_pipe:-} ]] || exec {guest_pipe}<> <(:)
	read -r -t 0.02 -u "$guest_pipe" _ || true
}

# wait_until WHAT COMMAND…: polls until COMMAND succeeds; fails saying WHAT did not come. Counts
# polls, not seconds: the guest's clock may run far ahead of the host's.
wait_until() {
	local what=$1 polls
	shift
	for ((polls = 0; polls < 3000; polls++)); do
		if "$@"; then
			return 0
		fi
		pause
	done
	fail "waited in vain: $what"
}

# Under the instruction clock the guest's time runs steadily, as if it were never idle. For a
# measurement, after a run of the same to warm up: let_clock_jump COMMAND… skips idle time instead,
# during COMMAND, at which nothing may wait for the host. Elsewhere it just runs COMMAND.
let_clock_jump() {
	local pid status=0
	if [[ $TCMU_EXT_INSTRUCTION_CLOCK == yes ]]; then
		pid=$(<"$guest_state/steady-clock.pid")
		kill -STOP "$pid"
		"$@" || status=$?
		kill -CONT "$pid"
		return "$status"
	fi
	"$@"
}

# --- the stack: D-Bus and tcmu-runner --------------------------------------------------------

# Links to the plugins of the folders given, and to the packaged qcow handler, in one folder:
# the packaged folder's others pull in large libraries.
link_handlers() {
	local folder plugin
	rm -rf "$guest_state/handlers"
	mkdir -p "$guest_state/handlers"
	for folder in "$@" /usr/lib/*/tcmu-runner; do
		for plugin in "$folder"/*.so; do
			[[ $folder != /usr/lib/*/tcmu-runner || $plugin == */handler_qcow.so ]] || continue
			[[ ! -e $plugin ]] || ln -sf "$plugin" "$guest_state/handlers/"
		done
	done
}

bus_start() {
	[[ ! -S /run/dbus/system_bus_socket ]] || return 0
	mkdir -p /run/dbus
	dbus-uuidgen --ensure
	dbus-daemon --system --fork || fail "dbus-daemon does not start"
}

bus_has_runner() {
	[[ $(dbus-send --system --print-reply=literal --dest=org.freedesktop.DBus / \
		org.freedesktop.DBus.NameHasOwner "string:$guest_bus_name" 2>&1) == *true* ]]
}

# stack_start [FOLDER…]: starts D-Bus and tcmu-runner with the plugins in the FOLDERs (default:
# those of the build tree) and the packaged qcow handler; returns once the runner is on the bus.
stack_start() {
	(($#)) || set -- "$TCMU_EXT_BUILD/handlers"
	link_handlers "$@"
	modprobe -a target_core_user tcm_loop sd_mod sg &
	bus_start
	wait "$!" || fail "the target modules do not load"
	runner_start
}

# stack_stop: ends tcmu-runner as a service manager would. D-Bus stays.
stack_stop() {
	local pid
	pid=$(runner_pid)
	kill -TERM "$pid"
	wait_until "tcmu-runner ends after SIGTERM" process_gone "$pid"
	rm -f "$guest_state/runner.pid"
}

# runner_start: starts tcmu-runner alone, with the handlers that stack_start collected.
runner_start() {
	${runner_prefix[@]+"${runner_prefix[@]}"} tcmu-runner \
		--handler-path "$guest_state/handlers" \
		${runner_arguments[@]+"${runner_arguments[@]}"} \
		</dev/null >>/var/log/tcmu-runner.output 2>&1 &
	printf '%s\n' "$!" >"$guest_state/runner.pid"
	disown "$!"
	wait_until "tcmu-runner appears on D-Bus" runner_on_bus_or_gone
	! process_gone "$(runner_pid)" ||
		fail "tcmu-runner ended at once: $(cat /var/log/tcmu-runner.output)"
}

runner_on_bus_or_gone() {
	process_gone "$(runner_pid)" || bus_has_runner
}

# runner_pid: prints the process id of the runner started last (of its prefix, if it has one).
runner_pid() {
	[[ -e $guest_state/runner.pid ]] || fail "tcmu-runner was not started"
	cat "$guest_state/runner.pid"
}

# runner_kill: kill -9, and wait until it is gone.
runner_kill() {
	local pid
	pid=$(runner_pid)
	kill -KILL "$pid"
	wait_until "tcmu-runner is gone after SIGKILL" process_gone "$pid"
}

# A process whose first thread has ended keeps its files and locks until the others have, too.
process_gone() {
	local line
	local -a threads=("/proc/$1/task"/*)
	{ read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
	[[ ${line##*) } == [ZX]* ]] && ((${#threads[@]} == 1))
}

# uio_of NAME: prints the uio device (uio0, …) of the user-backed LUN NAME.
uio_of() {
	local file description
	for file in /sys/class/uio/uio*/name; do
		[[ -e $file ]] || continue
		read -r description <"$file"
		if [[ $description == tcm-user/*/"$1"/* ]]; then
			file=${file%/name}
			printf '%s\n' "${file##*/}"
			return
		fi
	done
	fail "no uio device belongs to $1"
}

# ring_thread_of NAME: prints the id of the runner's thread that services NAME's ring.
ring_thread_of() {
	local uio task comm
	uio=$(uio_of "$1")
	for task in "/proc/$(runner_pid)/task"/*; do
		{ read -r comm <"$task/comm"; } 2>/dev/null || continue
		if [[ $comm == "cmdproc-$uio" ]]; then
			printf '%s\n' "${task##*/}"
			return
		fi
	done
	fail "tcmu-runner has no thread for the ring of $1 ($uio)"
}

# --- LUNs ------------------------------------------------------------------------------------

# lun_create SUBTYPE NAME SIZE CFGSTRING [KEY=VALUE…]: a user-backed LUN, as a user makes one with
# targetcli. The keys are targetcli's: wwn, hw_max_sectors, control.
lun_create() {
	local subtype=$1
	shift
	targetcli "/backstores/user:$subtype" create "$@"
}

# lun_create_directly SUBTYPE NAME SIZE_BYTES CFGSTRING [KEY=VALUE…]: the same steps without
# targetcli, whose start takes seconds: for tests that make many LUNs. The keys are the kernel's:
# hw_max_sectors, hw_block_size, max_data_area_mb, data_pages_per_blk, …; and wwn.
lun_create_directly() {
	local subtype=$1 name=$2 size_bytes=$3 config=$1/$4 answer folder setting
	shift 4
	answer=$(dbus-send --system --print-reply=literal --dest="$guest_bus_name" \
		"/org/kernel/TCMUService1/$subtype" "$guest_bus_name.CheckConfig" "string:$config" 2>&1) ||
		fail "tcmu-runner does not check $config: $answer"
	[[ $answer == *"boolean true"* ]] || fail "cfgstring invalid: $answer"
	folder=$(new_backstore_folder user "$name")
	printf 'dev_config=%s' "$config" >"$folder/control"
	printf 'dev_size=%s' "$size_bytes" >"$folder/control"
	for setting in "$@"; do
		[[ $setting == wwn=* ]] || printf '%s' "$setting" >"$folder/control"
	done
	echo 1 >"$folder/enable" || { rmdir "$folder" "${folder%/*}" && fail "cannot enable $name"; }
	for setting in "wwn=$(</proc/sys/kernel/random/uuid)" "$@"; do
		[[ $setting != wwn=* ]] || printf '%s\n' "${setting#wwn=}" >"$folder/wwn/vpd_unit_serial"
	done
}

# new_backstore_folder KIND NAME: makes and prints core/KIND_N/NAME with the first free N.
new_backstore_folder() {
	local number=0
	[[ ! -d $(echo "$guest_core"/*/"$2") ]] || fail "a backstore $2 exists"
	while [[ -d $guest_core/$1_$number ]]; do
		number=$((number + 1))
	done
	mkdir -p "$guest_core/$1_$number/$2" || fail "the kernel refuses the backstore $2"
	printf '%s/%s_%s/%s\n' "$guest_core" "$1" "$number" "$2"
}

# fileio_create NAME FILE SIZE [KEY=VALUE…]: a LUN of the kernel's own file backstore.
fileio_create() {
	targetcli /backstores/fileio create "$@"
}

# targetcli_batch <<END: several targetcli commands in one start of it, which takes seconds.
# targetcli says of none whether it failed: check what they should have made.
targetcli_batch() {
	targetcli
}

# backstore_folder BACKSTORE: prints its configfs folder. BACKSTORE is a name or a targetcli path.
backstore_folder() {
	local name=${1##*/}
	local -a folders=("$guest_core"/*/"$name")
	[[ -d ${folders[0]} ]] || fail "there is no backstore $name"
	((${#folders[@]} == 1)) || fail "more than one backstore is called $name"
	printf '%s\n' "${folders[0]}"
}

# lun_attach BACKSTORE [TARGET [NUMBER]]: makes it a SCSI disk through tcm_loop and prints its
# device, /dev/sdX. Each LUN gets a target of its own unless TARGET (naa.…) names one.
lun_attach() {
	local backstore target lun link
	backstore=$(backstore_folder "$1")
	target=$(loopback_target "${2:-}")
	lun=$target/lun/lun_${3:-$(next_lun "$target")}
	mkdir "$lun" || fail "tcm_loop refuses $lun"
	link=$lun/${backstore##*/}
	ln -s "$backstore" "$link" || fail "tcm_loop refuses $backstore as a LUN"
	wait_until "the disk of $1 appears" lun_disk "$lun" >/dev/null
	lun_disk "$lun"
}

# loopback_target [naa.…]: prints the configfs folder of its portal group, which it creates.
loopback_target() {
	local name=${1:-} folder
	[[ -n $name ]] || name=$(unused_target_name)
	modprobe -a tcm_loop sd_mod sg
	folder=$guest_loopback/$name/tpgt_1
	if [[ ! -d $folder ]]; then
		mkdir -p "$folder" || fail "tcm_loop refuses the target $name"
		printf '%s' "${name/5001405/5001406}" >"$folder/nexus"
	fi
	printf '%s\n' "$folder"
}

unused_target_name() {
	local number=1 name
	while
		printf -v name 'naa.5001405%09x' "$number"
		[[ -d $guest_loopback/$name ]]
	do
		number=$((number + 1))
	done
	printf '%s\n' "$name"
}

next_lun() {
	local number=0
	while [[ -d $1/lun/lun_$number ]]; do
		number=$((number + 1))
	done
	printf '%s\n' "$number"
}

# lun_scsi_folder LUN: the sysfs folder of the SCSI device behind a LUN's configfs folder.
lun_scsi_folder() {
	local address
	read -r address <"${1%/lun/*}/address"
	printf '/sys/bus/scsi/devices/%s:%s\n' "$address" "${1##*_}"
}

lun_disk() {
	local -a disks
	disks=("$(lun_scsi_folder "$1")"/block/sd*)
	[[ -b /dev/${disks[0]##*/} ]] || return 1
	printf '/dev/%s\n' "${disks[0]##*/}"
}

# luns_of BACKSTORE: prints the configfs folders of the tcm_loop LUNs it is attached as.
# targetcli names the link to the backstore after nothing, lun_attach after the backstore.
luns_of() {
	local folder link
	folder=$(backstore_folder "$1")
	for link in "$guest_loopback"/naa.*/tpgt_1/lun/lun_*/*; do
		[[ ! -L $link || ! $link -ef $folder ]] || printf '%s\n' "${link%/*}"
	done
}

# lun_device BACKSTORE: prints the device of an attached LUN.
lun_device() {
	local -a luns
	mapfile -t luns < <(luns_of "$1")
	((${#luns[@]} == 1)) || fail "$1 is attached ${#luns[@]} times"
	lun_disk "${luns[0]}" || fail "$1 has no disk"
}

# lun_detach BACKSTORE: takes its disks away, and targets left without a LUN.
lun_detach() {
	local lun target
	for lun in $(luns_of "$1"); do
		target=${lun%/lun/*}
		find "$lun" -maxdepth 1 -type l -delete
		rmdir "$lun"
		compgen -G "$target/lun/lun_*" >/dev/null || rmdir "$target" "${target%/tpgt_1}"
	done
}

# lun_delete BACKSTORE: detaches and deletes it through configfs, as targetcli's delete does.
lun_delete() {
	local folder
	lun_detach "$1"
	folder=$(backstore_folder "$1")
	rmdir "$folder" || fail "cannot delete the backstore $1"
	rmdir "${folder%/*}" 2>/dev/null || true
}

# scsi_device_ready DEVICE: whether TEST UNIT READY succeeds.
scsi_device_ready() {
	sg_turs "$1" >/dev/null 2>&1
}
