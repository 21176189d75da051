//! The steps. Those for which others wait, and the longest, come first.

use crate::step::Step;

/// Programs of the interop runs.
const INTEROP: &[&str] = &[
    "openssl",
    "curl",
    "gnutls-bin",
    "golang",
    "python3",
    "nodejs",
    "default-jdk-headless",
    "libnss3-tools",
    "libwolfssl-dev",
    "libmbedtls-dev",
    "botan",
    "chromium",
    "erlang-base",
    "erlang-ssl",
    "ruby",
    "libio-socket-ssl-perl",
    "php-cli",
];

pub(crate) const STEPS: &[Step] = &[
    Step::each_change("test", "cargo test --workspace", 8)
        .builds_in("debug")
        .with_sockets()
        .needs(&["ccache", "curl", "openssl", "valgrind", "redis-server", "mandoc", "zsh", "fish"]),
    Step::of_code("programs", "just programs", 4).builds_in("release").needs(&["ccache"]).quick(),
    Step::of_code("api", "just api", 3).builds_in("api").needs(&["cargo-public-api"]),
    Step::of_code(
        "interop-short",
        "just programs; \"${CARGO_TARGET_DIR:-target}\"/release/tercel-interop --short",
        2,
    )
    .builds_in("release")
    .after(&["programs"])
    .with_sockets()
    .needs(&["openssl", "curl", "gnutls-bin"])
    .quick(),
    Step::of_code("test-libssl", "just test-libssl", 2)
        .builds_in("debug")
        .after(&["test"])
        .with_sockets()
        .needs(&["openssl", "libssl-dev"]),
    Step::of_code("test-c", "just test-c", 3)
        .builds_in("debug")
        .after(&["test"])
        .with_sockets()
        .needs(&["openssl", "valgrind", "libuv1-dev", "python3-cffi"]),
    Step::of_code("lints", "just lints", 4).builds_in("debug").after(&["test"]),
    Step::of_code("documentation", "just documentation", 1).builds_in("debug").after(&["test"]),
    Step::of_code("seams", "just seams", 3).builds_in("debug").after(&["test", "programs"]).quick(),
    // `cargo test` has replayed the corpus with the same code; this compiles the programs of the
    // fuzz targets.
    Step::of_code("fuzz-check", "just fuzz-check", 1).builds_in("debug").after(&["test"]),
    Step::of_code("perf-check", "just perf-check", 4)
        .builds_in("release")
        .after(&["programs", "interop-short"])
        .needs(&["valgrind"]),
    Step::each_change("format", "just format", 1),
    Step::each_change("words", "just words --self-test && just words", 1),
    Step::each_change("musts", "just musts", 1),
    Step::each_change("package-lists", "just package --lists", 1),
    Step::of_code("deny", "just deny-offline", 1).needs(&["cargo-deny"]),
    Step::rotating(0, "interop", "just interop", 5)
        .builds_in("release")
        .after(&["programs"])
        .with_sockets()
        .needs(INTEROP)
        .long("just interop --full")
        .quick(),
    Step::rotating(1, "faults", "just faults --quick", 3)
        .builds_in("release")
        .after(&["programs"])
        .with_sockets()
        .needs(&["faketime"])
        .long("just faults")
        .quick(),
    Step::rotating(1, "fleet", "just fleet --quick", 4)
        .builds_in("release")
        .after(&["programs"])
        .with_sockets()
        .needs(&["redis-server", "haproxy"])
        .quick(),
    Step::rotating(2, "chains", "just chains", 2)
        .builds_in("release")
        .after(&["programs"])
        .needs(&["openssl", "golang"])
        .long("just chains --count 20000")
        .quick(),
    Step::rotating(2, "cross", "just cross --quick", 7)
        .builds_in("cross")
        .needs(&[
            "qemu-user",
            "gcc-aarch64-linux-gnu",
            "libc6-dev-arm64-cross",
            "gcc-mingw-w64-x86-64",
            "musl-tools",
        ])
        .long("just cross"),
    Step::rotating(3, "msrv", "just msrv", 3).builds_in("msrv"),
    Step::rotating(4, "minimal-versions", "just minimal-versions", 3).builds_in("minimal-versions"),
    Step::rotating(3, "loom", "just loom", 2).builds_in("debug").after(&["test"]),
    Step::rotating(3, "stack-residue", "just stack-residue --quick", 2)
        .builds_in("release")
        .after(&["programs"])
        .long("just stack-residue"),
    Step::rotating(4, "lab", "just test-lab", 5).builds_in("lab").with_sockets(),
    Step::rotating(4, "lab-page", "just lab-page-check", 1)
        .builds_in("lab")
        .after(&["lab"])
        .needs(&["chromium"]),
    Step::rotating(0, "fips", "just test-fips", 5)
        .builds_in("debug")
        .after(&["test"])
        .needs(&["golang", "cmake"])
        .long("just test-fips-all"),
    // The profile is that of a release in both forms, because the step removes the variables of
    // quick builds. With --check, everything is compiled twice, and for aarch64, too.
    Step::rotating(4, "dist", "just dist \"${CARGO_TARGET_DIR:-target}/dist/files\" --quick", 8)
        .builds_in("dist")
        .after(&["test"])
        .with_sockets()
        .needs(&[
            "musl-tools",
            "musl-dev:arm64",
            "gcc-aarch64-linux-gnu",
            "qemu-user-static",
            "rpm",
            "umoci",
            "faketime",
        ])
        .long("just dist \"${CARGO_TARGET_DIR:-target}/dist/files\" --check"),
    Step::rotating(2, "package", "just package", 2).builds_in("debug").after(&["test"]),
    Step::rotating(0, "kernels", "just kernel-code kernels-long", 3)
        .builds_in("release")
        .after(&["programs"])
        .long("just kernel-code kernels-long constant-time"),
    Step::rotating(
        1,
        "features",
        "cargo test -p tercel-cli --no-default-features --test program features::",
        2,
    )
    .builds_in("debug")
    .after(&["test"])
    .with_sockets(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contributing_lists_each_step_in_its_tier() {
        let text = include_str!("../../../CONTRIBUTING.md");
        let item = |start: &str| {
            let from =
                text.find(start).unwrap_or_else(|| panic!("CONTRIBUTING.md has no item {start}"));
            text.get(from..).and_then(|rest| rest.split("\n- ").next()).unwrap_or_default()
        };
        let (each_change, rotating) = (item("- Steps of each change"), item("- Rotating steps"));
        for step in STEPS {
            let (own, other) =
                if step.rotates() { (rotating, each_change) } else { (each_change, rotating) };
            let name = format!("`{}`", step.name);
            assert!(own.contains(&name) && !other.contains(&name), "{name} in CONTRIBUTING.md");
        }
    }
}
