# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash disable=SC2154 # guest_core: guest-lib.sh
# The backstores that are compared, each made straight through configfs: targetcli takes seconds
# under emulation. Sourced after guest-lib.sh.
#
# Each backstore is called "bench" and is made only while it is measured, so that nothing of
# another one is in the way and the same block device can serve two of them in turn.

bench_size_mib=${TCMU_EXT_BENCH_SIZE_MIB:-64}
bench_size_bytes=$((bench_size_mib << 20))
bench_media=/run/tcmu-ext-bench
bench_file=$bench_media/image
bench_block=${TCMU_EXT_BENCH_DEVICE:-/dev/ram0}

# More words for the control file, as "hw_max_sectors=2048"; and attributes to set, NAME=VALUE.
bench_control=()
bench_attributes=()
# More options for the configuration strings of our own handlers, as "cache=none".
bench_options=

# What the backstores keep their data in: a file in memory and a memory disk, with every page there;
# on a real machine the device that was given instead of the memory disk.
bench_make_media() {
	mkdir -p "$bench_media"
	mount -t tmpfs -o "size=$((bench_size_mib + 16))M" tmpfs "$bench_media"
	dd if=/dev/zero of="$bench_file" bs=1M count="$bench_size_mib" status=none
	if [[ -z ${TCMU_EXT_BENCH_DEVICE:-} ]]; then
		modprobe brd rd_nr=1 rd_size=$((bench_size_bytes / 1024))
		wait_until "the memory disk appears" test -b "$bench_block"
	fi
	bench_zero_block
}

bench_zero_block() {
	dd if=/dev/zero of="$bench_block" bs=1M count="$bench_size_mib" oflag=direct status=none
}

# bench_module_of BACKSTORE: prints the kernel module it needs.
bench_module_of() {
	case $1 in
	user:*) echo target_core_user ;;
	lio:fileio) echo target_core_file ;;
	lio:block) echo target_core_iblock ;;
	lio:ramdisk) echo target_core_mod ;;
	*) fail "there is no backstore $1" ;;
	esac
}

bench_hba_of() {
	case $1 in
	user:*) echo user_0 ;;
	lio:fileio) echo fileio_0 ;;
	lio:block) echo iblock_0 ;;
	lio:ramdisk) echo rd_mcp_0 ;;
	esac
}

# bench_control_of BACKSTORE: prints what its control file is told.
bench_control_of() {
	case $1 in
	user:file | user:block | user:null)
		printf 'dev_config=%s/%s%s,dev_size=%s\n' "${1#user:}" "$(bench_path_of "$1")" \
			"${bench_options:+;$bench_options}" "$bench_size_bytes"
		;;
	user:*) printf 'dev_config=%s/%s,dev_size=%s\n' "${1#user:}" "$bench_file" "$bench_size_bytes" ;;
	lio:fileio)
		printf 'fd_dev_name=%s,fd_dev_size=%s,fd_buffered_io=1\n' "$bench_file" "$bench_size_bytes"
		;;
	lio:block) printf 'udev_path=%s\n' "$bench_block" ;;
	lio:ramdisk) printf 'rd_pages=%s\n' $((bench_size_bytes / 4096)) ;;
	esac
}

bench_path_of() {
	case $1 in
	user:file) echo "$bench_file" ;;
	user:block) echo "$bench_block" ;;
	user:null) echo nothing ;;
	esac
}

# bench_create BACKSTORE: makes it and its disk, and prints the disk's device.
bench_create() {
	local folder setting
	modprobe "$(bench_module_of "$1")"
	folder=$guest_core/$(bench_hba_of "$1")/bench
	mkdir -p "$folder"
	printf '%s' "$(bench_control_of "$1")" >"$folder/control"
	for setting in ${bench_control[@]+"${bench_control[@]}"}; do
		[[ $1 != user:* ]] || printf '%s' "$setting" >"$folder/control"
	done
	printf 'bench' >"$folder/wwn/vpd_unit_serial"
	printf 1 >"$folder/enable" || fail "$1 cannot be enabled: $(tail -n 5 /var/log/tcmu-runner.log)"
	for setting in ${bench_attributes[@]+"${bench_attributes[@]}"}; do
		printf '%s' "${setting#*=}" >"$folder/attrib/${setting%%=*}"
	done
	lun_attach bench
}

bench_remove() {
	lun_delete bench
}
