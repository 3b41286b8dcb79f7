# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
# What the commands of tests/vm/ share on the host. Sourced, never run.

vm_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
vm_source=$(cd "$vm_folder/../.." && pwd -P)
vm_cache=$(realpath -m "${TCMU_EXT_VM_CACHE:-$vm_source/build/vm}")

vm_say() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

vm_die() {
	vm_say "$@"
	exit 125
}

# The packages named in the list files given, without comments.
vm_listed_packages() {
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$@"
}

# Those of the named packages that are not installed.
vm_missing_packages() {
	local package
	for package in "$@"; do
		case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
		installed | triggers-*) ;;
		*) printf '%s\n' "$package" ;;
		esac
	done
}

vm_apt_lists_present() {
	compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null
}

vm_apt_update_once() {
	vm_apt_lists_present || apt-get -qq update >&2
}

# While apt installs, deny every start of a service: invoke-rc.d asks this script first. A machine
# that has one of its own keeps it.
vm_without_services() (
	policy=/usr/sbin/policy-rc.d
	if [[ ! -e $policy ]]; then
		trap 'rm -f "$policy"' EXIT
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
	fi
	"$@"
)

# vm_install_packages LIST-FILE…: installs what is missing of the packages listed there. Asks nothing
# and starts no service.
vm_install_packages() {
	local -a wanted missing
	mapfile -t wanted < <(vm_listed_packages "$@")
	mapfile -t missing < <(vm_missing_packages "${wanted[@]}")
	((${#missing[@]})) || return 0
	vm_apt_update_once
	DEBIAN_FRONTEND=noninteractive vm_without_services apt-get -qq -y \
		-o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold \
		install --no-install-recommends "${missing[@]}" >&2 </dev/null
}

# vm_download PACKAGE=VERSION DIR: into DIR through the machine's own apt configuration, once.
vm_download() {
	local package=${1%%=*} directory=$2
	mkdir -p "$directory"
	(cd "$directory" && apt-get -qq -o APT::Sandbox::User=root download "$1" >&2) ||
		vm_die "apt-get could not download $1; without it the guest's $package is missing"
}

# vm_candidate_version PACKAGE: the version apt would install, empty if there is none.
vm_candidate_version() {
	LC_ALL=C apt-cache policy "$1" 2>/dev/null |
		sed -n 's/^  Candidate: //p' | grep -vx '(none)' || true
}

# vm_lock NAME: held until this process ends; makes concurrent preparations take turns.
vm_lock() {
	mkdir -p "$vm_cache"
	exec {vm_lock_fd}>"$vm_cache/$1.lock"
	flock "$vm_lock_fd"
}

vm_check_series() {
	case $1 in
	6.1 | 6.12) ;;
	*) vm_die "unknown kernel $1: 6.1 and 6.12 are supported" ;;
	esac
}

# The kernel release prepared for a series such as 6.12; empty if there is none.
vm_release() {
	cat "$vm_cache/kernel-$1" 2>/dev/null || true
}

vm_kernel_folder() {
	printf '%s/kernels/%s\n' "$vm_cache" "$(vm_release "$1")"
}

# The initramfs of a series, named after what it is made of: several trees can share one cache.
vm_initramfs() {
	local inputs
	inputs=$(cat "$vm_folder/guest/init" "$vm_folder/prepare" /bin/busybox | sha256sum)
	printf '%s/initramfs-%.16s.cpio\n' "$(vm_kernel_folder "$1")" "$inputs"
}
