# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # lib.sh sets and uses what is common
# The path through iSCSI on the loopback address: the kernel's target and open-iscsi, whose
# initiator is in the kernel too.

path_target=iqn.2003-01.org.linux-iscsi.guest:lun
path_initiator=iqn.1993-08.org.debian:01:guest
path_portal=127.0.0.1:3260

path_up() {
	modprobe -a iscsi_target_mod iscsi_tcp sd_mod sg
	mkdir -p /run/lock/iscsi
	printf 'InitiatorName=%s\n' "$path_initiator" >/run/initiatorname.iscsi
	iscsid --foreground --initiatorname=/run/initiatorname.iscsi </dev/null >/var/log/iscsid.log 2>&1 &
	disown "$!"
	wait_until "iscsid listens" iscsid_listens
}

iscsid_listens() {
	grep -q @ISCSIADM_ABSTRACT_NAMESPACE /proc/net/unix
}

# Any initiator may log in, without a password, and write.
path_export() {
	targetcli_quietly <<-END
		/iscsi create $path_target
		/iscsi/$path_target/tpg1/luns create $(backstore_path "$1") $path_lun_number
		/iscsi/$path_target/tpg1 set attribute authentication=0 generate_node_acls=1 demo_mode_write_protect=0
	END
	iscsiadm -m discovery -t sendtargets -p "$path_portal" >/dev/null ||
		fail "nothing is found at $path_portal; targetcli said: $(<"$guest_state/targetcli")"
	iscsiadm -m node -T "$path_target" -p "$path_portal" --login >/dev/null ||
		fail "cannot log in to $path_target"
	path_find
}

path_lun() {
	printf '%s/iscsi/%s/tpgt_1/lun/lun_%s\n' "$path_configfs" "$path_target" "$path_lun_number"
}

path_find() {
	iscsiadm -m session --rescan >/dev/null
	wait_for_disk disk_below "$(echo /sys/class/iscsi_session/session*)/device"
}
