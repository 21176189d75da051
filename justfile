# All recurring tasks. `just` lists them; CI runs the same recipes.

build := absolute_path(env("CARGO_TARGET_DIR", justfile_directory() / "target"))
tercel := build / "release/tercel"
release := quote(build / "release")
peers := build / "peers/release"
rust-users-build := quote(build / "rust-users")
# Crates that forward features of `tercel`, and these features.
integrations := "-p tercel-tokio -p tercel-hyper -p tercel-postgres -p tercel-quinn -p tercel-native-tls"
forwarded := "brotli,ech,native-roots,tracing,webpki-roots,zlib,zstd"

# List the recipes.
default:
    @just --list --unsorted

# Install what the recipes need: cargo's helpers, and on Debian, as root, the other programs.
setup:
    tools/setup.sh

# Run every test, including the replay of the fuzz corpus.
test:
    cargo test --workspace
    cargo test -p tercel-cli --no-default-features --test program features::

# Test the feature `fips` where Go, CMake and Perl are there: docs/fips.md.
test-fips:
    tools/test-fips.sh

# Run all tests of the core with the feature `fips`, and check every crate that has it.
test-fips-all:
    tools/test-fips.sh --all

# Test the C interface: header, symbols, programs in C under AddressSanitizer and Valgrind, and the examples.
test-c:
    tools/test-c.sh

# Build the C library, libtercel.a and libtercel.so, with its header in FOLDER.
c-library FOLDER="target/c-library" PROFILE="release":
    tools/c-library.sh {{ quote(FOLDER) }} {{ quote(PROFILE) }}

# Install the C library with cargo-c, below DESTDIR.
c-install PREFIX="/usr/local" DESTDIR="/" *FLAGS="":
    tools/c-install.sh {{ quote(PREFIX) }} {{ quote(DESTDIR) }} {{ FLAGS }}

# Build libssl.so.3, OpenSSL's interface of Tercel, in FOLDER.
libssl FOLDER="target/libssl" PROFILE="release":
    tools/libssl.sh {{ quote(FOLDER) }} {{ quote(PROFILE) }}

# Test libssl.so.3: symbols, the parts in Rust, programs in C under AddressSanitizer.
test-libssl:
    tools/test-libssl.sh

# Run programs of the system on libssl.so.3, a named action each.
libssl-programs *PROGRAMS="": (libssl "target/libssl")
    tools/libssl-programs.sh target/libssl {{ PROGRAMS }}

# Run test suites of other projects on libssl.so.3 and on OpenSSL's: `just libssl-tests --nginx-tests DIR`.
libssl-tests *FLAGS="": (libssl "target/libssl")
    tools/libssl-tests.sh target/libssl {{ FLAGS }}

# Check state shared by threads in every interleaving, with loom; MODEL is a part of a model's name.
loom MODEL="":
    tools/loom.sh {{ quote(MODEL) }}

# Check formatting, lints and documentation.
check: format lints documentation

# Check the formatting of all Rust files, also of packages that are not in the workspace.
format:
    git ls-files '*.rs' | xargs rustfmt --check --edition 2024

# Check lints in the forms that differ in code: all features, none, and crates by themselves, because the members of the
# workspace enable features of each other.
lints:
    cargo clippy --workspace --all-targets --features "$(tools/features.sh)" -- -D warnings
    cargo clippy --workspace --all-targets --no-default-features -- -D warnings
    cargo clippy {{ integrations }} --no-default-features --features {{ forwarded }} -- -D warnings
    for crate in tercel tercel-quinn tercel-rustls tercel-proxy tercel-cli; do \
        cargo clippy -p $crate --no-default-features -- -D warnings || exit 1; \
    done
    tools/loom.sh --check

# Check that the documentation of all features has no faults.
documentation:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --features "$(tools/features.sh)"

# Package the crates that users get, inspect the archives and, without `--lists`, build from them; `--renew` writes
# tools/package.txt.
package *FLAGS="":
    tools/package.sh {{ FLAGS }}

# Check that builds of the workspace contain no test seam.
seams:
    tools/seams.sh

# Check the dependency trees: permitted crates, licences, known advisories.
deny: deny-offline
    tools/advisories.sh

# Check the dependency trees without network access.
deny-offline:
    tools/deny.sh bans licenses sources

# Check everything with the minimum Rust version.
msrv:
    tools/msrv.sh

# Check the published crates with the oldest versions of their dependencies (nightly cargo).
minimal-versions:
    tools/minimal-versions.sh

# Run the core's tests for aarch64 under qemu-user, and check builds for musl (not with `--quick`) and Windows.
cross *FLAGS="":
    tools/cross.sh {{ FLAGS }}

# Move live connections to the Linux kernel's TLS, in an emulator if this kernel has none.
kernel-tls:
    tools/kernel-tls.sh

# Fuzz one target.
fuzz TARGET SECONDS="600":
    tools/fuzz.sh {{ SECONDS }} {{ TARGET }}

# Compile the fuzz targets with the toolchain in use.
fuzz-check:
    cargo check --locked --manifest-path fuzz/Cargo.toml --target-dir {{ quote(build) }}

# Fuzz every target for a few seconds.
fuzz-smoke SECONDS="10":
    tools/fuzz.sh {{ SECONDS }}

# Run BoringSSL's test runner; DIR is its ssl/test/runner, TESTS a file of names or `a;b` patterns.
bogo DIR TESTS="" *FLAGS="":
    tools/bogo.sh {{ quote(DIR) }} {{ quote(TESTS) }} {{ FLAGS }}

# Run BoringSSL's test runner on AWS-LC's FIPS module: with the feature, then with the option, whose differences are
# those of conformance/bogo/fips-tests.txt. TESTS is a file of names, by default the core tests.
bogo-fips DIR TESTS="conformance/bogo/core-tests.txt" *FLAGS="":
    tools/bogo-fips.sh {{ quote(DIR) }} {{ quote(TESTS) }} {{ FLAGS }}

# Run BoringSSL's test runner with the shim in C; the arguments are those of `bogo`.
bogo-c DIR TESTS="" *FLAGS="":
    tools/bogo-c.sh {{ quote(DIR) }} {{ quote(TESTS) }} {{ FLAGS }}

# Print how many tests of LIST passed, by group; RESULTS is the runner's `-json-output`.
bogo-table LIST RESULTS:
    tools/bogo-table.sh {{ quote(LIST) }} {{ quote(RESULTS) }}

# Check that deviations from BoringSSL are those of conformance/bogo/deviations.txt.
bogo-deviations DIR:
    tools/bogo-deviations.sh {{ quote(DIR) }}

# Run other TLS programs against `tercel` in both roles, and the peers built on rustls.
interop *FLAGS="": (peers "") programs
    {{ release }}/tercel-interop --tercel {{ quote(tercel) }} --peers {{ quote(peers) }} {{ FLAGS }}

# Run `interop` with all cells and all peers of conformance/peers, some of which take long to build.
interop-full *FLAGS="": (peers "--features full") programs
    {{ release }}/tercel-interop --full --tercel {{ quote(tercel) }} --peers {{ quote(peers) }} {{ FLAGS }}

# Run other TLS programs against `tercel --fips`, built with AWS-LC's FIPS module: docs/fips.md.
interop-fips *FLAGS="": (fips-program)
    cargo run --release -p tercel-interop -- --fips --tercel {{ quote(build / "fips/release/tercel") }} {{ FLAGS }}

# Print how long `tercel --help` takes with AWS-LC's FIPS module, which tests itself at the start, and without it.
startup-fips: (fips-program)
    cargo build --release --locked -p tercel-cli
    tools/startup.sh {{ quote(tercel) }}
    tools/startup.sh {{ quote(build / "fips/release/tercel") }} 5000

# Builds the program with the feature `fips`, in a folder of its own.
[private]
fips-program:
    AWS_LC_FIPS_SYS_USE_SYSTEM=0 cargo build --release --locked -p tercel-cli --no-default-features \
        --features fips,http3,redis --target-dir {{ quote(build / "fips") }}

# Run other QUIC programs against `tercel-quinn` in both roles; `--openssl` builds one of them first.
quic-interop *FLAGS="":
    tools/quic-interop.sh {{ FLAGS }}

# Run other programs with Encrypted ClientHello against `tercel`; builds them first: conformance/ech-interop/README.md.
ech-interop *FLAGS="":
    cargo build --release -p tercel-cli
    tools/ech-interop.sh {{ quote(tercel) }} {{ FLAGS }}

# Test lookups in DNS (`tercel connect --ech auto`), which are not a default feature.
test-dns:
    cargo test -p tercel-cli --features dns dns

# Compare Tercel, `openssl verify` and Go's crypto/x509 with an oracle on generated chains: conformance/chains/README.md.
chains *FLAGS="": programs
    {{ release }}/tercel-conformance-chains generate {{ FLAGS }}

# Run `chains` with 200,000 chains of a seed, which takes an hour.
chains-long SEED="2": programs
    {{ release }}/tercel-conformance-chains generate --count 200000 --seed {{ quote(SEED) }}

# Verify the chains of published suites: SUITE is limbo, pkits or bettertls, and DATA is its file or folder.
chain-suite SUITE DATA: programs
    {{ release }}/tercel-conformance-chains {{ quote(SUITE) }} {{ quote(DATA) }}

# Run three terminators that share sessions in a real store, and inject faults; `--quick` takes a few minutes.
fleet *FLAGS="": programs
    {{ release }}/tercel-conformance-fleet --tercel {{ quote(tercel) }} {{ FLAGS }}

# Run a terminator with well-behaved clients among 24,000 misbehaving ones; `--quick` takes a minute.
faults *FLAGS="": programs
    {{ release }}/tercel-conformance-faults --tercel {{ quote(tercel) }} {{ FLAGS }}

# Run unmodified client libraries that use native-tls on Tercel: conformance/rust-users/README.md.
rust-users:
    cargo run --locked --manifest-path conformance/rust-users/Cargo.toml --target-dir {{ rust-users-build }}

# Run unmodified libraries that use rustls on Tercel's provider: conformance/rust-users/README.md.
rustls-users:
    cargo run --locked --manifest-path conformance/rust-users/rustls/Cargo.toml --target-dir {{ rust-users-build }}

# Run rustls' API tests and HPKE tests on Tercel's provider; DIR is a checkout of rustls 0.23.
rustls-tests DIR *FLAGS="":
    tools/rustls-tests.sh {{ quote(DIR) }} {{ FLAGS }}

# Time programs on Tercel, rustls and OpenSSL, alternately: conformance/rust-users/README.md.
rust-users-compare: (timed "compare/rustls") (timed "compare/openssl") (timed ".")
    {{ rust-users-build }}/release/tercel-rust-users compare {{ rust-users-build }}/release/timed-rustls {{ rust-users-build }}/release/timed-openssl

[private]
timed FOLDER:
    cargo build --release --locked --manifest-path {{ quote("conformance/rust-users" / FOLDER / "Cargo.toml") }} --target-dir {{ rust-users-build }}

# Builds the programs of the workspace. Cargo unifies the features of what it builds together: apart from each other,
# these programs would compile most crates of the workspace, and many others, once more for each of them.
[private]
programs:
    cargo build --release --workspace --bins

[private]
peers FEATURES:
    # Cargo unifies the features within a build, and these features exclude each other.
    cargo build --release --locked --manifest-path conformance/peers/Cargo.toml --target-dir {{ quote(build / "peers") }} --no-default-features --features as-it-comes
    cargo build --release --locked --manifest-path conformance/peers/Cargo.toml --target-dir {{ quote(build / "peers") }} {{ FEATURES }}

# Measure Tercel and other libraries, alternating between them: `just lab --quick`; see lab/README.md.
lab *FLAGS:
    cargo run --release --locked --manifest-path lab/Cargo.toml -- run {{ FLAGS }}

# Measure TLS terminators in front of one backend: `just terminators --quick`; see tools/terminators.sh.
terminators *FLAGS:
    cargo build --release --locked -p tercel-cli
    tools/terminators.sh {{ quote(tercel) }} {{ FLAGS }}

# Measure quinn over loopback with Tercel and with rustls, alternating between them; `--only TEXT` selects tasks.
quic-perf *FLAGS="":
    cargo run --release --locked --manifest-path lab/Cargo.toml -p lab-quic-perf -- {{ FLAGS }}

# Count instructions by purpose: `just lab-profile resumed-12-stateless --peers tercel,rustls,floor`.
lab-profile *FLAGS:
    cargo run --release --locked --manifest-path lab/Cargo.toml -- profile {{ FLAGS }}

# Compare the lab's published accounting with the programs that it follows; see tools/cross-check.sh.
cross-check RUSTLS_BENCH OPENSSL_BENCH BORINGSSL_BENCH ROUNDS="5":
    tools/cross-check.sh {{ quote(RUSTLS_BENCH) }} {{ quote(OPENSSL_BENCH) }} {{ quote(BORINGSSL_BENCH) }} {{ ROUNDS }}

# Measure OpenSSL from 1.1.1 to 4.0, release by release.
lab-openssl *FLAGS:
    cargo run --release --locked --manifest-path lab/Cargo.toml -- openssl {{ FLAGS }}

# Run the lab's own tests, with rustls as the only other library.
test-lab: compile-lab
    cargo test --locked --manifest-path lab/Cargo.toml --workspace

# Check lints of the lab, and compile its tests.
[private]
compile-lab:
    cargo clippy --locked --manifest-path lab/Cargo.toml --workspace --all-targets -- -D warnings
    cargo test --no-run --locked --manifest-path lab/Cargo.toml --workspace

# Run the tests that `test-lab` omits, because their libraries take long to build.
test-lab-full:
    cargo test --locked --manifest-path lab/Cargo.toml -p lab --test workers --test openssl -- --ignored

# Check that the lab finds no difference between a library and itself: a few minutes on a quiet machine.
lab-aa PEER="rustls" *FLAGS="": && (lab-aa-verdict)
    cargo run --release --locked --manifest-path lab/Cargo.toml -- run --full --minutes 10 \
        --rows bulk,full,resumed --peers {{ PEER }},{{ PEER }}@2 --out lab-report/aa {{ FLAGS }}

[private]
lab-aa-verdict:
    cargo run --release --locked --manifest-path lab/Cargo.toml -- aa lab-report/aa/report.json

# Load the lab's pages in headless Chromium: no errors, no horizontal scrolling on a phone, screenshots.
lab-page-check:
    tools/lab-page-check.sh

# Measure the cost of crates/crypto's wrappers over the bare AWS-LC calls.
bench-crypto:
    cargo bench --locked --manifest-path lab/Cargo.toml -p lab-bare --bench wrappers

# Time each kernel of hash lanes against AWS-LC's compression of one block.
bench-kernels:
    cargo test --release -p tercel-crypto --lib -- --ignored --nocapture --exact \
        backend::lanes::tests::print_times_of_kernels

# Time the AES-GCM kernel and AWS-LC alternately; fails if the gain at 16 KiB is too small.
kernel-ratios:
    cargo test --release -p tercel-crypto --lib -- --ignored --nocapture --exact \
        backend::kernels::aes_gcm::tests::ratios::print_ratios

# Compare kernels with AWS-LC for every length to 20,000, and with many forgeries and extreme values. What measures time,
# or runs under Valgrind, has recipes of its own.
kernels-long:
    cargo test --release -p tercel-crypto --lib backend::kernels -- --include-ignored --nocapture \
        --skip valgrind --skip constant_time --skip timing --skip ratios

# Run the text of kernels, on portable vectors, in Miri (nightly Rust). It takes about an hour.
miri:
    # Without optimisation there are no kernels, and with little of it they overwrite the stack by assembly.
    MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p tercel-crypto \
        --config 'profile.dev.package.tercel-crypto.opt-level=3' --lib -- in_miri \
        chacha20_poly1305::tests::portable_vectors_give_the_defined_results \
        chacha20_poly1305::tests::counters_wrap \
        chacha20_poly1305::tests::extreme_keys_and_messages \
        chacha20_poly1305::tests::each_number_of_blocks \
        chacha20_poly1305::tests::a_key_for_which_aws_lc_has_a_wrong_tag

# Inspect the machine code of kernels: no calls, no branches on data.
kernel-code:
    tools/kernel-code.sh --self-test
    tools/kernel-code.sh

# Time the kernels of AEADs against AWS-LC; with ALGORITHMS, only these.
bench-aead *ALGORITHMS="":
    cargo bench -p tercel-crypto --bench kernels -- {{ ALGORITHMS }}

# Time RSA-2048 by the kernel and by AWS-LC.
bench-rsa:
    cargo bench -p tercel-crypto --bench rsa

# Test that times of kernels do not depend on secrets, and time AWS-LC in the same run. It takes minutes.
kernel-timing:
    cargo test --release -p tercel-crypto --lib time_does_not_depend_on -- --ignored --nocapture \
        --test-threads=1

# Check under Valgrind that no branch and no address depends on data in hash lanes and kernels, or on private RSA keys.
constant-time:
    tools/constant-time.sh

# Search the stack for data left by hash lanes and kernels, in builds of many profiles.
stack-residue *FLAGS="":
    tools/stack-residue.sh {{ FLAGS }}

# Measure what a server would gain by signing several handshakes together.
bench-batch:
    cargo bench -p tercel-crypto --bench batch

# Check that a test cites each RFC section that the source cites; with CRATES, list sections without one.
musts *CRATES="":
    tools/musts.sh {{ CRATES }}

# Rotate ticket keys of each kind a hundred times in a minute while eight threads resume sessions.
rotation:
    cargo test --release -p tercel --test exchange -- --ignored --nocapture --exact \
        rotation::a_hundred_rotations_in_a_minute_of_each_kind

# Print sizes of handshake futures and of an idle connection.
size:
    cargo test --release -p tercel --lib -- --ignored --nocapture --exact testing::measure::print_future_sizes
    cargo run --release -p tercel --example size

# Print stripped sizes of release builds with and without ECH, kernels and lookups in DNS; a build of minutes each.
program-size *FLAGS="":
    tools/program-size.sh {{ FLAGS }}

# Print how long `tercel --help` takes; fails at 10 ms.
startup:
    cargo build --release --locked -p tercel-cli
    tools/startup.sh {{ quote(tercel) }}

# Print the processor time of a process with one handshake, and those of curl and `openssl s_client`.
first-handshake:
    cargo build --release --locked -p tercel-cli
    tools/first-handshake.sh {{ quote(tercel) }}

# Verify a thousand generated stores of trust anchors here and by `openssl verify`.
stores:
    cargo test -p tercel-pki --test pki a_thousand_stores -- --ignored --nocapture

# Make the files of a release in DIR, and try them out: static programs, packages, images, the C library, checksums, bills
# of materials. `just dist DIR --check` builds twice and compares, `--quick` is for x86-64 only, and
# `--install SUITE` follows the packages in a new system of that release of Debian (root, debootstrap).
dist DIR *FLAGS="":
    cargo run --locked -p tercel-dist -- {{ quote(DIR) }} {{ FLAGS }}

# Count allocations per handshake and side, then instructions under callgrind, without hash lanes.
count:
    cargo run --release -p tercel --example count
    tools/count.sh {{ quote(build / "release/examples/count") }}

# Compare instructions, allocations and sizes with tools/perf-baseline.txt; fails 2 % above it.
perf-check:
    cargo build --release --locked -p tercel --example count --example size --example records
    tools/perf-check.sh {{ quote(build / "release/examples") }}

# Print the cost of hostile 64 KB messages with 1, 1,000 and 4,000 credentials: docs/security/worst-hello.md.
work:
    cargo test --release -p tercel --test work -- report

# Write tools/perf-baseline.txt again, after an intended change.
perf-baseline:
    cargo build --release --locked -p tercel --example count --example size --example records
    tools/perf-check.sh {{ quote(build / "release/examples") }} --renew

# Compare the public interface of each published crate with its listing in docs/api; `just api --renew` writes them.
api *FLAGS="":
    tools/api.sh {{ FLAGS }}

# Check words and line lengths of prose, in all tracked files or only in PATHS.
words *PATHS="":
    tools/words.sh {{ PATHS }}

# Count lines per crate: library code, comments, blank lines, tests, examples; COMMIT instead of the work tree.
lines COMMIT="":
    tools/lines.sh {{ COMMIT }}

# Run the checks of a change; `--all` runs all checks: CONTRIBUTING.md.
ci *FLAGS:
    .ci/run {{ FLAGS }}

# Run tests over and over, in random order, on a busy machine, and print what failed.
stress MINUTES="30":
    .ci/run stress {{ MINUTES }}
