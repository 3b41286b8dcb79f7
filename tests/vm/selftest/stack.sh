#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# In the guest: guest-lib.sh runs the packaged stack, with LUNs of tcmu-runner's qcow handler and of
# the kernel's file backstore.
# shellcheck source-path=SCRIPTDIR source=../guest-lib.sh
source "$TCMU_EXT_SOURCE/tests/vm/guest-lib.sh"

read_and_verify() {
	fio --name=verify --filename="$1" --rw=randwrite --bs=4k --size=2m --iodepth=32 --ioengine=libaio \
		--direct=1 --verify=crc32c --verify_fatal=1 --output="$TCMU_EXT_RESULTS/fio.log" ||
		fail "fio: $(cat "$TCMU_EXT_RESULTS/fio.log")"
}

note "start"
stack_start
truncate -s 64M /tmp/qcow /tmp/fileio

note "a LUN of each backstore"
lun_create qcow first 64M /tmp/qcow
first=$(lun_attach first)
fileio_create second /tmp/fileio 64M
second=$(lun_attach second)
[[ $first != "$second" && -b $first && -b $second ]] || fail "$first and $second are no two disks"
[[ $(lun_device first) == "$first" ]] || fail "lun_device does not know $first"
scsi_device_ready "$first" || fail "$first is not ready"
[[ $(blockdev --getsize64 "$first") == 67108864 ]] || fail "$first has another size"
read_and_verify "$first"
read_and_verify "$second"
[[ $(<"/proc/$(ring_thread_of first)/comm") == cmdproc-uio0 ]] || fail "not the ring's thread"

note "refusals"
expect_refused "creation failed" lun_create qcow third 64M /missing/folder
expect_refused "cannot enable" lun_create_directly qcow third 67108864 /missing/folder
[[ ! -d $(echo "$guest_core"/*/third) ]] || fail "a refused LUN is left"

note "a LUN beside the first, in its target, made without targetcli"
truncate -s 32M /tmp/third
lun_create_directly qcow third 33554432 /tmp/third hw_max_sectors=2048 wwn=selftest
third=$(lun_attach third naa.5001405000000001)
[[ $third != "$first" ]] || fail "two LUNs are one disk"
[[ $(sg_vpd --page=sn "$third") == *selftest* ]] || fail "$third has another serial number"

note "the runner dies and comes back"
old=$(runner_pid)
runner_kill
runner_start
[[ $(runner_pid) != "$old" ]] || fail "the same runner"
ring_thread_of first >/dev/null
read_and_verify "$first"

note "the end"
for lun in first second third; do
	lun_delete "$lun"
done
[[ ! -e $first && ! -e $third ]] || fail "disks are left"
[[ -z $(find "$guest_core" "$guest_loopback" -mindepth 1 -maxdepth 1 \
	-name 'user_*' -o -name 'naa.*') ]] || fail "something is left in configfs"
stack_stop
