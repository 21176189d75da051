#!/usr/bin/env bash
# Installs the Debian package in a clean system made by debootstrap, and checks it: files, systemd's units, the
# service's own command line with a passed socket, a TLS request, a reload, the end, removal and purge.
# usage: tools/deb-check.sh PACKAGE.deb
# Needs root on Debian with debootstrap, systemd, openssl, curl and python3. The clean system comes from the mirror that
# apt uses here, and is kept in TERCEL_DEB_BASE (default: a folder of /var/cache) for the next run.
set -euo pipefail
export LC_ALL=C

package=$(realpath "$1")
[ "$(id -u)" -eq 0 ] || { echo "absent: root, which debootstrap and chroot need"; exit 0; }
absent=()
for program in debootstrap chroot systemd-analyze systemd-socket-activate openssl curl python3; do
    command -v "$program" >/dev/null || absent+=("$program")
done
[ "${#absent[@]}" -eq 0 ] || { echo "absent programs: ${absent[*]}"; exit 0; }

. /etc/os-release
suite=$VERSION_CODENAME
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' |
    awk -v suite="$suite" '$2 == suite && $3 == "main" { print $1; exit }')
base=${TERCEL_DEB_BASE:-/var/cache/tercel-deb-base}
work=$(mktemp -d /var/tmp/tercel-deb-check.XXXXXX)
root=$work/root
processes=()
end() {
    for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
    rm -rf "$work"
}
trap end EXIT
ok() { echo "ok: $*"; }
fail() { echo "FAILED: $*" >&2; [ ! -f "$work/log" ] || tail -n 30 "$work/log" >&2; exit 1; }
wait_for() { # WORDS FILE
    for _ in $(seq 200); do
        ! grep -q -- "$1" "$2" || return 0
        sleep 0.05
    done
    fail "no \"$1\" in the log"
}

# The clean system.
if [ ! -f "$base/$suite.tar" ]; then
    mkdir -p "$base"
    debootstrap --variant=minbase --include=adduser "$suite" "$work/new" "$mirror" >"$base/debootstrap.log" 2>&1 ||
        { tail -n 20 "$base/debootstrap.log"; fail "debootstrap"; }
    rm -rf "$work/new/var/cache/apt/archives"/*.deb "$work/new/proc"/* "$work/new/sys"/*
    tar -C "$work/new" --exclude='./dev/*' -cf "$base/$suite.tar.part" .
    mv "$base/$suite.tar.part" "$base/$suite.tar"
    rm -rf "$work/new"
fi
mkdir -p "$root"
tar -C "$root" -xf "$base/$suite.tar"
mkdir -p "$root/dev"
for device in null zero random urandom; do cp -a "/dev/$device" "$root/dev/"; done
inside() { LC_ALL=C DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$@"; }
list() {
    (cd "$root" && find . -path ./dev -prune -o -path ./run -prune -o -path ./var/lib/dpkg -prune -o \
        -path ./var/log -prune -o -path './etc/*-' -prune -o -name .pwd.lock -prune -o -print | sort)
}
list >"$work/before"
cp "$root/etc/passwd" "$work/passwd"

# Installation.
cp "$package" "$root/tercel.deb"
inside dpkg -i /tercel.deb >"$work/log" 2>&1 || fail "dpkg -i"
rm "$root/tercel.deb"
inside /usr/bin/tercel --version | grep '^tercel ' >/dev/null || fail "the program does not run"
inside getent passwd tercel >"$work/user" || fail "no user tercel"
for file in usr/share/man/man1/tercel.1.gz usr/share/man/man1/tercel-proxy.1.gz etc/tercel/proxy.toml \
    usr/share/bash-completion/completions/tercel usr/share/zsh/vendor-completions/_tercel \
    usr/share/fish/vendor_completions.d/tercel.fish usr/share/doc/tercel/copyright; do
    [ -f "$root/$file" ] || fail "/$file is missing"
done
[ "$(stat -c %a "$root/etc/tercel/proxy.toml")" = 640 ] || fail "proxy.toml may be read by everyone"
ok "installed: program, user $(cut -d: -f1,3 "$work/user"), manual pages, completions, configuration"

# Units. They want programs and units of a booted system, which a minimal one does not have.
units=$root/usr/lib/systemd/system
mkdir -p "$work/verify"
sed "s|^ExecStart=/usr/bin/tercel|ExecStart=$root/usr/bin/tercel|" "$units/tercel-proxy.service" \
    >"$work/verify/tercel-proxy.service"
cp "$units/tercel-proxy.socket" "$work/verify/"
(cd "$work/verify" && systemd-analyze verify --man=no ./tercel-proxy.service ./tercel-proxy.socket) >"$work/log" 2>&1 ||
    fail "systemd-analyze verify"
! grep -E 'tercel-proxy\.(service|socket)' "$work/log" || fail "systemd-analyze has warnings"
ok "units verified"

# The service: its own command line, as its user, with a socket passed to it.
port=$("$(dirname "$0")/free-port.sh")
mkdir -p "$work/www" && echo "answer of the backend" >"$work/www/index.html"
backend=$("$(dirname "$0")/free-port.sh")
certificate() { # NAME
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -keyout "$work/$1.key" -out "$work/$1.crt" 2>/dev/null
    install -m 640 -g "$(cut -d: -f4 "$work/user")" "$work/$1.key" "$root/etc/tercel/certs/localhost.key"
    install -m 644 "$work/$1.crt" "$root/etc/tercel/certs/localhost.crt"
}
certificate first
sed -i -e "s|\"\[::\]:443\"|\"127.0.0.1:$port\"|" -e "s|127.0.0.1:8080|127.0.0.1:$backend|" \
    "$root/etc/tercel/proxy.toml"
"$root/usr/bin/tercel" --version >/dev/null
python3 -m http.server --bind 127.0.0.1 --directory "$work/www" "$backend" >"$work/backend.log" 2>&1 &
processes+=($!)
for _ in $(seq 200); do
    ! curl --silent --noproxy '*' --output /dev/null "http://127.0.0.1:$backend/" || break
    sleep 0.05
done
read -r -a command < <(sed -n 's/^ExecStart=//p' "$units/tercel-proxy.service")
ids=$(cut -d: -f3,4 "$work/user")
systemd-socket-activate --listen="127.0.0.1:$port" --fdname=https \
    chroot --userspec="$ids" "$root" "${command[@]}" >"$work/log" 2>&1 &
service=$!
processes+=("$service")
wait_for "Listening on" "$work/log"
ask() { # CERTIFICATE
    curl --silent --show-error --noproxy '*' --max-time 20 --cacert "$work/$1.crt" --connect-to "::127.0.0.1:$port" \
        "https://localhost:$port/index.html" 2>&1
}
ask first | grep "answer of the backend" >/dev/null || fail "no answer over TLS"
[ "$(ps -o uid= -p "$service" | tr -d ' ')" = "${ids%:*}" ] || fail "the service runs as another user"
ok "started with a passed socket as ${ids%:*}, answered: ${command[*]}"

# A reload takes the new certificate.
certificate second
kill -HUP "$service"
wait_for "configuration reloaded" "$work/log"
ask second | grep "answer of the backend" >/dev/null || fail "no answer with the new certificate"
ok "reloaded"

kill -TERM "$service"
status=0
wait "$service" || status=$?
[ "$status" -eq 0 ] || fail "the service ended with status $status"
ok "stopped with status 0"

# Removal and purge.
inside dpkg -r tercel >"$work/log" 2>&1 || fail "dpkg -r"
[ ! -e "$root/usr/bin/tercel" ] && [ -f "$root/etc/tercel/proxy.toml" ] || fail "removal"
rm -r "$root/etc/tercel/certs"/*
inside dpkg -P tercel >"$work/log" 2>&1 || fail "dpkg -P"
list >"$work/after"
diff "$work/before" "$work/after" || fail "purge left files"
cmp -s "$work/passwd" "$root/etc/passwd" || fail "purge left the user"
ok "removed and purged, nothing left"

# An upgrade without the configuration file, which an administrator may delete. Keys that remain after a purge belong
# to root, because the numbers of the package's user and group can be assigned again.
cp "$package" "$root/tercel.deb"
inside dpkg -i /tercel.deb >"$work/log" 2>&1 || fail "second dpkg -i"
rm "$root/etc/tercel/proxy.toml"
inside dpkg -i /tercel.deb >"$work/log" 2>&1 || fail "dpkg -i without the configuration file"
group=$(inside getent group tercel | cut -d: -f3)
install -m 640 -o 0 -g "$group" /dev/null "$root/etc/tercel/certs/kept.key"
inside dpkg -P tercel >"$work/log" 2>&1 || fail "second dpkg -P"
[ "$(stat -c '%u:%g %a' "$root/etc/tercel/certs/kept.key")" = "0:0 640" ] || fail "a remaining key is not root's"
ok "upgraded without the configuration file; a remaining key belongs to root alone"

# The folder of certificates may be a link to a folder of another program, whose files a purge does not change.
rm -r "$root/etc/tercel"
install -D -m 644 /dev/null "$root/srv/certificates/other.crt"
inside dpkg -i /tercel.deb >"$work/log" 2>&1 || fail "third dpkg -i"
rmdir "$root/etc/tercel/certs"
ln -s /srv/certificates "$root/etc/tercel/certs"
inside dpkg -P tercel >"$work/log" 2>&1 || fail "third dpkg -P"
[ "$(stat -c %a "$root/srv/certificates/other.crt")" = 644 ] || fail "a purge changed a file of another program"
ok "purged, files of another program unchanged"
