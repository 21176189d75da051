//! The machine: what it is, and how busy it was with other things.
//!
//! Read from Linux' files; elsewhere most of it stays empty. Must not know: rows.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// Where a run took place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Logical processors.
    pub cpus: usize,
    /// Those of its extensions that cryptography uses.
    pub features: Vec<String>,
    /// Whether it is a virtual machine.
    pub virtual_machine: bool,
    /// The frequency governor of the first processor.
    pub governor: String,
    /// Whether the processor may exceed its nominal frequency: `on`, `off`.
    pub turbo: String,
    /// Whether two threads share a core: `1`, `0`.
    pub smt: String,
    /// Bytes of memory.
    pub memory: u64,
    /// The kernel's release.
    pub kernel: String,
    /// The system's name.
    pub system: String,
    /// The Rust compiler.
    pub rustc: String,
    /// The C compiler.
    pub cc: String,
    /// The C++ compiler that BoringSSL's build finds.
    pub cxx: String,
    /// Flags that the environment gives to compilers.
    pub flags: String,
    /// The commit of this repository, with a plus sign if files were changed.
    pub commit: String,
    /// The load averages at the start.
    pub load: String,
}

/// Extensions that the libraries choose code by.
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
    /// This machine.
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

/// Watches, over some time, how many CPUs other programs keep busy.
pub(crate) struct Watch {
    start: Instant,
    busy: Option<u64>,
    own: Option<u64>,
}

/// Ticks in a second, in every file below /proc.
const TICKS: f64 = 100.0;

impl Watch {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), busy: busy_ticks(), own: own_ticks() }
    }

    /// CPUs that others kept busy since the start. Workers count as our own once they have ended.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn others(&self) -> Option<f64> {
        let busy = busy_ticks()?.checked_sub(self.busy?)?;
        let own = own_ticks()?.checked_sub(self.own?)?;
        let seconds = self.start.elapsed().as_secs_f64();
        Some(busy.saturating_sub(own) as f64 / TICKS / seconds.max(0.01))
    }
}

/// Ticks that all CPUs worked, or were taken away by the host.
fn busy_ticks() -> Option<u64> {
    let stat = read("/proc/stat");
    let mut fields = stat.lines().next()?.split_whitespace().skip(1);
    let fields: Option<Vec<u64>> = fields.by_ref().take(8).map(|text| text.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal
    let [user, nice, system, _, _, irq, softirq, steal] = fields?[..] else { return None };
    Some(user + nice + system + irq + softirq + steal)
}

/// Ticks of this process and of its children that have ended.
fn own_ticks() -> Option<u64> {
    let stat = read("/proc/self/stat");
    // The name of the program may hold anything; it ends with the last parenthesis.
    let (_, after) = stat.rsplit_once(')')?;
    // utime, stime, cutime, cstime are the fields 14 to 17, and `after` begins with field 3.
    let ticks = after.split_whitespace().skip(11).take(4);
    ticks.map(|text| text.parse::<u64>().ok()).sum()
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn or_unknown(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { "unknown".to_owned() } else { text.to_owned() }
}

/// Intel's driver says whether it is off, others whether it is on.
fn turbo() -> String {
    let off = read("/sys/devices/system/cpu/intel_pstate/no_turbo");
    let on = read("/sys/devices/system/cpu/cpufreq/boost");
    match (off.trim(), on.trim()) {
        ("0", _) | (_, "1") => "on".to_owned(),
        ("1", _) | (_, "0") => "off".to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// What compilers are told by the environment of this program, and so of the workers' builds.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_busy_loop_of_our_own_is_not_others_work() {
        let before = own_ticks().unwrap();
        let start = Instant::now();
        while start.elapsed().as_millis() < 100 {
            std::hint::black_box(0);
        }
        // On a machine with other work a tenth of a second is not all ours.
        assert!(own_ticks().unwrap() > before);
        assert!(busy_ticks().is_some());
        assert!(Watch::start().others().is_some());
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "cpu family\t: 6\nmodel\t\t: 143\nmodel name\t: A CPU: fast\n";
        assert_eq!(field(text, "model name"), Some("A CPU: fast"));
        assert_eq!(field(text, "model"), Some("143"));
        assert_eq!(field(text, "name"), None);
    }
}
