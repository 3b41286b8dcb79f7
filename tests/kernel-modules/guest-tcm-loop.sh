# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash disable=SC2154 # guest_loopback: guest-lib.sh
# Loads one of the two tcm_loop modules inside the guest; sourced after guest-lib.sh. The host has
# built them (tests/kernel-modules/build) and tells the folder in TCMU_EXT_KERNEL_MODULES.

tcm_loop_folder=/sys/module/tcm_loop

# tcm_loop_identity KEY: a value from the file that the build left beside the modules.
tcm_loop_identity() {
	local value
	value=$(sed -n "s/^$1 //p" "$TCMU_EXT_KERNEL_MODULES/identity")
	[[ -n $value ]] || fail "$TCMU_EXT_KERNEL_MODULES/identity does not say $1"
	printf '%s\n' "$value"
}

# The build id of the loaded module: what follows the 16 bytes of the ELF note's header.
tcm_loop_loaded_build_id() {
	od -An -v -tx1 -j 16 "$tcm_loop_folder/notes/.note.gnu.build-id" | tr -d ' \n'
}

# tcm_loop_variant: prints which of the modules is loaded: stock, direct or none.
tcm_loop_variant() {
	local loaded
	[[ -d $tcm_loop_folder ]] || { echo none && return; }
	loaded=$(tcm_loop_loaded_build_id)
	if [[ $loaded == "$(tcm_loop_identity stock_build_id)" ]]; then
		echo stock
	elif [[ $loaded == "$(tcm_loop_identity direct_build_id)" ]]; then
		echo direct
	else
		fail "the loaded tcm_loop is neither the stock nor the direct module"
	fi
}

# The empty configfs folder of the fabric alone keeps the module in use.
tcm_loop_unload() {
	[[ -d $tcm_loop_folder ]] || return 0
	[[ ! -d $guest_loopback ]] || rmdir "$guest_loopback" || fail "tcm_loop still has targets"
	rmmod tcm_loop || fail "tcm_loop cannot be removed"
}

# tcm_loop_load stock|direct [PARAMETER=VALUE…]: replaces the loaded tcm_loop, which nothing may
# use any more. Where no modules were built, the kernel's own is there and cannot be checked.
tcm_loop_load() {
	local variant=$1
	shift
	tcm_loop_unload
	modprobe -a target_core_mod scsi_mod
	case $variant in
	stock) modprobe tcm_loop "$@" || fail "the stock tcm_loop does not load" ;;
	direct)
		insmod "$TCMU_EXT_KERNEL_MODULES/direct/tcm_loop.ko" "$@" ||
			fail "the direct tcm_loop does not load"
		;;
	*) fail "there is no tcm_loop called $variant" ;;
	esac
	[[ -z ${TCMU_EXT_KERNEL_MODULES:-} ]] || [[ $(tcm_loop_variant) == "$variant" ]] || fail "another tcm_loop than $variant is loaded"
}
