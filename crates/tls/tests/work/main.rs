//! What one hostile message can make a handshake compute, counted in instructions.
//!
//! For: every list of a ClientHello and of a CertificateRequest, as long as its message may be, against few and against
//! many credentials, application protocols, pre-shared keys and ticket keys. The work may grow with the list, and with
//! the configuration, and not with the product of both.
//!
//! Not the usual harness: this program runs itself under callgrind, which counts the same instructions on every machine
//! and under any load, and needs nothing in the library. Without Valgrind it says `absent:`. `just work` prints what
//! SECURITY.md quotes. Must not know: which lists are reduced, and how. Next: `hellos.rs`, `requests.rs`.

#[path = "../exchange/identity.rs"]
#[allow(dead_code)]
mod identity;
#[path = "../exchange/pair.rs"]
#[allow(dead_code)]
mod pair;

mod configs;
mod hellos;
mod requests;

use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use tercel::{Answer, Handshake, Next, Question, Received};

/// Entries of a configuration's lists: credentials, protocols, pre-shared keys.
const FEW: usize = 1;
const MANY: usize = 150;

/// Bytes that a list may have, besides the rest of its message of 64 KB. Without optimization the same is shown by less,
/// in a tenth of the time.
pub(crate) const ROOM: usize = if cfg!(debug_assertions) { 4000 } else { 60_000 };

/// One message to be answered.
pub(crate) struct Case {
    /// What the message is full of.
    pub(crate) kind: String,
    /// Of how much of what fits into it, in halves.
    pub(crate) halves: usize,
    /// Entries of the configuration's lists.
    pub(crate) scale: usize,
    /// Handles the message in [`counted`].
    pub(crate) run: Box<dyn Fn()>,
}

impl Case {
    /// Whether half a message is counted too: with many entries, where the configuration is an ordinary one.
    fn says_how_it_grows(&self, scale: usize) -> bool {
        scale == MANY && !self.kind.ends_with("asking") && !self.kind.ends_with("issuers")
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["measure", scales @ ..] => measure(&numbers(scales)),
        ["report"] => report(&[FEW, 1000, 4000]),
        words if words.contains(&"--list") => println!("work: test"),
        words if words.iter().any(|word| !word.starts_with('-') && !"work".contains(word)) => {}
        _ => check(),
    }
}

fn numbers(words: &[&str]) -> Vec<usize> {
    words.iter().map(|word| word.parse().expect("a number")).collect()
}

/// What callgrind counted of a case.
struct Counted {
    kind: String,
    halves: usize,
    scale: usize,
    instructions: u64,
}

/// Fails if the work that a long list adds is larger with many credentials than with few, or more than doubles with it.
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
        let few = of(2, FEW).expect("the same with few").saturating_sub(empty(FEW));
        let many = full.instructions.saturating_sub(empty(MANY));
        let half = of(1, MANY).map(|half| half.saturating_sub(empty(MANY)));
        kinds += 1;
        println!(
            "{}: {many} added with {MANY}, {few} with {FEW}, {half:?} by half of it",
            full.kind
        );
        // Allocations and the order of hash tables differ by some thousands.
        if many > few * 3 / 2 + SLACK {
            faults.push(format!("{}: adds {many} with {MANY}, {few} with {FEW}", full.kind));
        }
        if half.is_some_and(|half| many > half * 5 / 2 + SLACK) {
            faults.push(format!("{}: adds {many}, half of it {half:?}", full.kind));
        }
    }
    assert!(kinds > 30, "only {kinds} kinds of message");
    assert!(faults.is_empty(), "work that is not linear:\n{}", faults.join("\n"));
    println!("work: {kinds} kinds of message, linear in each list and in the configuration");
}

const SLACK: u64 = 200_000;

/// What each message costs, as a share of an ordinary handshake.
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
}

/// Has callgrind run this program; `None` if there is no callgrind, or none for this program's processor: tests may run
/// under an emulator, with the Valgrind of the machine that emulates.
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
        let mut words = line.split('\t');
        let mut next = || words.next().expect("kind, halves, scale");
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
    for scale in scales {
        for case in hellos::cases(*scale).into_iter().chain(requests::cases(*scale)) {
            if case.halves == 1 && !case.says_how_it_grows(*scale) {
                continue;
            }
            (case.run)();
            end_of_case();
            println!("{}\t{}\t{}", case.kind, case.halves, case.scale);
        }
    }
}

/// Callgrind writes what it counted when this returns.
#[inline(never)]
fn end_of_case() {
    black_box(());
}

/// Has a handshake take what was received, and answers what it asks: all of this is counted.
#[inline(never)]
pub(crate) fn counted(
    handshake: &mut Handshake,
    received: &mut Received,
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
            // Most of the messages end in a refusal, which has its cost too.
            Err(_) => return true,
        }
    }
}

/// For configurations that answer by themselves.
pub(crate) fn no_question(question: &Question) -> Answer {
    panic!("nobody should ask {question:?}")
}
