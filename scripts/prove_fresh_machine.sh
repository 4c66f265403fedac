#!/usr/bin/env bash
# Prove that the README's commands work on a new machine: a Debian with python3, python3-venv, make and ca-certificates and
# nothing else, made with debootstrap and entered with chroot. Takes the committed state. Needs root, debootstrap and git.
#
#   scripts/prove_fresh_machine.sh [SUITE [TARGET...]]
#
# SUITE is bookworm (Python 3.11, the default) or trixie (Python 3.13); TARGETs are those of the Makefile (default: test run).
# The host's settings for pip (PIP_* variables, pip.conf, certificates, proxies) hold inside too.
set -euo pipefail

suite="${1:-bookworm}"
targets=("${@:2}")
[ "${#targets[@]}" -gt 0 ] || targets=(test run)
repository="$(cd "$(dirname "$0")/.." && pwd)"
machine="$(mktemp -d)"

leave() {
    for mounted in "$machine/proc" "$machine/dev"; do
        ! mountpoint -q "$mounted" || umount --lazy "$mounted"
    done
    rm -rf --one-file-system "$machine"
}
trap leave EXIT

# A file of the host, to the same place inside.
carry() {
    [ ! -f "$1" ] || install -D -m 644 "$1" "$machine$1"
}

echo "== $suite in $machine"
debootstrap --variant=minbase --include=python3,python3-venv,make,ca-certificates "$suite" "$machine" >"$machine.log" 2>&1 ||
    { tail -n 20 "$machine.log"; exit 1; }
rm -f "$machine.log"
mount -t proc proc "$machine/proc"
mount --rbind /dev "$machine/dev"
mount --make-rslave "$machine/dev"

carry /etc/resolv.conf
carry /etc/hosts
for file in /etc/pip.conf /etc/xdg/pip/* "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf"; do
    carry "$file"
done
settings=(HOME=/root "PATH=/usr/sbin:/usr/bin:/sbin:/bin" LANG=C.UTF-8 PYTHONUNBUFFERED=1)
while IFS='=' read -r -d '' name value; do
    case "$name" in
        PIP_* | SSL_CERT_* | REQUESTS_CA_BUNDLE | *_proxy | *_PROXY)
            settings+=("$name=$value")
            carry "$value"
            ;;
    esac
done < <(env -0)

mkdir -p "$machine/facefusion"
git -C "$repository" archive HEAD | tar -x -C "$machine/facefusion"

for target in "${targets[@]}"; do
    echo "== make $target"
    SECONDS=0
    chroot "$machine" env -i "${settings[@]}" make --no-print-directory -C /facefusion "$target"
    echo "== make $target: done in $SECONDS s"
done
