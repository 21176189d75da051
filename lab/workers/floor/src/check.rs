//! The calls of a row in words, and a check that the floor is their sum.
//!
//! Must not know: the line protocol. Next: `calls.rs`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use lab_scenario::{Files, Prepared, Result, Row, Task};

use crate::calls::{self, Call, Sizes};
use crate::operands::Operands;
use crate::{Handshakes, bulk};

/// How far the loop may be from the sum of its calls.
const TOLERANCE: f64 = 0.03;

/// Rounds in which calls and loop take turns.
const ROUNDS: usize = 31;

/// For so long a call is repeated in a round.
const REPEAT: Duration = Duration::from_millis(2);

/// Prints the calls of a row with RSA-2048 certificates of usual length, or of the bulk row's record.
pub(crate) fn print_calls(row: &Row) -> Result<()> {
    match row.task {
        Task::SetUp => return Err("there is no cryptography in it".into()),
        Task::Bulk => {
            println!("send: each record sealed; receive: each record opened; {}", row.suite);
            return Ok(());
        }
        Task::Memory => return Err("memory is the libraries' affair".into()),
        Task::Handshake | Task::Threads | Task::Latency | Task::Instructions => {}
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

/// Times each call alone and the loop of them, and compares.
pub(crate) fn check(row: &Row, files: &str) -> Result<()> {
    match row.task {
        Task::SetUp | Task::Memory => return Err("there are no calls in it".into()),
        Task::Bulk => return bulk::Bulk::new(row).measure(REPEAT).map(|_| ()),
        Task::Handshake | Task::Threads | Task::Latency | Task::Instructions => {}
    }
    let files = Files::new(Path::new(files));
    let mut loops = Handshakes::new(row, &files)?;
    for side in ["client", "server"] {
        let calls = if side == "client" { &loops.client } else { &loops.server };
        let counted = counted(calls);
        let mut times: BTreeMap<Call, Vec<f64>> = BTreeMap::new();
        let mut whole = Vec::new();
        for _ in 0..ROUNDS {
            for (call, _) in &counted {
                let time = time(&mut loops.operands, &[*call]);
                times.entry(*call).or_default().push(time);
            }
            let calls = if side == "client" { &loops.client } else { &loops.server };
            whole.push(time(&mut loops.operands, calls));
        }
        let mut sum = 0.0;
        println!("{side}");
        for (call, count) in &counted {
            let each = median(times.remove(call).unwrap_or_default());
            #[allow(clippy::cast_precision_loss)]
            let all = each * *count as f64;
            println!("  {count:>3} x {each:>10.1} ns  {call}");
            sum += all;
        }
        let whole = median(whole);
        println!("  sum {sum:.0} ns, loop {whole:.0} ns, {:+.2} %", 100.0 * (whole / sum - 1.0));
        if (whole / sum - 1.0).abs() > TOLERANCE {
            return Err(format!("the loop of the {side} is not the sum of its calls").into());
        }
    }
    Ok(())
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

/// Nanoseconds of making these calls once.
fn time(operands: &mut Operands, calls: &[Call]) -> f64 {
    let (start, mut repeats) = (Instant::now(), 0_u32);
    while start.elapsed() < REPEAT {
        // The clock is read seldom enough not to matter.
        for _ in 0..8 {
            calls.iter().for_each(|call| operands.perform(*call));
        }
        repeats += 8;
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(repeats)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}
