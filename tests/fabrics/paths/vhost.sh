# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # lib.sh sets and uses what is common
# The path through vhost-scsi: what a virtual machine's driver would do, a program of this folder
# does.

path_target=naa.5001405000000001
vhost_program=$TCMU_EXT_BUILD/tests/fabrics/vhost-scsi-initiator

path_up() {
	modprobe vhost_scsi
}

path_export() {
	targetcli_quietly <<-END
		/vhost create $path_target
		/vhost/$path_target/tpg1/luns create $(backstore_path "$1") $path_lun_number
	END
	path_find
}

path_lun() {
	printf '%s/vhost/%s/tpgt_1/lun/lun_%s\n' "$path_configfs" "$path_target" "$path_lun_number"
}

vhost_initiator() {
	"$vhost_program" --lun "$path_lun_number" "$@" "$path_target"
}

path_find() {
	path_device=
	wait_until "the LUN can be used; targetcli said: $(<"$guest_state/targetcli")" vhost_lun_is_ready
}

vhost_lun_is_ready() {
	vhost_initiator --command "00 00 00 00 00 00" >/dev/null 2>&1
}

# The program asks for the LUN's size anew each time it starts.
path_forget() {
	:
}

path_command() {
	local said
	local -a words=()
	while (($# > 1)); do
		words+=("$1" "$2") && shift 2
	done
	said=$(vhost_initiator --transfer 1048576 --depth 1 ${words[@]+"${words[@]}"} --command "$1" \
		2>&1 >"$path_data") || [[ $said == *sense* ]] || fail "vhost-scsi-initiator: $said"
	case $said in
	*"status 00"*) path_outcome=good ;;
	*) path_outcome=${said##*sense } ;;
	esac
}

# path_round [OPTION…]
# shellcheck disable=SC2120 # only the test of this path gives options
path_round() {
	vhost_initiator --queues 2 --depth 16 --region 8388608 --verify --read-percent 50 \
		--requests 4096 "$@" >"$path_report" 2>"$path_report.output"
}
