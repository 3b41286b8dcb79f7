# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash disable=SC2034 # what paths/ and the tests use
# What the tests of the paths to a LUN share:  source "$TCMU_EXT_SOURCE/tests/fabrics/lib.sh"
# As in guest-lib.sh, functions end the test through fail() when something does not work.
#
# A path is a target fabric together with an initiator for it. paths/NAME.sh has what differs:
#
#     path_up                 loads modules, makes links and starts daemons
#     path_export BACKSTORE   exports it with targetcli as LUN 1 and waits until it can be used
#     path_lun                prints the configfs folder of that LUN
#     path_find               waits until the initiator has the LUN, and sets $path_device
#     path_forget             makes the initiator forget a LUN that was removed
#
# A path whose initiator is not the kernel's leaves $path_device empty and has a path_command and a
# path_round of its own.
# shellcheck source-path=SCRIPTDIR source=../vm/guest-lib.sh
source "$TCMU_EXT_SOURCE/tests/vm/guest-lib.sh"

path_configfs=/sys/kernel/config/target
path_device=
path_name=

# Not 0: where a target has no LUN 0 the kernel shows an empty one, from which the first blocks can
# be read. A LUN with another number is gone when it is gone.
path_lun_number=1

# Where the backing files are: a tmpfs of their own.
path_files=/srv/files

# path_use NAME: chooses the path.
path_use() {
	path_name=$1
	# shellcheck source=/dev/null
	source "$TCMU_EXT_SOURCE/tests/fabrics/paths/$1.sh"
}

# path_start NAME: what every test begins with.
path_start() {
	path_use "$1"
	mkdir -p "$path_files"
	mount -t tmpfs -o size=640M,mode=755 tmpfs "$path_files"
	stack_start
	path_up
}

# backstore_path BACKSTORE: prints its path in targetcli, as /backstores/user:file/NAME.
backstore_path() {
	local folder kind
	folder=$(backstore_folder "$1")
	kind=${folder%/*}
	kind=${kind##*/}
	case $kind in
	user_*) printf '/backstores/user:%s/%s\n' "$(sed -n 's|.*Config: \([^/]*\)/.*|\1|p' "$folder/info")" "$1" ;;
	fileio_*) printf '/backstores/fileio/%s\n' "$1" ;;
	*) fail "not prepared for a backstore of kind $kind" ;;
	esac
}

# targetcli_quietly <<END: as targetcli_batch; shows what was said only if path_find fails later.
targetcli_quietly() {
	targetcli_batch >"$guest_state/targetcli" 2>&1
}

# wait_for_disk COMMAND…: waits until COMMAND prints a device that is ready, and sets $path_device.
wait_for_disk() {
	wait_until "the disk appears; targetcli said: $(<"$guest_state/targetcli")" disk_is_ready "$@"
	path_device=$("$@")
}

disk_is_ready() {
	local device
	device=$("$@" 2>/dev/null) && [[ -b $device ]] && scsi_device_ready "$device"
}

# The disk among the devices of a SCSI host or target, given its folder in sysfs.
disk_below() {
	local -a disks
	mapfile -t disks < <(find "$1/" -maxdepth 5 -path '*/block/sd*' -name 'sd*' 2>/dev/null)
	((${#disks[@]} == 1)) || return 1
	printf '/dev/%s\n' "${disks[0]##*/}"
}

# path_forget, as most initiators need it: they keep the disk until told.
path_forget() {
	[[ ! -e /sys/block/${path_device##*/}/device/delete ]] ||
		echo 1 >"/sys/block/${path_device##*/}/device/delete"
}

# path_remove_lun, path_add_lun BACKSTORE: takes the LUN out of the target, and puts it back.
path_remove_lun() {
	local lun
	lun=$(path_lun)
	find "$lun" -maxdepth 1 -type l -delete
	rmdir "$lun" || fail "cannot remove $lun"
}

path_add_lun() {
	local lun
	lun=$(path_lun)
	mkdir "$lun"
	ln -s "$(backstore_folder "$1")" "$lun/$1" || fail "cannot add $1 as $lun"
}

# --- commands --------------------------------------------------------------------------------

path_data=$guest_state/path-data

# path_command [--data-in BYTES | --data-out FILE] CDB: sends one command, the CDB in hexadecimal.
# Sets path_outcome to "good" or to KEY/CODE/QUALIFIER; data arrives in the file $path_data.
path_command() {
	local output
	local -a data=() cdb
	case $1 in
	--data-in) data=(-r "$2" -o "$path_data") && shift 2 ;;
	--data-out) data=(-s "$(stat -c %s "$2")" -i "$2") && shift 2 ;;
	esac
	read -r -a cdb <<<"$1"
	output=$(sg_raw -v -t 60 ${data[@]+"${data[@]}"} "$path_device" "${cdb[@]}" 2>&1) || true
	case $output in
	*'SCSI Status: Good'*) path_outcome=good ;;
	*) path_outcome=$(sense_of_sg_raw "$output") ;;
	esac
}

# The first bytes of the sense data that sg_raw shows, in either format.
sense_of_sg_raw() {
	local -a byte
	read -r -a byte < <(sed -n '/Raw sense data/,/^$/{/Raw/d;s/^[0-9a-f]* *//;p}' <<<"$1" | tr '\n' ' ')
	case ${byte[0]:-} in
	*[23]) printf '%02x/%s/%s\n' $((0x${byte[1]} & 15)) "${byte[2]}" "${byte[3]}" ;;
	*[01]) printf '%02x/%s/%s\n' $((0x${byte[2]} & 15)) "${byte[12]}" "${byte[13]}" ;;
	*) printf '%s\n' "$1" ;;
	esac
}

# path_command_settled …: the same, after unit attentions that earlier steps caused.
path_command_settled() {
	local tries
	for ((tries = 0; tries < 10; tries++)); do
		path_command "$@"
		[[ $path_outcome == 06/* ]] || break
	done
}

# hex NUMBER BYTES: big-endian, with spaces.
hex() {
	printf "%0$(($2 * 2))x" "$1" | sed 's/../& /g'
}

# write_blocks FILE FIRST, read_blocks FIRST COUNT (into $path_data): 512-byte blocks, one command.
write_blocks() {
	path_command_settled --data-out "$1" "2a 00 $(hex "$2" 4) 00 $(hex $(($(stat -c %s "$1") / 512)) 2) 00"
	expect_good "WRITE of block $2"
}

read_blocks() {
	path_command_settled --data-in $(($2 * 512)) "28 00 $(hex "$1" 4) 00 $(hex "$2" 2) 00"
	expect_good "READ of block $1"
}

expect_good() {
	[[ $path_outcome == good ]] || fail "$1 failed: $path_outcome"
}

# capacity: prints the number of blocks the initiator is told.
capacity() {
	path_command_settled --data-in 32 "9e 10 00 00 00 00 00 00 00 00 00 00 00 20 00 00"
	expect_good "READ CAPACITY"
	printf '%d\n' $((0x$(od -An -v -tx1 -N 8 "$path_data" | tr -d ' \n') + 1))
}

# --- load ------------------------------------------------------------------------------------

path_report=$TCMU_EXT_RESULTS/load
path_load_end=$guest_state/load-end

# path_round: verified I/O over 8 MiB.
path_round() {
	fio --name=load --filename="$path_device" --allow_file_create=0 --ioengine=libaio --direct=1 \
		--iodepth=16 --bs=4k --size=8M --rw=randwrite --verify=crc32c --verify_fatal=1 \
		--verify_state_save=0 --loops=2 --output="$path_report" >"$path_report.output" 2>&1
}

path_rounds() {
	while path_round; do
		[[ ! -e $path_load_end ]] || return 0
	done
	return 1
}

# path_load_start: begins verified I/O in the background; returns when it is well on its way.
path_load_start() {
	rm -f "$path_report"* "$path_load_end"
	path_rounds </dev/null &
	path_load=$!
	path_load_goes_on 200
}

# Commands that reached the LUN, by the target's own count.
path_commands() {
	cat "$(path_lun)/statistics/scsi_tgt_port/in_cmds"
}

# path_load_goes_on COMMANDS: waits until so many more of them reached the LUN.
path_load_goes_on() {
	local from
	from=$(path_commands)
	wait_until "the load goes on; there were $from commands" path_load_past $((from + $1))
	! process_gone "$path_load" || fail "the load ended: $(path_load_says)"
}

path_load_past() {
	process_gone "$path_load" || (($(path_commands) >= $1))
}

path_load_says() {
	local file
	for file in "$path_report"*; do
		tail -n 30 -- "$file"
	done
}

# path_load_succeeds: lets the load end, which must have found every block as written.
path_load_succeeds() {
	touch "$path_load_end"
	wait "$path_load" || fail "the load failed: $(path_load_says)"
}

# path_load_fails: waits for the load, which must have ended with an error and not with wrong data.
path_load_fails() {
	if wait "$path_load"; then
		fail "the load never noticed"
	fi
	! path_load_says | grep -q -e verify: -e 'wrong data' || fail "wrong data: $(path_load_says)"
}
