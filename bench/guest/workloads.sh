# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash disable=SC2154 # bench_default_…: measure
# The workloads, as fio runs them. Sourced after guest-lib.sh.

bench_runtime_ms=${TCMU_EXT_BENCH_RUNTIME_MS:-300}
bench_ramp_ms=${TCMU_EXT_BENCH_RAMP_MS:-60}
bench_counted_requests=${TCMU_EXT_BENCH_COUNTED_REQUESTS:-4096}

# workload_options WORKLOAD: prints what it tells fio.
workload_options() {
	case $1 in
	randread-512) echo "--rw=randread --bs=512 --iodepth=32 --numjobs=1" ;;
	single-*) echo "--rw=randread --bs=${1#*-} --iodepth=1 --numjobs=1 --thread --norandommap" ;;
	randread-*) echo "--rw=randread --bs=${1#*-} --iodepth=32 --numjobs=1 --thread --norandommap" ;;
	randwrite-*) echo "--rw=randwrite --bs=${1#*-} --iodepth=32 --numjobs=1 --thread --norandommap" ;;
	seqread-*) echo "--rw=read --bs=${1#*-} --iodepth=4 --numjobs=1 --thread" ;;
	bufread-*) echo "--rw=read --bs=${1#*-} --direct=0 --ioengine=psync --invalidate=1 --numjobs=1 --thread" ;;
	mixed-*) echo "--rw=randrw --bs=${1#*-} --iodepth=128 --numjobs=8 --group_reporting" ;;
	*) fail "there is no workload $1" ;;
	esac
}

# workload_queue_settings WORKLOAD: prints the NAME=VALUE pairs of its disk's queue folder.
workload_queue_settings() {
	case $1 in
	randread-512) echo "scheduler=none nomerges=2" ;;
	*) echo "scheduler=$bench_default_scheduler nomerges=0 rq_affinity=1 read_ahead_kb=$bench_default_read_ahead" ;;
	esac
}

# workload_command WORKLOAD: prints all that fio is told about it, apart from how long it is to run.
workload_command() {
	echo "--size=${bench_size_mib}m --ioengine=libaio --direct=1 $(workload_options "$1")"
}

bench_fio() {
	local device=$1 workload=$2
	shift 2
	# shellcheck disable=SC2046 # the options are words
	fio --name="$workload" --filename="$device" $(workload_command "$workload") "$@"
}

# workload_warm_up DEVICE: takes pending unit attentions and lets every page in use appear, those
# of fio itself included.
workload_warm_up() {
	wait_until "$1 is ready" scsi_device_ready "$1"
	bench_fio "$1" randread-32k --number_ios=512 --output=/dev/null
}

# workload_time DEVICE WORKLOAD FILE: measures, and leaves fio's report as FILE.
workload_time() {
	# shellcheck disable=SC2046 # the options are words
	let_clock_jump bench_fio "$1" "$2" $(workload_length "$2") \
		--output-format=json --output=/run/fio.json || fail "fio failed: $2 on $1"
	cp /run/fio.json "$3"
}

# Reading through the page cache once: a second time would not reach the disk.
workload_length() {
	case $1 in
	bufread-*) ;;
	*) echo "--time_based --runtime=${bench_runtime_ms}ms --ramp_time=${bench_ramp_ms}ms" ;;
	esac
}

# workload_count DEVICE WORKLOAD FILE: counts over a fixed number of requests.
workload_count() {
	local jobs=1
	[[ $2 != mixed-* ]] || jobs=8
	counters_start
	let_clock_jump bench_fio "$1" "$2" --number_ios=$((bench_counted_requests / jobs)) \
		--output=/dev/null || fail "fio failed: $2 on $1"
	counters_stop "$1" >"$3"
}
