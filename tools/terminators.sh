#!/usr/bin/env bash
# Measures TLS terminators in front of one backend: `just terminators --quick`. Each measurement starts a new process;
# in each round every row runs with all terminators, in rotating order.
#
# usage: tools/terminators.sh TERCEL [--quick] [--rounds N] [--seconds N] [--workers N] [--rsa] [--all]
#            [--only NAME,..] [--rows NAME,..] [--base NAME] [--connections N] [--share-backend] [--out FOLDER]
#            [--libssl NAME=FOLDER].. [--program NAME=TERCEL]..
#
# terminators: tercel-proxy, nginx-stream, haproxy-tcp, which relay bytes; with --all also tercel-proxy-lazy, nginx-http
#   and haproxy-http, which connect to the backend when a request arrives. Each is a file in tools/terminators with the
#   reason for every setting.
# With --libssl, libraries of TLS are compared instead: nginx-web, haproxy-http and redis, each on the system's libssl.so.3
#   (nginx-web@system) and on that of each folder (nginx-web@NAME), which may also have a libcrypto.so.3. Ratios are to
#   the same server on the system's. Rows: full-13, resumed-13, download, requests, memory (the plain connections of the
#   same server are subtracted).
# With --program, another build of this project runs as tercel-proxy@NAME in addition to tercel-proxy, for instance
#   `--program before=target/before/tercel --only tercel-proxy@before,tercel-proxy --base tercel-proxy@before`.
# rows: full-13 full-12 resumed-13 resumed-12 (handshakes; each connection is then closed), download, upload
#   (MB of 10^6 bytes), requests (wrk), h2 (h2load), latency (at a fixed rate, a quarter of the requests that the
#   slowest reached in the first round, so that the load keeps up), memory (10,000 idle connections), scaling
#   (2 workers, and two processes with one each at the same address).
# rows with other clients, by tools/terminators/peers.py, which have to be named: unread (full handshakes of clients that
#   close without having read their tickets), unclosed (2,000 clients that tercel-proxy closes because they are idle, and
#   that never close: processor time, and memory at the peak and afterwards), instructions (of tercel-proxy in Valgrind,
#   for one connection: of a client that reads and closes, and of those two). Instructions hardly depend on other load.
# All run over loopback with one suite (AES-128-GCM), X25519, a chain of one certificate, and tickets: two after a full
# handshake and one after a resumed one, which is the default of all. If a terminator is faster than its load, rates
# differ less than the terminators do, and processor time per unit must be compared.
# Terminators have separate cores; load and backend have the others. With --share-backend the backend runs on the
# terminators' cores instead, so that the terminators limit the rate. In `scaling`, small machines have too few cores
# for that, and the processor time of a handshake must be compared.
# Processor times are those of the terminator's processes in /proc, system calls included.
# Ratios are relative to --base, computed per round; the output has medians and, in brackets, minimum and maximum.
set -euo pipefail
trap 'echo "tools/terminators.sh: stopped at line $LINENO" >&2' ERR

here=$(cd "$(dirname "$0")" && pwd)
tercel=$(realpath "$1")
shift
rounds=5 seconds=5 workers='' key=ecdsa base='' idle=10000 out='' memory_rounds=3 rows='' share_backend=''
only=''
libraries=()
declare -A program_of=()
all_rows=full-13,full-12,resumed-13,resumed-12,download,upload,requests,h2,latency,memory,scaling
quick_rows=full-13,resumed-13,resumed-12,download,requests,latency,memory
while [ $# -gt 0 ]; do
    case $1 in
    --quick) rounds=2 seconds=1 idle=2000 memory_rounds=1 all_rows=$quick_rows ;;
    --all) only=tercel-proxy,nginx-stream,haproxy-tcp,tercel-proxy-lazy,nginx-http,haproxy-http ;;
    --rsa) key=rsa ;;
    --libssl) libraries+=("$2") && shift ;;
    --program) program_of[${2%%=*}]=$(realpath "${2#*=}") && shift ;;
    --rounds) rounds=$2 && shift ;;
    --seconds) seconds=$2 && shift ;;
    --workers) workers=$2 && shift ;;
    --only) only=$2 && shift ;;
    --rows) rows=$2 && shift ;;
    --base) base=$2 && shift ;;
    --connections) idle=$2 && shift ;;
    # The former name of the option is accepted for one release.
    --share-backend | --backend-beside) share_backend=yes ;;
    --out) out=$2 && shift ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    esac
    shift
done
declare -A folder_of=([system]='')
if [ ${#libraries[@]} -gt 0 ]; then
    only=${only:-nginx-web,haproxy-http,redis}
    rows=${rows:-full-13,resumed-13,download,requests,memory}
    expanded=''
    for library in "${libraries[@]}"; do
        folder_of[${library%%=*}]=$(realpath "${library#*=}")
        [ -e "${library#*=}/libssl.so.3" ] || { echo "absent: ${library#*=}/libssl.so.3" >&2 && exit 1; }
    done
    IFS=, read -ra servers <<<"$only"
    for server in "${servers[@]}"; do
        [[ $server != *@* ]] || { expanded+=,$server && continue; }
        expanded+=,$server@system
        for library in "${libraries[@]}"; do expanded+=,$server@${library%%=*}; done
    done
    only=${expanded#,}
fi
IFS=, read -ra terminators <<<"${only:-tercel-proxy,nginx-stream,haproxy-tcp}"
IFS=, read -ra rows <<<"${rows:-$all_rows}"
if [ -z "$base" ]; then
    base=${terminators[0]}
    [[ " ${terminators[*]} " != *" nginx-stream "* ]] || base=nginx-stream
fi
for needed in nginx haproxy wrk h2load openssl taskset pgrep; do
    command -v "$needed" >/dev/null || { echo "absent: $needed (just setup)" >&2 && exit 1; }
done

# Terminators have the first cores, and all other processes have the rest.
cores=$(nproc)
[ -n "$workers" ] || workers=$((cores > 1 ? cores / 2 : 1))
given=$workers
if [ "$cores" -gt "$workers" ]; then
    terminator_cores=0-$((workers - 1)) load_cores=$workers-$((cores - 1)) load_threads=$((cores - workers))
else
    terminator_cores=0-$((cores - 1)) load_cores=0-$((cores - 1)) load_threads=$cores
    echo "note: terminators and load share all cores; only processor times tell them apart" >&2
fi
backend_cores=$load_cores
[ -z "$share_backend" ] || backend_cores=$terminator_cores

ulimit -n 1048576 2>/dev/null || ulimit -n "$(ulimit -Hn)"
file_limit=$(ulimit -n)
# A relay needs two files per connection and some of its own, and may reserve some for backends (tercel proxy:
# 1024).
if [ $(((file_limit - 1424) / 2)) -lt "$idle" ]; then
    fits=$(((file_limit - 1424) / 2))
    echo "note: the file limit ($file_limit) has room for $fits idle connections instead of $idle" >&2
    idle=$fits
fi

work=$(mktemp -d)
out=${out:-$here/../target/terminators}
mkdir -p "$out"
results=$out/measurements.tsv
: >"$results"
running=()
cleanup() {
    for pid in "${running[@]}"; do { kill -KILL "$pid" $(pgrep -P "$pid") && wait "$pid"; } 2>/dev/null || true; done
    rm -rf "$work"
}
trap cleanup EXIT

# --- common settings ---

suite_13=TLS_AES_128_GCM_SHA256
backend_port=18400 backend_h2_port=18401
# `shares` is set if two processes listen on one address and accept each other's tickets.
shares=''
# The idle time of tercel-proxy: longer than any other row holds idle connections.
idle_time=3600
# A program that runs the terminator.
wrapper=()
keys=$work/keys
mkdir "$keys"
if [ "$key" = rsa ]; then
    suite_12=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 suite_12_openssl=ECDHE-RSA-AES128-GCM-SHA256
    new_key=(rsa:2048)
else
    suite_12=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 suite_12_openssl=ECDHE-ECDSA-AES128-GCM-SHA256
    new_key=(ec -pkeyopt ec_paramgen_curve:P-256)
fi
(
    cd "$keys"
    openssl req -x509 -newkey "${new_key[@]}" -nodes -keyout ca.key -out ca.pem -days 2 -subj "/CN=terminators" \
        -addext basicConstraints=critical,CA:TRUE
    openssl req -newkey "${new_key[@]}" -nodes -keyout key.pem -out request.pem -subj "/CN=localhost"
    printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n' >leaf
    openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile leaf -out chain.pem
    cat chain.pem key.pem >both.pem
    # Ticket keys for `scaling`, in each terminator's form.
    (umask 077 && echo "$(date -d '-1 minute' +%s) $(openssl rand -hex 48)" >tickets.tercel)
    openssl rand 80 >tickets.nginx
) >"$work/openssl.log" 2>&1 || { cat "$work/openssl.log" >&2 && exit 1; }
# nginx' workers drop root's rights, and need to read only the backend's files.
chmod 755 "$work"
# wrk has no options for these settings.
cat >"$work/openssl.cnf" <<EOF
openssl_conf = all
[all]
ssl_conf = ssl
[ssl]
system_default = pinned
[pinned]
Ciphersuites = $suite_13
CipherString = $suite_12_openssl
Groups = X25519
EOF

# shellcheck source-path=SCRIPTDIR
for file in "$here"/terminators/*.sh; do source "$file"; done

wait_for_port() { # PORT PID
    local try tries=200
    [ ${#wrapper[@]} -eq 0 ] || tries=2000
    for try in $(seq "$tries"); do
        (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
        kill -0 "$2" 2>/dev/null || break
        sleep 0.05
    done
    echo "nothing listens on port $1 after $try tries" >&2
    return 1
}

# usage: start NAME PLACE CORES [PORTS]; sets `pid` and `port`. PLACE numbers instances that run at the same
# time; PORTS is the place of the instance whose ports are shared.
start() {
    folder=$work/$1-$2
    rm -rf "$folder"
    mkdir -p "$folder"
    chmod 755 "$folder"
    port=$((18410 + 10 * ${4:-$2})) h2_port=$((18411 + 10 * ${4:-$2})) plain_port=$((18412 + 10 * ${4:-$2}))
    local command server=${1%@*} library='' program=$tercel
    if [[ $1 = *@* ]]; then
        library=${folder_of[${1#*@}]-} program=${program_of[${1#*@}]-$tercel}
    fi
    command="env LD_LIBRARY_PATH=$library ${wrapper[*]} $("terminator_${server//-/_}")"
    # shellcheck disable=SC2086
    taskset -c "$3" $command >"$folder/log" 2>&1 &
    pid=$!
    running+=("$pid")
    wait_for_port "$port" "$pid" || { cat "$folder"/*log >&2 && exit 1; }
    if [ -n "$library" ] && ! grep -q " $library/libssl.so.3" "/proc/$pid/maps"; then
        echo "$1 does not use the library of $library" >&2 && exit 1
    fi
}

stop() { # PID
    local try
    kill -TERM "$1" 2>/dev/null || true
    for try in $(seq 60); do
        kill -0 "$1" 2>/dev/null || break
        [ "$try" -ne 20 ] || kill -TERM "$1" 2>/dev/null || true
        sleep 0.05
    done
    kill -KILL "$1" $(pgrep -P "$1") 2>/dev/null || true
    wait "$1" 2>/dev/null || true
    local left=()
    for one in "${running[@]}"; do [ "$one" = "$1" ] || left+=("$one"); done
    running=("${left[@]}")
}

tree() { echo "$1" && pgrep -P "$1" || true; }

# Microseconds of processor time that a terminator's processes used.
processor() { # PID
    local one sum=0 fields
    for one in $(tree "$1"); do
        # The fields follow the name, which may contain spaces.
        read -ra fields < <(sed 's/^.*) //' "/proc/$one/stat")
        sum=$((sum + fields[11] + fields[12]))
    done
    echo $((sum * 1000000 / $(getconf CLK_TCK)))
}

memory() { # PID FIELD: KiB of all its processes
    local one sum=0 part
    for one in $(tree "$1"); do
        part=$(sed -n "s/^$2: *\([0-9]*\) kB/\1/p" "/proc/$one/smaps_rollup")
        sum=$((sum + part))
    done
    echo "$sum"
}

# A field of the report of `tercel load`, or of an object in it.
field() { sed -n "s/.*\"$2\":\([0-9.]*\).*/\1/p" "$1"; }
field_of() { sed -n "s/.*\"$2\":{[^}]*\"$3\":\([0-9.]*\).*/\1/p" "$1"; }
divide() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.3f", a / b; else print "nan" }'; }

record() { # METRIC VALUE
    printf '%s\t%s\t%s\t%s\t%s\n' "$round" "$row" "$name" "$1" "$2" >>"$results"
}

fail() {
    echo "FAILED: round $round, $row, $name: $1" >&2
    printf '%s\t%s\t%s\tfailed\t1\n' "$round" "$row" "$name" >>"$results"
    failed=yes
}

# --- rows: each has its own terminator at `pid` and `port` ---

# The second group is the certificate's: without it a TLS 1.2 server has no certificate for this client. RFC 8422 5.1.1
load() { # OPTIONS...
    taskset -c "$load_cores" "$tercel" load --json --ca "$keys/ca.pem" --name localhost --groups x25519:secp256r1 \
        --suites "$suite_13:$suite_12" --threads "${threads:-$load_threads}" --warm-up 0 "$@"
}

# Runs a load and stores its report. Fails if the load fails.
reported() { # OPTIONS...
    if load "$@" >"$folder/report" 2>"$folder/err"; then
        grep -q secp256r1 "$folder/report" || return 0
        fail "another group than x25519 was agreed on"
        return 1
    fi
    fail "$(tail -n 1 "$folder/err") $(sed -n 's/.*\("errors":{[^}]*}\).*/\1/p' "$folder/report")"
    return 1
}

# Each row has a warm-up of one second that does not count.
handshakes() { # MODE VERSION
    local url=https://127.0.0.1:$port/small before
    reported "$url" --seconds 1 "--$1" "--tls$2" || return 0
    before=$(processor "$pid")
    reported "$url" --seconds "$seconds" "--$1" "--tls$2" || return 0
    local used=$(($(processor "$pid") - before))
    record per-second "$(field "$folder/report" per_second)"
    record cpu-us "$(divide "$used" "$(field "$folder/report" handshakes)")"
}

transfer() { # URL OPTIONS...
    local before
    reported "$@" --tls1.3 --bulk --connections 4 --seconds 1 || return 0
    before=$(processor "$pid")
    reported "$@" --tls1.3 --bulk --connections 4 --seconds "$seconds" || return 0
    local used=$(($(processor "$pid") - before))
    record MB-per-second "$(field "$folder/report" megabytes_per_second)"
    record cpu-us-per-MB "$(divide "$used" "$(divide "$(field "$folder/report" bytes)" 1000000)")"
}

requests() {
    local before said=$folder/wrk
    local wrk=(env "OPENSSL_CONF=$work/openssl.cnf" taskset -c "$load_cores" wrk --threads "$load_threads" --connections 32)
    "${wrk[@]}" --duration 1 "https://127.0.0.1:$port/small" >/dev/null
    before=$(processor "$pid")
    "${wrk[@]}" --duration "$seconds" "https://127.0.0.1:$port/small" >"$said"
    local used=$(($(processor "$pid") - before))
    if grep -E 'Socket errors|Non-2xx' "$said" >"$folder/errors"; then fail "$(cat "$folder/errors")" && return; fi
    record per-second "$(sed -n 's/^Requests\/sec: *//p' "$said")"
    record cpu-us "$(divide "$used" "$(sed -n 's/^ *\([0-9]*\) requests in.*/\1/p' "$said")")"
}

h2() {
    local before said=$folder/h2load
    local h2load=(taskset -c "$load_cores" h2load --threads "$load_threads" --clients 8 --max-concurrent-streams 8
        --groups X25519 --tls13-ciphers "$suite_13")
    "${h2load[@]}" --duration 1 "https://127.0.0.1:$h2_port/small" >/dev/null
    before=$(processor "$pid")
    "${h2load[@]}" --duration "$seconds" "https://127.0.0.1:$h2_port/small" >"$said"
    local used=$(($(processor "$pid") - before))
    grep -q '^Application protocol: h2$' "$said" || { fail "no HTTP/2"; return; }
    grep -q ' 0 failed, 0 errored, 0 timeout' "$said" || { fail "$(grep '^requests:' "$said")"; return; }
    record per-second "$(sed -n 's/^finished in [^,]*, \([0-9.]*\) req.*/\1/p' "$said")"
    record cpu-us "$(divide "$used" "$(sed -n 's/^requests: .* \([0-9]*\) done.*/\1/p' "$said")")"
}

# The rate of the latency row. It is the same for all terminators, and far below the capacity of the slowest
# one and of the load generator, which does more per request than wrk.
latency_rate() {
    awk -F '\t' '$2 == "requests" && $4 == "per-second" && (!least || $5 < least) { least = $5 }
        END { printf "%d", (least ? least : 4000) / 4 }' "$results"
}

latency() {
    local before
    [ -n "$rate" ] || rate=$(latency_rate)
    local options=("https://127.0.0.1:$port/small" --requests --tls1.3 --connections 32 --rate "$rate")
    reported "${options[@]}" --seconds 1 || return 0
    before=$(processor "$pid")
    reported "${options[@]}" --seconds "$seconds" || return 0
    local used=$(($(processor "$pid") - before))
    [ "$(field "$folder/report" never_begun)" -eq 0 ] || echo "note: $name did not keep $rate requests a second" >&2
    for quantile in p50 p99 p99.9; do
        record "$quantile-us" "$(field_of "$folder/report" latency "$quantile")"
    done
    record cpu-us "$(divide "$used" "$(field "$folder/report" done)")"
}

# After this number of seconds, terminators have released the memory that they release for idle connections.
memory_settles=8

memory_row() {
    local rss pss loading try
    rss=$(memory "$pid" Rss) pss=$(memory "$pid" Pss)
    load "https://127.0.0.1:$port/small" --tls1.3 --idle "$idle" --connections 32 --seconds $((memory_settles + 3)) \
        >"$folder/report" 2>"$folder/err" &
    loading=$!
    for try in $(seq 1200); do
        grep -q holding "$folder/err" && break
        kill -0 "$loading" 2>/dev/null || break
        sleep 0.1
    done
    sleep "$memory_settles"
    rss=$(($(memory "$pid" Rss) - rss)) pss=$(($(memory "$pid" Pss) - pss))
    wait "$loading" || { fail "$(tail -n 1 "$folder/err"), after $try looks"; return; }
    record rss-bytes-each "$(divide $((rss * 1024)) "$idle")"
    record pss-bytes-each "$(divide $((pss * 1024)) "$idle")"
    [ ${#libraries[@]} -eq 0 ] || plain_memory "$rss"
}

# The memory of the same number of connections without TLS, of a new process, and what TLS adds to it.
plain_memory() { # RSS
    local rss holding try
    stop "$pid"
    start "$name" 0 "$terminator_cores"
    rss=$(memory "$pid" Rss)
    (
        for try in $(seq "$idle"); do exec {held}<>"/dev/tcp/127.0.0.1/$plain_port"; done
        echo holding >"$folder/holding"
        sleep 60
    ) &
    holding=$!
    for try in $(seq 600); do
        [ ! -e "$folder/holding" ] || break
        sleep 0.1
    done
    sleep 2
    rss=$(($(memory "$pid" Rss) - rss))
    kill -KILL "$holding" $(pgrep -P "$holding") 2>/dev/null || true
    wait "$holding" 2>/dev/null || true
    [ -e "$folder/holding" ] || { fail "not $idle plain connections" && return; }
    record plain-rss-bytes-each "$(divide $((rss * 1024)) "$idle")"
    record tls-rss-bytes-each "$(divide $((($1 - rss) * 1024)) "$idle")"
}

peers() { # KIND COUNT: fails the row if a client fails
    OPENSSL_CONF=$work/openssl.cnf taskset -c "$load_cores" python3 "$here/terminators/peers.py" "$1" "$port" \
        "$keys/ca.pem" "$2" 2>"$folder/err" || { fail "$(tail -n 1 "$folder/err")" && return 1; }
}

unread() {
    local before begun count=$((500 * seconds))
    peers unread 200 || return 0
    before=$(processor "$pid") begun=$(date +%s%N)
    peers unread "$count" || return 0
    record per-second "$(divide "${count}000000000" $(($(date +%s%N) - begun)))"
    record cpu-us "$(divide $(($(processor "$pid") - before)) "$count")"
}

# Starts tercel-proxy with an idle time in which `peers unclosed` makes its connections. Sets `sockets`.
start_for_unclosed() {
    stop "$pid"
    idle_time=10
    start "$name" 0 "$terminator_cores"
    idle_time=3600
    sockets=$(open_sockets)
}

# Regular files may be opened and closed by Valgrind.
open_sockets() { find "/proc/$pid/fd" -lname "socket:*" | wc -l; }

# Runs clients that do not close until the terminator has left all of them.
hold_unclosed() { # COUNT
    # In Valgrind the start may take longer than the first look at its own sockets.
    local holding try few=4
    rm -f "$folder/input" "$folder/said"
    mkfifo "$folder/input"
    peers unclosed "$1" <"$folder/input" >"$folder/said" &
    holding=$!
    exec 4>"$folder/input"
    for try in $(seq 1200); do
        grep -q holding "$folder/said" && [ "$(open_sockets)" -le $((sockets + few)) ] && break
        kill -0 "$holding" 2>/dev/null || break
        sleep 0.1
    done
    left=$(($(open_sockets) - sockets))
    exec 4>&-
    wait "$holding" || { failed=yes && return 1; }
    [ "$left" -le "$few" ] || { fail "$left sockets of clients that never close are open after $try looks" && return 1; }
}

unclosed() {
    local before rss sockets left peak count=2000
    start_for_unclosed
    before=$(processor "$pid") rss=$(memory "$pid" Rss)
    hold_unclosed "$count" || return 0
    peak=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$pid/status")
    record cpu-us "$(divide $(($(processor "$pid") - before)) "$count")"
    record peak-rss-bytes-each "$(divide $(((peak - rss) * 1024)) "$count")"
    record left-rss-bytes-each "$(divide $((($(memory "$pid" Rss) - rss) * 1024)) "$count")"
}

# The difference of two runs is without the start and the end of the process.
instructions() {
    local kind count sockets left counted=()
    for kind in orderly unread unclosed; do
        counted=()
        for count in 50 250; do
            wrapper=(valgrind --tool=callgrind "--callgrind-out-file=/dev/null")
            start_for_unclosed
            if [ "$kind" = unclosed ]; then
                hold_unclosed "$count" || break
            else
                peers "$kind" "$count" || break
            fi
            kill -TERM "$pid"
            wait "$pid" || true
            counted+=("$(sed -n 's/.*Collected : \([0-9]*\)$/\1/p' "$folder/log")")
        done
        wrapper=()
        [ ${#counted[@]} -eq 2 ] || return 0
        record "$kind-each" "$(divide $((counted[1] - counted[0])) 200)"
    done
}

# Compares resumed handshakes of one process with two workers and of two processes with one worker. The two
# processes have the same ticket keys and listen on the same address, between which the kernel distributes
# clients as it does between two workers. With separate addresses, each load would have its own terminator,
# and the pair could stay on one core.
scaling() {
    local all=0-$((cores - 1)) of_two_workers='' one
    stop "$pid"
    shares=yes
    for workers in 1 2; do
        start "$name" 0 "$all"
        ! pair "workers-$workers" "$pid" || of_two_workers=$per_second
        stop "$pid"
    done
    workers=1
    start "$name" 1 "$all" && one=$pid
    start "$name" 2 "$all" 1
    wait_for_two "$port"
    if pair two-processes "$one" "$pid" && [ -n "$of_two_workers" ]; then
        record workers-2-of-two-processes "$(divide "$of_two_workers" "$per_second")"
    fi
    stop "$one"
    shares='' workers=$given
}

# Runs two loads at once on `port`, and sets `per_second`.
pair() { # METRIC PID...
    local metric=$1 one=$folder/one two=$folder/two before used loading well=yes
    shift
    per_second=''
    local options=("https://127.0.0.1:$port/small" --resumed --tls1.3 --connections 8)
    local load_cores=$all threads=1
    load "${options[@]}" --seconds 1 >"$one" 2>"$one.err" || { fail "$(tail -n 1 "$one.err")" && return 1; }
    before=$(processors "$@")
    load "${options[@]}" --seconds "$seconds" >"$one" 2>"$one.err" &
    loading=$!
    load "${options[@]}" --seconds "$seconds" >"$two" 2>"$two.err" || well=''
    wait "$loading" || well=''
    used=$(($(processors "$@") - before))
    [ -n "$well" ] || { fail "$(tail -qn 1 "$one.err" "$two.err")" && return 1; }
    per_second=$(awk -v a="$(field "$one" per_second)" -v b="$(field "$two" per_second)" 'BEGIN { print a + b }')
    record "$metric-per-second" "$per_second"
    record "$metric-cpu-us" "$(divide "$used" $(($(field "$one" handshakes) + $(field "$two" handshakes))))"
}

processors() { # PID...
    local each sum=0
    for each in "$@"; do sum=$((sum + $(processor "$each"))); done
    echo "$sum"
}

# Waits until a second socket listens on the port.
wait_for_two() { # PORT
    local try
    for try in $(seq 200); do
        [ "$(grep -c "$(printf ' 0100007F:%04X 00000000:0000 0A ' "$1")" /proc/net/tcp)" -lt 2 ] || return 0
        sleep 0.05
    done
    echo "one process listens on port $1 after $try tries" >&2
    return 1
}

measure() {
    case ${name%@*}:$row in
    redis:download) redis_download && return ;;
    redis:requests) redis_requests && return ;;
    esac
    case $row in
    full-13) handshakes full 1.3 ;;
    full-12) handshakes full 1.2 ;;
    resumed-13) handshakes resumed 1.3 ;;
    resumed-12) handshakes resumed 1.2 ;;
    download) transfer "https://127.0.0.1:$port/bulk" ;;
    # The backend responds before it has read the content, and nginx in front of it then closes the connection.
    upload) [ "$name" = nginx-http ] || transfer "https://127.0.0.1:$port/sink" --upload 16000000 ;;
    requests) requests ;;
    h2) h2 ;;
    latency) latency ;;
    memory) memory_row ;;
    unread) unread ;;
    unclosed) [[ $name != tercel-proxy* ]] || unclosed ;;
    instructions) [[ $name != tercel-proxy* ]] || instructions ;;
    # With ticket keys from a file haproxy issues no new ticket for a used one, and clients run out of them.
    scaling) [[ $name == haproxy-* ]] || scaling ;;
    *) echo "there is no row $row" >&2 && exit 2 ;;
    esac
}

# --- the rounds ---

source "$here/terminators/backend/nginx.sh"
folder=$work/backend
mkdir "$folder"
chmod 755 "$folder"
command=$(backend)
# shellcheck disable=SC2086
taskset -c "$backend_cores" $command >"$folder/log" 2>&1 &
running+=("$!")
wait_for_port "$backend_port" "$!" || { cat "$folder"/*log >&2 && exit 1; }

{
    echo "machine: $(sed -n '/^model name/{s/.*: //p;q}' /proc/cpuinfo), $cores cores, Linux $(uname -r)"
    echo "terminators on cores $terminator_cores with $workers workers, load on $load_cores, backend on $backend_cores"
    echo "$key certificate, $suite_13 and $suite_12, x25519; $rounds rounds of $seconds s; $idle idle connections"
    "$tercel" --version
    for name in "${!program_of[@]}"; do echo "$name: $("${program_of[$name]}" --version)"; done
    for library in "${libraries[@]}"; do
        echo "${library%%=*}: $(grep -aom 1 'OpenSSL [0-9.]* [0-9]* [A-Z][a-z]* [0-9]*' "${library#*=}"/libcrypto.so.3 2>/dev/null ||
            echo "libcrypto of the system")"
    done
    [ ${#libraries[@]} -eq 0 ] || echo "system: $(openssl version -v)"
    nginx -V 2>&1 | sed -n '1,2p'
    haproxy -v | sed -n 1p
} | tee "$out/machine.txt"

failed='' rate='' steps=$((rounds * ${#rows[@]} * ${#terminators[@]})) step=0 begun=$SECONDS
for round in $(seq "$rounds"); do
    for row in "${rows[@]}"; do
        # Memory and instructions hardly differ between rounds, and their measurement takes long.
        [[ $row != memory && $row != instructions ]] || [ "$round" -le "$memory_rounds" ] || continue
        for place in "${!terminators[@]}"; do
            name=${terminators[(place + round - 1) % ${#terminators[@]}]}
            if [ -t 2 ]; then
                printf '\r\033[K[%d of %d, %d s] round %s: %s, %s' "$step" "$steps" $((SECONDS - begun)) "$round" "$row" "$name" >&2
            fi
            step=$((step + 1))
            start "$name" 0 "$terminator_cores"
            measure
            stop "$pid"
        done
    done
done
[ ! -t 2 ] || printf '\r\033[K' >&2

awk -f "$here/terminators/summary.awk" -v base="$base" -v libraries=${#libraries[@]} -v json="$out/report.json" -v about="$out/machine.txt" "$results"
echo
echo "$((SECONDS - begun)) s; $out/report.json and measurements.tsv have every figure"
[ -z "$failed" ] || { echo "FAILED: see above" >&2 && exit 1; }
