# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# What the tests of the completion path share:  source "$TCMU_EXT_SOURCE/tests/completion/lib.sh"
#
# A command's way back is followed by counting calls in the kernel. What each count is for:
#
#     started      tracepoint scsi_dispatch_cmd_start: exact, a command counts again when it is retried
#     finished     tracepoint scsi_dispatch_cmd_done: exact
#     requests     tracepoint block_rq_complete of the disk: exact, once however often it is retried
#     raised       tracepoint softirq_raise of the BLOCK softirq: exact
#     queued       calls of tcm_loop_queuecommand(): also those of SCSI error handling
#     released     calls of tcm_loop_release_cmd(): also those for task management requests
#     softirq_way  calls of scsi_done()            direct_way   calls of scsi_done_direct()
#     completed    calls of scsi_complete()        remote       of blk_mq_complete_request_remote()
#     ring_in      calls of tcmu_queue_cmd()       ring_out     of target_complete_cmd_with_sense()
#     ring_attempts   calls of queue_cmd_ring()    aborts       of tcm_loop_abort_task()
#
# A probe on a function that is reached while another probe is being handled is missed; the kernel
# counts those, and they are added; where a completion ran can then not be told (completed_unseen).
# shellcheck source-path=SCRIPTDIR source=../vm/guest-lib.sh
source "$TCMU_EXT_SOURCE/tests/vm/guest-lib.sh"
# shellcheck source-path=SCRIPTDIR source=../kernel-modules/guest-tcm-loop.sh
source "$TCMU_EXT_SOURCE/tests/kernel-modules/guest-tcm-loop.sh"
# shellcheck source-path=SCRIPTDIR source=histograms.sh
source "$TCMU_EXT_SOURCE/tests/completion/histograms.sh"
# shellcheck source-path=SCRIPTDIR source=../../bench/guest/backstores.sh
source "$TCMU_EXT_SOURCE/bench/guest/backstores.sh"

declare -gA count

# expect WHAT ACTUAL RELATION EXPECTED: an arithmetic comparison.
expect() {
	local relation="$2 $3 $4"
	((relation)) || fail "$1: it is not true that $relation"
	printf 'ok    %s: %s\n' "$1" "$relation"
}

# --- counting ----------------------------------------------------------------------------------

path_start() {
	local probe
	for probe in queued=tcm_loop_queuecommand released=tcm_loop_release_cmd \
		softirq_way=scsi_done direct_way=scsi_done_direct completed=scsi_complete \
		remote=blk_mq_complete_request_remote ipi=__blk_mq_complete_request_remote \
		ring_attempts=queue_cmd_ring aborts=tcm_loop_abort_task; do
		histogram_probe "${probe%%=*}" "${probe#*=}"
	done
	# shellcheck disable=SC2016 # the kernel's own notation
	histogram_probe ring_in tcmu_queue_cmd 'command=$arg1:u64'
	# shellcheck disable=SC2016
	histogram_probe ring_out target_complete_cmd_with_sense 'command=$arg1:u64'
	histogram_start tcmu_ext/ring_in command
	histogram_start tcmu_ext/ring_out common_pid,command
	histogram_start tcmu_ext/completed common_stacktrace
	for probe in queued released softirq_way direct_way remote ipi ring_attempts aborts; do
		histogram_start "tcmu_ext/$probe" common_pid
	done
	histogram_start scsi/scsi_dispatch_cmd_start host_no
	histogram_start scsi/scsi_dispatch_cmd_done host_no
	histogram_start scsi/scsi_dispatch_cmd_timeout host_no
	histogram_start block/block_rq_complete dev
	histogram_start irq/softirq_raise vec
}

# path_stop: puts all counts into the array count and takes the probes away.
path_stop() {
	local ring_thread name value
	ring_thread=$(ring_thread_of bench 2>/dev/null || echo 0)
	count=()
	while read -r name value; do
		count[$name]=$value
	done < <(histograms_read | path_sum "$ring_thread")
	((${#count[@]})) || fail "the counts cannot be read"
	histograms_stop
}

path_sum() {
	awk -v "ring_thread=$1" '
		$1 == "missed" { sum[$3] += $2; missed[$3] += $2; next }
		$1 == "softirq_raise" { sum["raised"] += $3 == 4 ? $2 : 0; next }
		{ sum[$1] += $2 }
		$1 == "completed" && /blk_complete_reqs|blk_done_softirq/ { in_softirq += $2; next }
		$1 == "completed" && /process_one_work/ { in_place += $2 }
		$1 == "ring_in" { pairs[$3] += $2 }
		$1 == "ring_out" { pairs[$4] -= $2 }
		$1 == "ring_out" && $3 == ring_thread { on_ring_thread += $2 }
		function show(name, value) { printf "%s %d\n", name, value }
		END {
			for (command in pairs) unpaired += pairs[command] != 0
			split("queued released softirq_way direct_way completed remote ipi raised " \
				"ring_in ring_out ring_attempts aborts", same)
			for (i in same) show(same[i], sum[same[i]])
			show("started", sum["scsi_dispatch_cmd_start"])
			show("finished", sum["scsi_dispatch_cmd_done"])
			show("timed_out", sum["scsi_dispatch_cmd_timeout"])
			show("requests", sum["block_rq_complete"])
			show("completed_unseen", missed["completed"])
			show("completed_in_softirq", in_softirq)
			show("completed_in_place", in_place)
			show("ring_out_on_ring_thread", on_ring_thread)
			show("ring_unpaired", unpaired)
		}'
}

path_show() {
	local name line=
	for name in $(printf '%s\n' "${!count[@]}" | sort); do
		line+=" $name=${count[$name]}"
	done
	printf '      %s\n' "${line# }"
}

# --- the path ----------------------------------------------------------------------------------

# expect_conserved: nothing was lost or done twice, whatever happened to the commands. A command
# that SCSI error handling took over is finished by that, not by the low-level driver.
expect_conserved() {
	local done_calls=$((count[softirq_way] + count[direct_way]))
	expect "each queued command was given back once" "$done_calls" == "${count[queued]}"
	expect "released, beside task management" "${count[released]}" '>=' "${count[queued]}"
	expect "finished or timed out" $((count[finished] + count[timed_out])) == "${count[started]}"
	expect "completed" "${count[completed]}" == "${count[finished]}"
}

# expect_conserved_exactly: the same where nothing goes wrong: every count is that of the commands.
expect_conserved_exactly() {
	local name
	expect "commands started" "${count[started]}" '>' 0
	for name in queued released finished completed ring_in ring_out; do
		expect "$name" "${count[$name]}" == "${count[started]}"
	done
	expect "ring commands not completed exactly once" "${count[ring_unpaired]}" == 0
}

# expect_way stock|direct: which of the two functions gave the commands back.
expect_way() {
	case $1 in
	stock) expect "scsi_done_direct() calls" "${count[direct_way]}" == 0 ;;
	direct)
		expect "scsi_done() calls" "${count[softirq_way]}" == 0
		expect "BLOCK softirqs raised" "${count[raised]}" == 0
		expect "blk_mq_complete_request_remote() calls" "${count[remote]}" == 0
		;;
	esac
}

expect_completed_on_ring_thread() {
	expect "taken from the ring by the thread that services it" \
		"${count[ring_out_on_ring_thread]}" == "${count[ring_out]}"
}

# --- set-up ------------------------------------------------------------------------------------

# expect_no_other_softirq_source DEVICE: only queues of requests end them with BLOCK softirqs.
expect_no_other_softirq_source() {
	local queue
	for queue in /sys/block/*/mq; do
		[[ ! -d $queue || $queue == /sys/block/${1##*/}/mq ]] ||
			fail "${queue%/mq} may raise BLOCK softirqs, too"
	done
}

# arm_start MODULE QUEUES BACKSTORE: loads the module and makes the disk, named in device.
arm_start() {
	tcm_loop_load "$1" "nr_hw_queues=$2"
	device=$(bench_create "$3")
	expect "hardware queues" "$(find "/sys/block/${device##*/}/mq" -mindepth 1 -maxdepth 1 | wc -l)" == "$2"
	expect_no_other_softirq_source "$device"
	# Two reads of neighbouring blocks would become one request.
	printf 2 >"/sys/block/${device##*/}/queue/nomerges"
	wait_until "$device is ready" scsi_device_ready "$device"
	fio_on "$device" --rw=randread --bs=32k --iodepth=32 --number_ios=256
}

arm_stop() {
	bench_remove
	tcm_loop_unload
}

fio_on() {
	local device=$1
	shift
	fio --name=load --filename="$device" --direct=1 --ioengine=libaio --thread "$@" \
		--output=/run/fio.log || fail "fio failed: $(cat /run/fio.log)"
}

check_processors() {
	local possible
	possible=$(cat /sys/devices/system/cpu/possible)
	[[ $possible == 0-* ]] || fail "two processors must be possible, here are: $possible"
}
