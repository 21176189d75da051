//! The work that one hostile message can cause in a handshake, counted in instructions.
//!
//! The tests fill every list of a ClientHello and of a CertificateRequest to its maximum length,
//! with few and with many credentials, application protocols, pre-shared keys and ticket keys. The
//! work may grow with the list and with the configuration, but not with their product. The work for
//! an Encrypted ClientHello that no key opens is that of one HPKE operation for each key that has
//! its identifier. The work for a chain of certificates has a limit.
//!
//! There is no test harness: this program runs itself under callgrind, which counts the same
//! instructions on every machine and under any load, and needs no support in the library. Without
//! Valgrind it prints `absent:`. `just work` prints the table of docs/security/worst-hello.md.

#[path = "../exchange/fixtures.rs"]
#[allow(dead_code)]
mod fixtures;
#[path = "../exchange/pair.rs"]
#[allow(dead_code)]
mod pair;
#[path = "../exchange/unknown_extensions.rs"]
mod unknown_extensions;

mod chains;
mod configs;
#[cfg(feature = "ech")]
mod encrypted;
mod hellos;
mod lists;
mod requests;
mod retries;

use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use tercel::crypto::{Kernel, use_kernel};
use tercel::{Answer, Handshake, Next, Question, ReceiveBuffer};

/// The number of entries in a configuration's lists: credentials, protocols, pre-shared keys.
const FEW: usize = 1;
const MANY: usize = 150;

/// The bytes of the filled list; a message has at most 64 KB. Builds without optimization use fewer
/// bytes, which is enough for the test and takes a tenth of the time.
pub(crate) const ROOM: usize = if cfg!(debug_assertions) { 4000 } else { 60_000 };

/// A message that a handshake processes.
pub(crate) struct Case {
    /// The name of the filled list.
    pub(crate) kind: String,
    /// The length of the list in halves of its maximum.
    pub(crate) halves: usize,
    /// The number of entries of the configuration's lists.
    pub(crate) scale: usize,
    /// Processes the message in [`counted`].
    pub(crate) run: Box<dyn Fn()>,
}

impl Case {
    /// Whether the case with half of the list is also counted: with many entries and the plain
    /// configuration.
    fn counts_half(&self, scale: usize) -> bool {
        scale == MANY && !self.kind.ends_with("asking") && !self.kind.ends_with("issuers")
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["measure", scales @ ..] => measure(&numbers(scales)),
        ["report"] => report(&[FEW, 1000, 4000]),
        data if data.contains(&"--list") => println!("work: test"),
        data if data.iter().any(|word| !word.starts_with('-') && !"work".contains(word)) => {}
        _ => check(),
    }
}

fn numbers(data: &[&str]) -> Vec<usize> {
    data.iter().map(|word| word.parse().expect("a number")).collect()
}

/// The count of callgrind for a case.
pub(crate) struct Counted {
    pub(crate) kind: String,
    halves: usize,
    pub(crate) scale: usize,
    pub(crate) instructions: u64,
}

/// Fails if the work for a long list is larger with many credentials than with few, or if it more
/// than doubles with the length.
fn check() {
    let Some(counted) = count(&[FEW, MANY]) else { return println!("absent: valgrind") };
    let mut faults = Vec::new();
    let mut kinds = 0;
    for full in counted.iter().filter(|each| each.halves == 2 && each.scale == MANY) {
        let of = |halves, scale| {
            let is = |each: &&Counted| {
                (&each.kind, each.halves, each.scale) == (&full.kind, halves, scale)
            };
            counted.iter().find(is).map(|each| each.instructions)
        };
        let empty = |scale| of(0, scale).expect("an empty list");
        let few = of(2, FEW).expect("the same case with few").saturating_sub(empty(FEW));
        let many = full.instructions.saturating_sub(empty(MANY));
        let half = of(1, MANY).map(|half| half.saturating_sub(empty(MANY)));
        kinds += 1;
        println!(
            "{}: {many} added with {MANY}, {few} with {FEW}, {half:?} by half of it",
            full.kind
        );
        // Counts vary by a few thousand instructions, because of allocations and the order of hash
        // tables.
        if many > few * 3 / 2 + SLACK {
            faults.push(format!("{}: adds {many} with {MANY}, {few} with {FEW}", full.kind));
        }
        if half.is_some_and(|half| many > half * 5 / 2 + SLACK) {
            faults.push(format!("{}: adds {many}, half of it {half:?}", full.kind));
        }
    }
    #[cfg(feature = "ech")]
    faults.extend(encrypted::check(&counted));
    faults.extend(chains::check(&counted));
    assert!(kinds > 30, "only {kinds} kinds of message");
    assert!(faults.is_empty(), "work that is not bounded:\n{}", faults.join("\n"));
    println!("work: {kinds} kinds of message, linear in each list and in the configuration");
}

pub(crate) const SLACK: u64 = 200_000;

/// Prints the cost of each message, as a share of an ordinary handshake.
fn report(scales: &[usize]) {
    let Some(counted) = count(scales) else { return println!("absent: valgrind") };
    let of = |kind: &str, scale| {
        counted.iter().find(|each| each.kind == kind && each.halves == 2 && each.scale == scale)
    };
    let ordinary = of(hellos::ORDINARY, FEW).expect("an ordinary handshake").instructions;
    println!(
        "instructions of a full message, and their share of an ordinary handshake ({ordinary})"
    );
    for first in counted.iter().filter(|each| each.halves == 2 && each.scale == FEW) {
        print!("{:<60}", first.kind);
        for scale in scales {
            let Some(each) = of(&first.kind, *scale) else { continue };
            let percent = each.instructions * 100 / ordinary;
            print!("  {scale}: {:>10} ({percent:>4} %)", each.instructions);
        }
        println!();
    }
    #[cfg(feature = "ech")]
    encrypted::report(&counted, ordinary);
    chains::report(&counted, ordinary);
}

/// Runs this program under callgrind. `None` if callgrind is missing, or if it cannot run this
/// program: tests may run in an emulator, with the Valgrind of the machine.
fn count(scales: &[usize]) -> Option<Vec<Counted>> {
    let probe = ["--quiet", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let probe = Command::new("valgrind")
        .args(probe)
        .arg(std::env::current_exe().expect("this program"))
        .arg("--list")
        .output()
        .ok()?;
    if !probe.status.success() {
        return None;
    }
    let folder = std::env::temp_dir().join(format!("tercel-work-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = std::env::current_exe().expect("this program");
    let output = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", "--collect-atstart=no"])
        .args(["--toggle-collect=work::counted", "--dump-after=work::end_of_case"])
        .arg("--toggle-collect=work::chains::counted_refusal")
        .arg(format!("--callgrind-out-file={}", folder.join("counted").display()))
        .arg(program)
        .arg("measure")
        .args(scales.iter().map(ToString::to_string))
        .output()
        .expect("valgrind runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complaint}");
    let counted = said.lines().zip(1..).map(|(line, number)| {
        let mut data = line.split('\t');
        let mut next = || data.next().expect("kind, halves, scale");
        Counted {
            kind: next().to_owned(),
            halves: next().parse().expect("a number"),
            scale: next().parse().expect("a number"),
            instructions: total(&folder.join(format!("counted.{number}"))),
        }
    });
    let counted = counted.collect();
    std::fs::remove_dir_all(&folder).expect("removed");
    Some(counted)
}

fn total(dump: &Path) -> u64 {
    let text =
        std::fs::read_to_string(dump).unwrap_or_else(|_| panic!("{} is missing", dump.display()));
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    total.expect("a total").trim().parse().expect("a number")
}

fn measure(scales: &[usize]) {
    tercel::crypto::use_hash_lanes(false);
    Kernel::ALL.iter().for_each(|kernel| use_kernel(*kernel, false));
    for scale in scales {
        let cases = [hellos::cases(*scale), requests::cases(*scale), retries::cases(*scale)];
        for case in cases.into_iter().flatten() {
            if case.halves == 1 && !case.counts_half(*scale) {
                continue;
            }
            (case.run)();
            end_of_case();
            println!("{}\t{}\t{}", case.kind, case.halves, case.scale);
        }
    }
    #[cfg(feature = "ech")]
    let of_ech = encrypted::cases();
    #[cfg(not(feature = "ech"))]
    let of_ech = Vec::new();
    for case in chains::cases().into_iter().chain(of_ech) {
        (case.run)();
        end_of_case();
        println!("{}\t{}\t{}", case.kind, case.halves, case.scale);
    }
}

/// Callgrind writes its counts when this function returns.
#[inline(never)]
fn end_of_case() {
    black_box(());
}

/// Advances a handshake with the received bytes and answers its questions. Callgrind counts all of
/// it.
#[inline(never)]
pub(crate) fn counted(
    handshake: &mut Handshake,
    received: &mut ReceiveBuffer,
    out: &mut Vec<u8>,
    answer: &dyn Fn(&Question) -> Answer,
) -> bool {
    loop {
        match handshake.advance(received, out) {
            Ok(Next::Answer(question)) => {
                handshake.answer(answer(&question)).expect("an open question");
            }
            Ok(Next::Connected(connection)) => {
                black_box(connection);
                return true;
            }
            Ok(_) => return false,
            // Most messages end in a refusal, whose cost also counts.
            Err(_) => return true,
        }
    }
}

/// An answer for configurations that ask no questions.
pub(crate) fn no_question(question: &Question) -> Answer {
    panic!("unexpected question {question:?}")
}
