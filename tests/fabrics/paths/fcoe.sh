# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # lib.sh sets and uses what is common
# The path through Fibre Channel over Ethernet without hardware: two ends of a veth pair, each a
# port of libfc, find each other without a switch (VN2VN mode). One is the target's, tcm_fc; the
# other the initiator's, fcoe.

# shellcheck disable=SC2034 # for those who source this
path_target_link=fcoe-target
path_initiator_link=fcoe-initiator
path_create_port=/sys/module/libfcoe/parameters/create_vn2vn

path_up() {
	local link
	modprobe -a veth sch_netem libfcoe fcoe sd_mod sg
	fcoe_load_target
	ip link add "$path_target_link" type veth peer name "$path_initiator_link"
	for link in "$path_target_link" "$path_initiator_link"; do
		# A Fibre Channel frame is up to 2148 bytes.
		ip link set "$link" mtu 2500 up
	done
	printf '%s' "$path_target_link" >"$path_create_port"
}

# The kernel's own tcm_fc, or the one with the patch of tests/kernel-modules if the host built that.
fcoe_load_target() {
	local patched=${TCMU_EXT_KERNEL_MODULES:-}/aborts/tcm_fc.ko
	if [[ -e $patched ]]; then
		modprobe -a target_core_mod libfc
		insmod "$patched" || fail "the patched tcm_fc does not load"
	else
		modprobe tcm_fc
	fi
}

# fc_name LINK: the name of the port on a link: 2000 and the link's address.
fc_name() {
	printf '2000%s\n' "$(tr -d : <"/sys/class/net/$1/address")"
}

# fc_host LINK: the sysfs folder of the port on a link.
fc_host() {
	local host
	for host in /sys/class/fc_host/host*; do
		if [[ $(<"$host/port_name") == "0x$(fc_name "$1")" ]]; then
			printf '%s\n' "$host"
			return
		fi
	done
	fail "no Fibre Channel port belongs to $1"
}

# The initiator's port comes last: one that logs in before there is a target takes the other end
# for a port without one, and looks no more.
path_export() {
	local target initiator
	target=naa.$(fc_name "$path_target_link")
	initiator=naa.$(fc_name "$path_initiator_link")
	targetcli_quietly <<-END
		/tcm_fc create $target
		/tcm_fc/$target/luns create $(backstore_path "$1") $path_lun_number
		/tcm_fc/$target/acls create $initiator
	END
	fcoe_create_undisturbed "$path_initiator_link" "$path_target_link"
	path_find
}

# fcoe_create_undisturbed LINK OTHER-END: a frame that arrives while a port is being made may meet one
# without its libfc half, and the kernel then reads through a null pointer (fcoe_ctlr_vn_recv()).
fcoe_create_undisturbed() {
	tc qdisc add dev "$2" root netem loss 100%
	printf '%s' "$1" >"$path_create_port"
	tc qdisc del dev "$2" root
}

path_portal_group() {
	printf '%s/fc/%s/tpgt_1\n' "$path_configfs" "$(colons "$path_target_link")"
}

# Names in tcm_fc's folders have a colon between any two bytes.
colons() {
	fc_name "$1" | sed 's/../&:/g; s/:$//'
}

path_lun() {
	printf '%s/lun/lun_%s\n' "$(path_portal_group)" "$path_lun_number"
}

path_find() {
	local scsi_host
	scsi_host=/sys/class/scsi_host/$(basename "$(fc_host "$path_initiator_link")")
	echo '- - -' >"$scsi_host/scan"
	wait_for_disk disk_below "$scsi_host/device"
}

# remote_port_is STATE: whether the initiator's port sees the target's in that state.
remote_port_is() {
	local port
	for port in /sys/class/fc_remote_ports/rport-*; do
		if [[ $(<"$port/roles") == *Target* && $(<"$port/port_state") == "$1" ]]; then
			return 0
		fi
	done
	return 1
}

# The LUN is mapped for the one initiator that may use it.
path_mapping() {
	printf '%s/acls/%s/lun_%s\n' "$(path_portal_group)" "$(colons "$path_initiator_link")" \
		"$path_lun_number"
}

path_remove_lun() {
	local folder
	for folder in "$(path_mapping)" "$(path_lun)"; do
		find "$folder" -maxdepth 1 -type l -delete
		rmdir "$folder" || fail "cannot remove $folder"
	done
}

path_add_lun() {
	local lun mapping
	lun=$(path_lun)
	mapping=$(path_mapping)
	mkdir "$lun"
	ln -s "$(backstore_folder "$1")" "$lun/$1" || fail "cannot add $1 as $lun"
	mkdir "$mapping"
	ln -s "$lun" "$mapping/lun" || fail "cannot map $lun"
}
