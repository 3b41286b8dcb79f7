# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # lib.sh sets and uses what is common
# The path through tcm_loop: initiator and target in one module, no wire between them.

path_target=naa.5001405000000001

path_up() {
	modprobe -a tcm_loop sd_mod sg
}

path_export() {
	targetcli_quietly <<-END
		/loopback create $path_target
		/loopback/$path_target/luns create $(backstore_path "$1") $path_lun_number
	END
	path_find
}

path_lun() {
	printf '%s\n' "$guest_loopback/$path_target/tpgt_1/lun/lun_$path_lun_number"
}

path_find() {
	wait_for_disk lun_disk "$(path_lun)"
}
