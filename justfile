# One door for all chores. `just` lists them; CI runs the same ones.

build := absolute_path(env("CARGO_TARGET_DIR", justfile_directory() / "target"))
tercel := build / "release/tercel"
peers := build / "peers/release"

# List the recipes.
default:
    @just --list --unsorted

# Install what the recipes need (cargo's helpers; on Debian, as root, the other programs).
setup:
    tools/setup.sh

# Run every test, the replay of the fuzz corpus included.
test:
    cargo test --workspace

# What threads share, in every interleaving: `just loom`, or with a part of a model's name.
loom MODEL="":
    tools/loom.sh {{ quote(MODEL) }}

# Formatting, lints with each set of features, documentation.
check:
    cargo fmt --all --check
    cargo fmt --manifest-path fuzz/Cargo.toml --check
    cargo fmt --manifest-path conformance/peers/Cargo.toml --all --check
    cargo fmt --manifest-path lab/Cargo.toml --all --check
    cargo fmt --manifest-path lab/workers/openssl/Cargo.toml --check
    cargo fmt --manifest-path lab/workers/boringssl/Cargo.toml --check
    cargo fmt --manifest-path lab/workers/s2n-tls/Cargo.toml --check
    cargo fmt --manifest-path lab/workers/rustls-0-24/Cargo.toml --check
    cargo fmt --manifest-path lab/series/openssl-4.0/Cargo.toml --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo clippy --workspace --all-targets --all-features -- -D warnings
    cargo clippy --workspace --all-targets --no-default-features -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features

# Whether a test seam is in what a build of the workspace makes.
seams:
    tools/seams.sh

# What the dependency trees may hold, and known advisories against them.
deny: deny-offline
    tools/advisories.sh

# The checks of the dependency trees that need no network.
deny-offline:
    tools/deny.sh bans licenses sources

# Check everything with the minimum Rust version.
msrv:
    tools/msrv.sh

# The core's tests for aarch64 under qemu-user; builds for musl and Windows checked.
cross:
    tools/cross.sh

# Live connections handed to Linux' record layer, in an emulator if this kernel has none.
kernel-tls:
    tools/kernel-tls.sh

# Fuzz one target.
fuzz TARGET SECONDS="600":
    tools/fuzz.sh {{ SECONDS }} {{ TARGET }}

# Fuzz every target for some seconds.
fuzz-smoke SECONDS="10":
    tools/fuzz.sh {{ SECONDS }}

# BoringSSL's test runner; DIR is its ssl/test/runner, TESTS a file of names or `a;b` patterns.
bogo DIR TESTS="" *FLAGS="":
    tools/bogo.sh {{ quote(DIR) }} {{ quote(TESTS) }} {{ FLAGS }}

# How many tests of LIST passed, group by group; RESULTS is what the runner wrote with `-json-output`.
bogo-table LIST RESULTS:
    tools/bogo-table.sh {{ quote(LIST) }} {{ quote(RESULTS) }}

# Where we answer otherwise than BoringSSL: whether we still answer as written down.
bogo-deviations DIR:
    tools/bogo-deviations.sh {{ quote(DIR) }}

# Other TLS programs against ours, both ways, and the peers over rustls.
interop *FLAGS="": (peers "")
    cargo build --release -p tercel-cli
    cargo run --release -p tercel-interop -- --tercel {{ quote(tercel) }} --peers {{ quote(peers) }} {{ FLAGS }}

# The same with every cell, and every peer of conformance/peers, some of which take long to build.
interop-full *FLAGS="": (peers "--features full")
    cargo build --release -p tercel-cli
    cargo run --release -p tercel-interop -- --full --tercel {{ quote(tercel) }} --peers {{ quote(peers) }} {{ FLAGS }}

# Three terminators that share sessions in a real store, and what befalls them: `just fleet --quick` in four minutes.
fleet *FLAGS="":
    cargo build --release -p tercel-cli
    cargo run --release -p tercel-conformance-fleet -- --tercel {{ quote(tercel) }} {{ FLAGS }}

# Good clients of a terminator among 24,000 bad ones: `just faults --quick` in a minute.
faults *FLAGS="":
    cargo build --release -p tercel-cli
    cargo run --release -p tercel-conformance-faults -- --tercel {{ quote(tercel) }} {{ FLAGS }}

[private]
peers FEATURES:
    # Features are united within a build, and these exclude each other.
    cargo build --release --locked --manifest-path conformance/peers/Cargo.toml --target-dir {{ quote(build / "peers") }} --no-default-features --features as-it-comes
    cargo build --release --locked --manifest-path conformance/peers/Cargo.toml --target-dir {{ quote(build / "peers") }} {{ FEATURES }}

# Tercel and other libraries measured side by side: `just lab --quick`; lab/README.md says how.
lab *FLAGS:
    cargo run --release --locked --manifest-path lab/Cargo.toml -- run {{ FLAGS }}

# TLS terminators in front of one backend: `just terminators --quick`; tools/terminators.sh says what is measured.
terminators *FLAGS:
    cargo build --release --locked -p tercel-cli
    tools/terminators.sh {{ quote(tercel) }} {{ FLAGS }}

# Where the instructions of rows go, by purpose: `just lab-profile resumed-12-stateless --peers tercel,rustls,floor`.
lab-profile *FLAGS:
    cargo run --release --locked --manifest-path lab/Cargo.toml -- profile {{ FLAGS }}

# Whether the lab's published accounting agrees with the programs it follows; tools/cross-check.sh says what it wants.
cross-check RUSTLS_BENCH OPENSSL_BENCH BORINGSSL_BENCH ROUNDS="5":
    tools/cross-check.sh {{ quote(RUSTLS_BENCH) }} {{ quote(OPENSSL_BENCH) }} {{ quote(BORINGSSL_BENCH) }} {{ ROUNDS }}

# OpenSSL from 1.1.1 to 4.0, release by release.
lab-openssl *FLAGS:
    cargo run --release --locked --manifest-path lab/Cargo.toml -- openssl {{ FLAGS }}

# The lab's own tests, with rustls as the only foreign peer.
test-lab:
    cargo clippy --locked --manifest-path lab/Cargo.toml --workspace --all-targets -- -D warnings
    cargo test --locked --manifest-path lab/Cargo.toml --workspace

# Every row with the workers that `test-lab` leaves out, because their libraries take long to build.
test-lab-full:
    cargo test --locked --manifest-path lab/Cargo.toml -p lab --test workers --test openssl -- --ignored

# Whether a library ties with itself, as it must: some minutes on a quiet machine.
lab-aa PEER="rustls" *FLAGS="": && (lab-aa-verdict)
    cargo run --release --locked --manifest-path lab/Cargo.toml -- run --full --minutes 10 \
        --rows bulk,full,resumed --peers {{ PEER }},{{ PEER }}@2 --out lab-report/aa {{ FLAGS }}

[private]
lab-aa-verdict:
    cargo run --release --locked --manifest-path lab/Cargo.toml -- aa lab-report/aa/report.json

# The lab's pages in headless Chromium: no complaints, no sideways scrolling on a phone, pictures to look at.
lab-page-check:
    tools/lab-page-check.sh

# What the wrappers of crates/crypto cost over the bare foreign calls.
bench-crypto:
    cargo bench -p tercel-crypto --features bench-bare --bench wrappers

# Whether a branch or an address depends on what hash lanes hash, under Valgrind.
constant-time:
    tools/constant-time.sh

# What hash lanes leave on the stack, in builds of many profiles.
stack-residue:
    tools/stack-residue.sh

# What signing several handshakes together would gain a server.
bench-batch:
    cargo bench -p tercel-crypto --bench batch

# Sections of RFCs that the source cites and no test does: where a rule may lack its test.
musts *CRATES="":
    tools/musts.sh {{ CRATES }}

# Ticket keys that rotate a hundred times in a minute while eight threads resume, of each kind.
rotation:
    cargo test --release -p tercel --test exchange -- --ignored --nocapture --exact \
        rotation::a_minute_of_each_with_a_hundred_rotations

# Sizes: handshake futures, an idle connection.
size:
    cargo test --release -p tercel --lib -- --ignored --nocapture --exact testing::measure::print_future_sizes
    cargo run --release -p tercel --example size

# Allocations per handshake and side, then instructions under callgrind, hashes one after the other.
count:
    cargo run --release -p tercel --example count
    tools/count.sh {{ quote(build / "release/examples/count") }}

# Instructions of our own, allocations and sizes against tools/perf-baseline.txt: fails 2 % above it.
perf-check:
    cargo build --release --locked -p tercel --example count --example size --example records
    tools/perf-check.sh {{ quote(build / "release/examples") }}

# What hostile messages of 64 KB cost, with 1, 1,000 and 4,000 credentials: the figures in SECURITY.md. `cargo test` checks
# that none of it grows with a product.
work:
    cargo test --release -p tercel --test work -- report

# Writes that file anew, after a change that was meant.
perf-baseline:
    cargo build --release --locked -p tercel --example count --example size --example records
    tools/perf-check.sh {{ quote(build / "release/examples") }} --renew

# All that CI runs.
ci:
    .ci/run
