//! Description of the machine, read from Linux's `/proc` and `/sys`. On other systems most fields
//! are empty.

use std::process::Command;

use serde::{Deserialize, Serialize};

use super::procfs::{field, read};

/// Description of the machine on which a run took place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Logical processors.
    pub cpus: usize,
    /// CPU extensions that matter to cryptography.
    pub features: Vec<String>,
    /// Whether the machine is virtual.
    pub virtual_machine: bool,
    /// The frequency governor of the first processor.
    pub governor: String,
    /// Whether the processor may exceed its nominal frequency: `on` or `off`.
    pub turbo: String,
    /// Whether two threads share a core: `1` or `0`.
    pub smt: String,
    /// Bytes of memory.
    pub memory: u64,
    /// The kernel's release.
    pub kernel: String,
    /// The system's name.
    pub system: String,
    /// Version of the Rust compiler.
    pub rustc: String,
    /// Version of the C compiler.
    pub cc: String,
    /// Version of the C++ compiler that BoringSSL's build finds.
    pub cxx: String,
    /// Compiler flags from the environment.
    pub flags: String,
    /// The commit of this repository, followed by `+` if the work tree has changes.
    pub commit: String,
    /// The load averages at the start.
    pub load: String,
}

/// CPU extensions by which the libraries select code.
const FEATURES: [&str; 16] = [
    "aes",
    "pclmulqdq",
    "avx",
    "avx2",
    "bmi2",
    "adx",
    "sha_ni",
    "avx512f",
    "avx512_ifma",
    "vaes",
    "vpclmulqdq",
    "asimd",
    "pmull",
    "sha2",
    "sha3",
    "sha512",
];

impl Machine {
    /// Describes this machine.
    #[must_use]
    pub fn describe() -> Self {
        let cpuinfo = read("/proc/cpuinfo");
        let flags = field(&cpuinfo, "flags").or(field(&cpuinfo, "Features")).unwrap_or_default();
        let has = |name: &str| flags.split_whitespace().any(|flag| flag == name);
        let name = field(&cpuinfo, "model name").unwrap_or("unknown").to_owned();
        let memory = field(&read("/proc/meminfo"), "MemTotal")
            .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        let system = read("/etc/os-release");
        let system = system.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
        Self {
            cpu: name,
            cpus: std::thread::available_parallelism().map_or(0, usize::from),
            features: FEATURES
                .iter()
                .filter(|name| has(name))
                .map(|&name| name.to_owned())
                .collect(),
            virtual_machine: has("hypervisor"),
            governor: or_unknown(&read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
            turbo: turbo(),
            smt: or_unknown(&read("/sys/devices/system/cpu/smt/active")),
            memory: memory.unwrap_or_default() * 1024,
            kernel: or_unknown(&read("/proc/sys/kernel/osrelease")),
            system: system.unwrap_or(std::env::consts::OS).trim_matches('"').to_owned(),
            rustc: first_line("rustc", &["--version"]),
            cc: first_line("cc", &["--version"]),
            cxx: first_line("c++", &["--version"]),
            flags: outside_flags(),
            commit: commit(),
            load: read("/proc/loadavg").trim().to_owned(),
        }
    }
}

fn or_unknown(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { "unknown".to_owned() } else { text.to_owned() }
}

/// Whether turbo is on. Intel's driver reports whether it is disabled, others whether it is
/// enabled.
fn turbo() -> String {
    let off = read("/sys/devices/system/cpu/intel_pstate/no_turbo");
    let on = read("/sys/devices/system/cpu/cpufreq/boost");
    match (off.trim(), on.trim()) {
        ("0", _) | (_, "1") => "on".to_owned(),
        ("1", _) | (_, "0") => "off".to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// Compiler variables of this program's environment. Builds of workers inherit them.
fn outside_flags() -> String {
    let names = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CC", "CXX", "CFLAGS", "CXXFLAGS"];
    let set = names.iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
    let set: Vec<_> = set.map(|(name, value)| format!("{name}={value}")).collect();
    if set.is_empty() { "none".to_owned() } else { set.join(" ") }
}

fn first_line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    or_unknown(text.unwrap_or_default().lines().next().unwrap_or_default())
}

fn commit() -> String {
    let folder = env!("CARGO_MANIFEST_DIR");
    let commit = first_line("git", &["-C", folder, "rev-parse", "--short=12", "HEAD"]);
    let changed = first_line("git", &["-C", folder, "status", "--porcelain"]) != "unknown";
    if changed { commit + "+" } else { commit }
}
