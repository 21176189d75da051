#!/usr/bin/env bash
# Installs what the recipes need beyond Rust, a C compiler and make: cargo's helpers everywhere, and on Debian the
# programs that the conformance and cross runs use. Without root the missing Debian packages are only listed.
# usage: tools/setup.sh            all of them
#        tools/setup.sh NAME...    these packages and helpers
set -euo pipefail

# A package, and a program or file that it contains; the package is installed if that is missing.
packages=(
    "openssl openssl"
    "libssl-dev /usr/include/openssl/ssl.h"
    "cmake cmake"
    "curl curl"
    "gnutls-bin gnutls-cli"
    "golang go"
    "python3 python3"
    "python3-venv /usr/lib/python3*/ensurepip/__init__.py"
    "ngtcp2-client gtlsclient"
    "ngtcp2-server /usr/sbin/gtlsserver"
    "nodejs node"
    "default-jdk-headless javac"
    "libnss3-tools tstclnt"
    "libwolfssl-dev /usr/include/wolfssl/ssl.h"
    "libmbedtls-dev /usr/include/mbedtls/ssl.h"
    "botan botan"
    "erlang-base erl"
    "erlang-ssl /usr/lib/erlang/lib/ssl-*/ebin/ssl.beam"
    "ruby ruby"
    "libio-socket-ssl-perl /usr/share/perl5/IO/Socket/SSL.pm"
    "php-cli php"
    "chromium chromium"
    "valgrind valgrind"
    "libuv1-dev /usr/include/uv.h"
    "python3-cffi /usr/lib/python3/dist-packages/cffi/api.py"
    "ccache ccache"
    "qemu-user qemu-aarch64"
    "redis-server redis-server"
    "postgresql /usr/lib/postgresql/*/bin/postgres"
    "mariadb-server /usr/sbin/mariadbd"
    "mosquitto /usr/sbin/mosquitto"
    "mosquitto-clients mosquitto_pub"
    "haproxy haproxy"
    "libssl-dev /usr/include/openssl/ssl.h"
    "socat socat"
    "bind9 /usr/sbin/named"
    "bind9-dnsutils dig"
    "openvpn /usr/sbin/openvpn"
    "tcl tclsh"
    "tcl-tls /usr/lib/tcltk/*/tcltls*/pkgIndex.tcl"
    "postfix /usr/sbin/postfix"
    "faketime faketime"
    "debootstrap debootstrap"
    "systemd systemd-socket-activate"
    "zsh zsh"
    "fish fish"
    "mandoc mandoc"
    "nginx nginx"
    "libnginx-mod-stream /usr/lib/nginx/modules/ngx_stream_module.so"
    "wrk wrk"
    "nghttp2-client h2load"
    "gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc"
    "libc6-dev-arm64-cross /usr/aarch64-linux-gnu/include/stdlib.h"
    "musl-tools musl-gcc"
    "musl-dev:arm64 /usr/lib/aarch64-linux-musl/musl-gcc.specs"
    "qemu-user-static qemu-aarch64-static"
    "rpm rpmbuild"
    "umoci umoci"
    "gcc-mingw-w64-x86-64 x86_64-w64-mingw32-gcc"
)

# Helpers of cargo. The version of cargo-public-api is pinned, because the output is committed (tools/api.sh) and each
# version reads the format of certain nightlies only.
helpers=(just cargo-deny cargo-fuzz cargo-public-api@0.52.0)

wanted=" $* "
is_wanted() { # NAME
    [ "$wanted" = "  " ] || [[ "$wanted" == *" $1 "* ]]
}

known=" ${helpers[*]%%@*} "
missing=()
for entry in "${packages[@]}"; do
    read -r package program <<<"$entry"
    known+="$package "
    is_wanted "$package" || continue
    command -v "$program" >/dev/null || compgen -G "$program" >/dev/null || missing+=("$package")
done
for name in "$@"; do
    [[ "$known" == *" $name "* ]] || { echo "$name is not in the list of $0" >&2; exit 2; }
done

if [ "${#missing[@]}" -gt 0 ]; then
    if ! command -v apt-get >/dev/null; then
        echo "absent: ${missing[*]} (Debian's names; install them by hand for the runs that use them)"
    elif [ "$(id -u)" -ne 0 ]; then
        echo "absent: ${missing[*]} (as root: apt-get install ${missing[*]})"
    else
        export DEBIAN_FRONTEND=noninteractive
        if [[ "${missing[*]} " == *:arm64\ * ]]; then
            # Ubuntu has packages of arm64 on other servers, which apt-get would not find.
            if [ "$(. /etc/os-release && echo "$ID")" = debian ]; then
                dpkg --add-architecture arm64
            else
                mapfile -t foreign < <(printf '%s\n' "${missing[@]}" | grep ':arm64$')
                mapfile -t missing < <(printf '%s\n' "${missing[@]}" | grep -v ':arm64$')
                echo "absent: ${foreign[*]} (add the package server of arm64, and install them by hand)"
            fi
        fi
        if [ "${#missing[@]}" -gt 0 ]; then
            apt-get update
            apt-get install --yes --no-install-recommends "${missing[@]}"
        fi
    fi
fi

for helper in "${helpers[@]}"; do
    name=${helper%%@*}
    is_wanted "$name" || continue
    case $helper in
    *@*) [ "$("$name" --version 2>/dev/null)" = "$name ${helper#*@}" ] || cargo install --locked "$helper" ;;
    *) command -v "$name" >/dev/null || cargo install --locked "$helper" ;;
    esac
done
