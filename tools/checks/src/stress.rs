//! Runs tests over and over while there is a load of twice the machine's cores, to find those
//! that depend on a quiet machine.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::step::Step;
use crate::steps::STEPS;

/// A program of tests, and the folder in which cargo runs it.
struct Program {
    path: PathBuf,
    folder: PathBuf,
}

/// Runs until `duration` has passed and prints what failed. Returns whether all passed.
pub(crate) fn stress(duration: Duration) -> Result<bool, String> {
    let programs = test_programs()?;
    build_programs()?;
    // The step `test` runs the programs.
    let repeated = |step: &&Step| step.uses_sockets && !step.rotates() && step.name != "test";
    let steps: Vec<_> = STEPS.iter().filter(repeated).collect();
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.subsec_nanos());
    let mut random = Random(u64::from(now) + 1);
    let ended = AtomicBool::new(false);
    let (mut runs, mut failures) = (0_u64, BTreeMap::<String, u64>::new());
    println!(
        "{} test programs and {} steps, with {} busy threads",
        programs.len(),
        steps.len(),
        2 * cores
    );
    thread::scope(|scope| {
        for _ in 0..2 * cores {
            scope.spawn(|| {
                let mut counter = 0_u64;
                while !ended.load(Ordering::Relaxed) {
                    counter = black_box(counter.wrapping_add(1));
                }
            });
        }
        let started = Instant::now();
        while started.elapsed() < duration {
            let choice = random.below(programs.len() + steps.len());
            let (name, command) = match programs.get(choice) {
                Some(program) => (name(&program.path), test_command(program, &mut random)),
                None => {
                    let step = steps[choice - programs.len()];
                    let mut command = Command::new("bash");
                    command.args(["-euo", "pipefail", "-c", step.command]).envs(step.environment());
                    (step.name.to_owned(), command)
                }
            };
            runs += 1;
            if let Err(output) = passes(command) {
                println!(
                    "\nFAILED after {:.0} minutes: {name}\n{output}",
                    started.elapsed().as_secs_f64() / 60.0
                );
                *failures.entry(name).or_default() += 1;
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    println!(
        "{} minutes, {runs} runs, {} failures",
        duration.as_secs() / 60,
        failures.values().sum::<u64>()
    );
    for (name, count) in &failures {
        println!("failed {count} times: {name}");
    }
    Ok(failures.is_empty())
}

/// The programs that `cargo test --workspace` runs.
fn test_programs() -> Result<Vec<Program>, String> {
    let arguments = ["test", "--workspace", "--locked", "--no-run", "--message-format=json"];
    let output = Command::new("cargo").args(arguments).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err("cargo test --no-run failed".to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let programs: Vec<_> = text.lines().filter_map(Program::of_line).collect();
    if programs.is_empty() { Err("no test program".to_owned()) } else { Ok(programs) }
}

/// Builds the programs that steps run. Under load, the build would take most of the time.
fn build_programs() -> Result<(), String> {
    let status = Command::new("just").arg("programs").status();
    match status.map_err(|error| format!("just: {error}"))?.success() {
        true => Ok(()),
        false => Err("just programs failed".to_owned()),
    }
}

impl Program {
    /// Reads a line of cargo's JSON.
    fn of_line(line: &str) -> Option<Self> {
        let path = string_after(line, r#""executable":""#)?;
        let manifest = string_after(line, r#""manifest_path":""#)?;
        // The profile, not the target, says whether the program contains the tests.
        let is_test = line.contains(r#""test":true},"features""#);
        is_test
            .then_some(Self { path: path.into(), folder: Path::new(manifest).parent()?.to_owned() })
    }
}

/// The value of a JSON string without escapes.
fn string_after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_once(key)?.1.split('"').next()
}

fn name(program: &Path) -> String {
    program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn test_command(program: &Program, random: &mut Random) -> Command {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder);
    command.env("CARGO_MANIFEST_DIR", &program.folder);
    // The order of tests can be changed by unstable options only, which this variable permits.
    command.env("RUSTC_BOOTSTRAP", "1");
    command.args(["-Zunstable-options", "--shuffle-seed", &random.next().to_string()]);
    command
}

/// Runs a command; the error is the end of its output.
fn passes(mut command: Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let lines: Vec<_> = text.lines().collect();
    Err(format!("{}\n{}", lines[lines.len().saturating_sub(60)..].join("\n"), output.status))
}

/// Numbers without a visible order (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        let [.., a, b] = self.next().to_le_bytes();
        usize::from(u16::from_le_bytes([a, b])) % end
    }
}
