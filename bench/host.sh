# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash disable=SC2154 # bench_folder, build, plan_for …: run-bench
# Measuring on this machine itself instead of in a guest. Sourced by run-bench.

# host_refuse_used_machine: only where nothing can be disturbed.
host_refuse_used_machine() {
	((EUID == 0)) || vm_die "measuring on this machine needs root"
	! pidof -q tcmu-runner ||
		vm_die "tcmu-runner is running here; stop it first (systemctl stop tcmu-runner)"
	! compgen -G '/sys/kernel/config/target/loopback/naa.*' >/dev/null ||
		vm_die "tcm_loop has targets here; remove them first (targetcli clearconfig)"
	[[ $(cat /sys/devices/system/cpu/possible) == 0-* ]] ||
		vm_die "only one processor is possible here, so the completion path cannot be seen"
}

host_in_use() {
	local name numbers
	name=$(basename "$(realpath "$1")")
	read -r numbers <"/sys/class/block/$name/dev"
	awk -v "dev=$numbers" '$3 == dev { found = 1 } END { exit !found }' /proc/self/mountinfo ||
		grep -q "^$(realpath "$1") " /proc/swaps ||
		compgen -G "/sys/class/block/$name/holders/*" >/dev/null ||
		compgen -G "/sys/class/block/$name/$name*/partition" >/dev/null
}

# host_refuse_data DEVICE: a signature is found soon; that there is no data at all takes reading
# everything.
host_refuse_data() {
	[[ -b $1 ]] || vm_die "$1 is no block device"
	! host_in_use "$1" || vm_die "$1 is in use: mounted, a swap area, partitioned or part of another device"
	[[ -z $(wipefs --no-act "$1") ]] || vm_die "$1 holds data: $(wipefs --no-act --noheadings "$1" | head -n 1)"
	vm_say "reading all of $1 to see that it holds no data"
	cmp --quiet --bytes="$(blockdev --getsize64 "$1")" "$1" /dev/zero ||
		vm_die "$1 holds data; nothing was written. If it may go: blkdiscard --zeroout $1"
}

host_describe() {
	printf '%s %s\n' kernel "$(uname -r | cut -d . -f 1,2)" module stock clock host \
		kernel_package "$(uname -rv)" \
		device "$(lsblk --nodeps --noheadings --output MODEL,SIZE "$1" | xargs)"
	describe_common
}

# measure_on_host DEVICE FOLDER: the device's beginning is written to and zeroed again.
measure_on_host() {
	local device=$1 folder=$2
	host_refuse_used_machine
	host_refuse_data "$device"
	mkdir -p "$folder/home"
	plan_for stock >"$folder/plan"
	host_describe "$device" >"$folder/description"
	HOME=$folder/home TCMU_EXT_SOURCE=$vm_source TCMU_EXT_BUILD=$build \
		TCMU_EXT_RESULTS=$folder TCMU_EXT_INSTRUCTION_CLOCK=no TCMU_EXT_BENCH_DEVICE=$device \
		interruptible "$bench_folder/guest/measure" stock 2>&1 | tee "$folder/progress.log" >&2
}
