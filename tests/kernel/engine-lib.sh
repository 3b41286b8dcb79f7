# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# What the tests of the engine share:  source "$TCMU_EXT_SOURCE/tests/kernel/engine-lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$TCMU_EXT_SOURCE/tests/kernel/lib.sh"

# No udev runs in the guest: dmsetup makes its device nodes itself.
export DM_DISABLE_UDEV=1

stress=$TCMU_EXT_BUILD/tests/stress

# --- devices that take their time ------------------------------------------------------------

# sectors_of DEVICE
sectors_of() {
	blockdev --getsz "$1"
}

# slow_device NAME BACKING MILLISECONDS: /dev/mapper/NAME, on which each transfer takes that long.
slow_device() {
	modprobe dm-delay
	dmsetup create "$1" --table "0 $(sectors_of "$2") delay $2 0 $3"
}

# stopped_device NAME BACKING: /dev/mapper/NAME; device_stop and device_go hold up its transfers.
stopped_device() {
	modprobe dm-mod
	dmsetup create "$1" --table "0 $(sectors_of "$2") linear $2 0"
}

device_stop() {
	dmsetup suspend --noflush --nolockfs "$1"
}

device_go() {
	dmsetup resume "$1"
}

# in_flight DEVICE: reads and writes that the block layer has under way.
in_flight() {
	local number reads writes
	number=$(stat -c '0x%t:0x%T' "$1")
	read -r reads writes <"/sys/dev/block/$((${number%:*})):$((${number#*:}))/inflight"
	printf '%s\n' "$((reads + writes))"
}

# deepest DEVICE PROCESS: the most transfers found under way at once until the process has ended.
deepest() {
	local deepest=0 now
	while ! process_gone "$2"; do
		now=$(in_flight "$1")
		((now <= deepest)) || deepest=$now
	done
	printf '%s\n' "$deepest"
}

# --- LUNs without targetcli, which takes seconds for each ------------------------------------

# configfs_create SUBTYPE NAME BYTES CONFIG
configfs_create() {
	local folder=$guest_core/user_77/$2
	mkdir -p "$folder"
	echo -n "dev_config=$1/$4,dev_size=$3" >"$folder/control"
	echo 1 >"$folder/enable" || fail "cannot create $2: $(tail -n 3 "$runner_log")"
}

# patient DEVICE BACKSTORE: neither the target nor the initiator gives a command up.
patient() {
	echo 0 >"$(backstore_folder "$2")/attrib/cmd_time_out" 2>/dev/null || true
	echo 3600 >"/sys/block/${1##*/}/device/timeout"
}

# --- the daemon without io_uring -------------------------------------------------------------

# restart_runner [PREFIX…]: tcmu-runner anew; the PREFIX runs it, for example without io_uring.
restart_runner() {
	stack_stop
	runner_prefix=("$@")
	runner_start
}

without_io_uring() {
	restart_runner "$stress/without-io-uring"
}
