# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# What every path is put through; docs/fabrics.md has the table.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$TCMU_EXT_SOURCE/tests/fabrics/lib.sh"

readonly lun_name=disk lun_file=$path_files/disk lun_mib=64

check_create() {
	note "$path_name: create"
	truncate -s "${lun_mib}M" "$lun_file"
	lun_create file "$lun_name" "${lun_mib}M" "$lun_file" >/dev/null
	path_export "$lun_name"
	expect_equal "the capacity in blocks" $((lun_mib * 2048)) "$(capacity)"
}

check_verified_io() {
	note "$path_name: verified I/O"
	path_round || fail "the load failed: $(path_load_says)"
}

check_data_reaches_file() {
	note "$path_name: what is written is in the file, and the other way round"
	head -c 65536 /dev/urandom >"$guest_state/written"
	write_blocks "$guest_state/written" 2048
	cmp -n 65536 -i 0:1048576 "$guest_state/written" "$lun_file" || fail "the file has other data"
	head -c 65536 /dev/urandom >"$guest_state/written"
	dd if="$guest_state/written" of="$lun_file" bs=64k seek=20 conv=notrunc status=none
	read_blocks 2560 128
	cmp "$guest_state/written" "$path_data" || fail "the file's data was not read"
}

check_unmap() {
	local before
	note "$path_name: unmap"
	head -c 524288 /dev/urandom >"$guest_state/written"
	write_blocks "$guest_state/written" 4096
	before=$(stat -c %b "$lun_file")
	# One descriptor: 1024 blocks from block 4096.
	printf '\0\x16\0\x10\0\0\0\0\0\0\0\0\0\0\x10\0\0\0\x04\0\0\0\0\0' >"$guest_state/parameters"
	path_command_settled --data-out "$guest_state/parameters" "42 00 00 00 00 00 00 00 18 00"
	expect_good "UNMAP"
	read_blocks 4096 1024
	cmp -s -n 524288 "$path_data" /dev/zero || fail "unmapped blocks do not read as zeros"
	expect_equal "blocks of the file that were given back" 1024 $((before - $(stat -c %b "$lun_file")))
}

check_compare_and_write() {
	note "$path_name: compare and write"
	local compare_and_write="89 00 00 00 00 00 00 00 18 00 00 00 00 01 00 00"
	head -c 512 /dev/urandom >"$guest_state/old"
	head -c 512 /dev/urandom >"$guest_state/new"
	write_blocks "$guest_state/old" 6144
	cat "$guest_state/old" "$guest_state/new" >"$guest_state/parameters"
	path_command --data-out "$guest_state/parameters" "$compare_and_write"
	expect_good "COMPARE AND WRITE"
	read_blocks 6144 1
	cmp "$guest_state/new" "$path_data" || fail "COMPARE AND WRITE did not write"
	path_command --data-out "$guest_state/parameters" "$compare_and_write"
	expect_equal "COMPARE AND WRITE with other data" 0e/1d/00 "$path_outcome"
	read_blocks 6144 1
	cmp "$guest_state/new" "$path_data" || fail "a failed COMPARE AND WRITE wrote"
}

check_grow() {
	note "$path_name: grow"
	local mib=$((lun_mib + 32))
	truncate -s "${mib}M" "$lun_file"
	printf '%s' $((mib << 20)) >"$(backstore_folder "$lun_name")/attrib/dev_size"
	expect_equal "the capacity after growing" $((mib * 2048)) "$(capacity)"
	head -c 4096 /dev/urandom >"$guest_state/written"
	write_blocks "$guest_state/written" $((mib * 2048 - 8))
	[[ -z $path_device ]] || check_disk_grew "$mib"
}

check_disk_grew() {
	echo 1 >"/sys/block/${path_device##*/}/device/rescan"
	expect_equal "the disk's size after growing" $(($1 << 20)) "$(blockdev --getsize64 "$path_device")"
}

check_remove_under_load() {
	note "$path_name: remove under load"
	path_load_start
	path_remove_lun
	path_load_fails
	path_forget
	path_add_lun "$lun_name"
	path_find
	path_round || fail "the load failed: $(path_load_says)"
}

check_daemon_restart_under_load() {
	note "$path_name: daemon killed and restarted under load"
	path_load_start
	runner_kill
	runner_start
	path_load_goes_on 300
	runner_kill
	runner_start
	path_load_goes_on 300
	path_load_succeeds
}

check_everything() {
	check_create
	check_verified_io
	check_data_reaches_file
	check_unmap
	check_compare_and_write
	check_grow
	check_remove_under_load
	check_daemon_restart_under_load
}
