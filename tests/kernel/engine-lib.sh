# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# What the tests of the engine share:  source "$TCMU_EXT_SOURCE/tests/kernel/engine-lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$TCMU_EXT_SOURCE/tests/kernel/lib.sh"

stress=$TCMU_EXT_BUILD/tests/stress

# sg_device_of DISK
sg_device_of() {
	find_sg_device "$1"
	printf '%s\n' "$sg_device"
}

# busy_or_over DEVICE PROCESS: several transfers are under way, or nothing will bring them any more.
busy_or_over() {
	process_gone "$2" || (($(in_flight "$1") >= 4))
}

# expect_busy DEVICE PROCESS
expect_busy() {
	wait_until "transfers of $1 are under way" busy_or_over "$1" "$2"
	! process_gone "$2" || fail "the load on $1 has ended: $(cat /tmp/load-*)"
}

# --- devices that take their time ------------------------------------------------------------

# sectors_of DEVICE
sectors_of() {
	blockdev --getsz "$1"
}

# slow_device NAME BACKING MILLISECONDS: /dev/mapper/NAME, on which each transfer takes that long.
# dm-delay counts a transfer as under way only after the delay, so that there is another above it.
slow_device() {
	modprobe dm-delay
	dmsetup create "$1-delay" --table "0 $(sectors_of "$2") delay $2 0 $3"
	dmsetup create "$1" --table "0 $(sectors_of "$2") linear /dev/mapper/$1-delay 0"
}

# stopped_device NAME BACKING: /dev/mapper/NAME; device_stop and device_go hold up its transfers. At most
# two in a test: each has a share of the dirty memory to itself, since the kernel writes at once what
# it is given for a device that has had little to write.
stopped_device() {
	modprobe dm-mod
	dmsetup create "$1" --table "0 $(sectors_of "$2") linear $2 0"
	echo 40 >"/sys/class/bdi/$(number_of "/dev/mapper/$1")/min_ratio"
}

device_stop() {
	dmsetup suspend --noflush --nolockfs "$1"
}

device_go() {
	dmsetup resume "$1"
}

# number_of DEVICE: major and minor number.
number_of() {
	local number
	number=$(stat -c '0x%t:0x%T' "$1")
	printf '%s:%s\n' "$((${number%:*}))" "$((${number#*:}))"
}

# in_flight DEVICE: reads and writes that the block layer has under way.
in_flight() {
	local reads writes
	read -r reads writes <"/sys/dev/block/$(number_of "$1")/inflight"
	printf '%s\n' "$((reads + writes))"
}

# --- LUNs that may take their time -------------------------------------------------------------

# lun_create_unhurried SUBTYPE NAME BYTES CFGSTRING [SECONDS]: the target gives a command up after that
# time; without it, never.
lun_create_unhurried() {
	lun_create_directly "${@:1:4}"
	echo "${5:-0}" >"$(backstore_folder "$2")/attrib/cmd_time_out"
}

# patient DEVICE: nor does the initiator.
patient() {
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
