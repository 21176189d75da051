#!/usr/bin/env bash
# Moves live connections to a Linux kernel's record layer: to this machine's kernel if it has the
# module `tls`, else to Debian's in an emulator (x86-64; its packages are unpacked into a cache
# folder, not installed). Missing parts are named in a line that starts with `absent:`.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${XDG_CACHE_HOME:-$HOME/.cache}/tercel/kernel
# The record layer and its cipher algorithms. A kernel may have some of them built in.
modules="gf128mul ghash-generic ctr gcm libchacha chacha_generic libpoly1305 poly1305_generic
    chacha20poly1305 tls"

program=$(cargo test -p tercel --test handover --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*handover[^"]*\)".*/\1/p' | tail -n 1)
[ -x "$program" ] || { echo "the test was not built" >&2; exit 1; }

here=$("$program" kernel_tls)
if ! grep -q '^absent: ' <<<"$here"; then
    echo "$here"
    exit
fi

for needed in qemu-system-x86_64 cpio apt-get dpkg-deb; do
    command -v "$needed" >/dev/null || { echo "absent: kernel TLS: no $needed"; exit; }
done
[ "$(uname -m)" = x86_64 ] || { echo "absent: kernel TLS: no emulated kernel for $(uname -m)"; exit; }
image=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p' | head -n 1)
[ -n "$image" ] || { echo "absent: kernel TLS: no linux-image-cloud-amd64 among apt's packages"; exit; }
if [ ! -d "$cache/$image" ]; then
    mkdir -p "$cache/$image.new"
    (cd "$cache/$image.new" && apt-get download "$image" busybox-static) ||
        { rm -rf "$cache/$image.new"; echo "absent: kernel TLS: no $image from apt"; exit; }
    for package in "$cache/$image.new"/*.deb; do dpkg-deb -x "$package" "$cache/$image.new"; done
    rm "$cache/$image.new"/*.deb
    mv "$cache/$image.new" "$cache/$image"
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/disk/{bin,proc,modules}
cp "$(find "$cache/$image" -path '*bin/busybox')" "$root/disk/bin/busybox"
cp "$program" "$root/disk/handover"
for library in $(ldd "$program" | grep -o '/[^ ]*'); do
    mkdir -p "$root/disk/$(dirname "$library")"
    cp -L "$library" "$root/disk$library"
done
for module in $modules; do
    find "$cache/$image" -name "$module.ko" -exec cp {} "$root/disk/modules/" \;
done
cat >"$root/disk/init" <<'END'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
# Modules depend on each other, in an order that differs between kernels.
for round in 1 2 3 4; do
    for module in /modules/*.ko; do /bin/busybox insmod "$module" 2>/dev/null; done
done
/bin/busybox ifconfig lo 127.0.0.1 up
/handover kernel_tls
echo "status $?"
/bin/busybox cat /proc/net/tls_stat
/bin/busybox poweroff -f
END
chmod +x "$root/disk/init"
(cd "$root/disk" && find . | cpio -o -H newc --quiet) | gzip -1 >"$root/disk.gz"

said=$(timeout 600 qemu-system-x86_64 -accel tcg -cpu max -m 512 -nographic -no-reboot -nic none \
    -kernel "$cache/$image"/boot/vmlinuz-* -initrd "$root/disk.gz" \
    -append "console=ttyS0 quiet panic=-1" </dev/null | tr -d '\r')
grep -ao '\(kernel_tls\|absent\|Tls[A-Z]\|test result\|status\).*' <<<"$said" || true
grep -aq '^status 0$' <<<"$said" && grep -aq '^kernel_tls: [0-9]* checks$' <<<"$said" ||
    { echo "$said" >&2; exit 1; }
echo "in $image"
