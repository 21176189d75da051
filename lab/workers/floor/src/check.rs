//! Prints the calls of a row, and checks that the floor's time is the sum of its calls.

use std::path::Path;
use std::time::Duration;

use lab_scenario::{Files, Result, Row, Task, Transport};

use crate::Handshakes;
use crate::bulk::Records;
use crate::calls::{self, Call, Sizes};
use crate::operands::Operands;

/// The maximum relative difference between the loop and the sum of its calls.
const TOLERANCE: f64 = 0.03;

/// A side that differs more is measured again up to this many times. Load by other programs affects
/// single measurements. A wrong list of calls affects all measurements.
const REPEATS: usize = 2;

/// Rounds in which calls and loop alternate, so that clock rate changes affect both.
const ROUNDS: usize = 31;

/// The minimum time for which a call is repeated in a round.
const SPAN: Duration = Duration::from_millis(1);

/// Calls are repeated a multiple of this many times. AWS-LC renews the blinding of an RSA key after
/// 32 signatures, so every round must contain the same share of that work.
const PERIOD: u32 = 32;

/// Prints the calls of a row, for RSA-2048 certificates of typical length.
pub(crate) fn print_calls(row: &Row) -> Result<()> {
    if let Some(why) = has_none(row) {
        return Err(why.into());
    }
    if row.task == Task::Bulk {
        println!("send: each record sealed; receive: each record opened; {}", row.suite);
        return Ok(());
    }
    let sizes = Sizes { chain: 2500, signature: 256 };
    let calls = calls::of(row, sizes);
    for (side, calls) in [("client", calls.client), ("server", calls.server)] {
        println!("{side}");
        for (call, count) in counted(&calls) {
            println!("  {count:>3} x {call}");
        }
    }
    Ok(())
}

/// Checks a row and prints the time of each call.
pub(crate) fn check_one(row: &Row, files: &str) -> Result<()> {
    if let Some(why) = has_none(row) {
        return Err(why.into());
    }
    match Checked::new(row, files)?.both_sides(true)? {
        0 => Ok(()),
        _ => Err("the loop differs from the sum of its calls".into()),
    }
}

/// Checks all rows that have their own calls. Rows of threads and latency have the calls of other
/// rows.
pub(crate) fn check_all(rows: &[Row], files: &str) -> Result<()> {
    let own =
        |row: &&Row| has_none(row).is_none() && matches!(row.task, Task::Handshake | Task::Bulk);
    let (mut checked, mut off) = (0, 0);
    for row in rows.iter().filter(own) {
        off += Checked::new(row, files)?.both_sides(false)?;
        checked += 2;
    }
    println!("{checked} sides checked, {off} of them not within {:.0} %", 100.0 * TOLERANCE);
    if off > 0 { Err("a loop differs from the sum of its calls".into()) } else { Ok(()) }
}

/// The reason why a row has no calls.
pub(crate) fn has_none(row: &Row) -> Option<&'static str> {
    match row.task {
        _ if row.transport == Transport::Quic => Some("the floor does not have this transport"),
        _ if !row.ech.is_none() => Some("the floor has no Encrypted ClientHello"),
        Task::Handshake | Task::Threads | Task::Latency | Task::Bulk | Task::Instructions => None,
        Task::SetUp => Some("there is no cryptography in it"),
        Task::Memory => Some("memory is the libraries' affair"),
        Task::Loading => Some("how to load is the libraries' affair"),
    }
}

/// The state of the check of one row.
struct Checked<'r> {
    row: &'r Row,
    work: Work,
}

enum Work {
    Handshakes(Box<Handshakes>),
    Bulk(Box<Records>),
}

/// The result of one measurement of a side.
struct Compared {
    /// Each call, with the number of its repetitions and the time of one.
    calls: Vec<(String, usize, f64)>,
    whole: f64,
}

impl Compared {
    #[allow(clippy::cast_precision_loss)]
    fn sum(&self) -> f64 {
        self.calls.iter().map(|(_, count, each)| *count as f64 * each).sum()
    }

    /// The relative difference between the loop and the sum of its calls.
    fn off(&self) -> f64 {
        self.whole / self.sum() - 1.0
    }
}

impl<'r> Checked<'r> {
    fn new(row: &'r Row, files: &str) -> Result<Self> {
        let work = match row.task {
            Task::Bulk => Work::Bulk(Box::new(Records::new(row))),
            _ => Work::Handshakes(Box::new(Handshakes::new(row, &Files::new(Path::new(files)))?)),
        };
        Ok(Self { row, work })
    }

    /// Checks both sides, and returns the number of those that differ too much.
    fn both_sides(&mut self, in_full: bool) -> Result<usize> {
        let mut off = 0;
        for side in [0, 1] {
            let mut compared = self.compare(side)?;
            let mut repeats = 0;
            while compared.off().abs() > TOLERANCE && repeats < REPEATS {
                repeats += 1;
                compared = self.compare(side)?;
            }
            off += usize::from(compared.off().abs() > TOLERANCE);
            self.tell(side, &compared, repeats, in_full);
        }
        Ok(off)
    }

    fn compare(&mut self, side: usize) -> Result<Compared> {
        match &mut self.work {
            Work::Handshakes(loops) => {
                let calls = if side == 0 { &loops.client } else { &loops.server };
                compare_calls(&mut loops.operands, calls)
            }
            Work::Bulk(records) => compare_records(records, side),
        }
    }

    fn tell(&self, side: usize, compared: &Compared, repeats: usize, in_full: bool) {
        let names =
            if self.row.task == Task::Bulk { ["send", "receive"] } else { ["client", "server"] };
        let (sum, whole) = (compared.sum(), compared.whole);
        let verdict = if compared.off().abs() > TOLERANCE { "  OFF" } else { "" };
        let again = match repeats {
            0 => String::new(),
            1 => ", measured again once".to_owned(),
            _ => ", measured again twice".to_owned(),
        };
        if in_full {
            println!("{}", names[side]);
            for (call, count, each) in &compared.calls {
                println!("  {count:>4} x {each:>10.1} ns  {call}");
            }
        }
        let heading = format!("{} {}", self.row.id, names[side]);
        println!(
            "{heading:<40} sum {sum:>10.0} ns, loop {whole:>10.0} ns, {:+.2} %{again}{verdict}",
            100.0 * compared.off(),
        );
    }
}

fn compare_calls(operands: &mut Operands, calls: &[Call]) -> Result<Compared> {
    let counted = counted(calls);
    let mut times = vec![Vec::new(); counted.len()];
    let mut whole = Vec::new();
    for _ in 0..ROUNDS {
        for ((call, _), times) in counted.iter().zip(&mut times) {
            times.push(time(|| operands.perform(*call))?);
        }
        whole.push(time(|| calls.iter().for_each(|call| operands.perform(*call)))?);
    }
    let calls = counted.into_iter().zip(times);
    let calls = calls.map(|((call, count), times)| (call.to_string(), count, median(times)));
    Ok(Compared { calls: calls.collect(), whole: median(whole) })
}

/// Compares a batch of equal records with the repetition.
fn compare_records(records: &mut Records, side: usize) -> Result<Compared> {
    let count = records.count();
    let (mut alike, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        if side == 0 {
            alike.push(time(|| records.seal_alike())?);
            records.travel();
            whole.push(time(|| records.seal())?);
            records.travel();
            continue;
        }
        records.seal_alike();
        records.travel();
        alike.push(time(|| records.open_alike())?);
        records.seal();
        records.travel();
        whole.push(time(|| records.open())?);
    }
    let call = if side == 0 { "record sealed" } else { "record opened" };
    #[allow(clippy::cast_precision_loss)]
    let each = median(alike) / count as f64;
    Ok(Compared { calls: vec![(call.to_owned(), count, each)], whole: median(whole) })
}

fn counted(calls: &[Call]) -> Vec<(Call, usize)> {
    let mut counts: Vec<(Call, usize)> = Vec::new();
    for call in calls {
        match counts.iter_mut().find(|(each, _)| each == call) {
            Some((_, count)) => *count += 1,
            None => counts.push((*call, 1)),
        }
    }
    counts
}

/// Nanoseconds of one execution of `action`.
fn time(mut action: impl FnMut()) -> Result<f64> {
    let (start, mut repeats) = (own_time()?, 0_u32);
    loop {
        // The clock is read only once in a period, so that its cost is negligible.
        (0..PERIOD).for_each(|_| action());
        repeats += PERIOD;
        let spent = own_time()?.saturating_sub(start);
        if spent >= SPAN {
            return Ok(spent.as_secs_f64() * 1e9 / f64::from(repeats));
        }
    }
}

/// CPU time of this thread, which excludes other programs.
#[cfg(unix)]
fn own_time() -> Result<Duration> {
    use nix::time::{ClockId, clock_gettime};
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}

/// Wall-clock time, on systems without a thread clock.
#[cfg(not(unix))]
fn own_time() -> Result<Duration> {
    use std::{sync::LazyLock, time::Instant};
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    Ok(START.elapsed())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}
