//! The table: one line for the result of each event.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tercel_harness::clients::{Outcome, RequestResult};
use tercel_harness::table::Table;

use crate::run::Replays;

/// The connections that offered and resumed a session, by kind of client.
#[derive(Clone, Default, Debug)]
pub(crate) struct Share(BTreeMap<&'static str, (usize, usize)>);

impl Share {
    pub(crate) fn of(outcomes: &[Outcome]) -> Self {
        let mut share = BTreeMap::new();
        for outcome in outcomes.iter().filter(|outcome| outcome.offered) {
            let (resumed, offered): &mut (usize, usize) = share.entry(outcome.kind).or_default();
            *resumed += usize::from(outcome.resumed);
            *offered += 1;
        }
        Self(share)
    }

    /// A share in which all clients of these kinds resumed.
    pub(crate) fn all_of(kinds: &[&'static str]) -> Self {
        Self(kinds.iter().map(|kind| (*kind, (1, 1))).collect())
    }

    /// Whether each kind of client resumes at nearly the earlier rate.
    pub(crate) fn has_recovered(&self, before: &Self, ratio: f64) -> bool {
        before.0.keys().all(|kind| self.rate(kind) >= before.rate(kind) * ratio)
    }

    /// The kinds of clients that resume far less often than in `before`.
    pub(crate) fn missing(&self, before: &Self, ratio: f64) -> String {
        let missing = before.0.keys().filter(|kind| self.rate(kind) < before.rate(kind) * ratio);
        let words = missing.map(|kind| {
            let percent = |share: &Self| format!("{:.0} %", share.rate(kind) * 100.0);
            format!("{kind} {}, {} before", percent(self), percent(before))
        });
        words.collect::<Vec<_>>().join("; ")
    }

    fn rate(&self, kind: &str) -> f64 {
        self.0.get(kind).map_or(0.0, |&counts| rate(counts))
    }

    /// The percentage of offered sessions that were resumed, for all kinds of clients together.
    fn text(&self) -> String {
        let sum = self.0.values().fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1));
        if sum.1 == 0 { "-".to_owned() } else { format!("{:.0}", rate(sum) * 100.0) }
    }
}

fn rate((resumed, offered): (usize, usize)) -> f64 {
    if offered == 0 { 0.0 } else { resumed as f64 / offered as f64 }
}

/// The result of one event.
#[derive(Debug)]
pub(crate) struct Line {
    name: String,
    at: Duration,
    answered: usize,
    repeated: usize,
    /// Requests that failed because their node was killed.
    cut_off: usize,
    failed: usize,
    early: usize,
    /// Resumption before, during and after the event.
    pub(crate) shares: [Share; 3],
    /// The time from the end of the event until clients resumed as before.
    pub(crate) recovered: Option<Duration>,
    pub(crate) replays: Replays,
    /// The requirements that were not met.
    pub(crate) faults: Vec<String>,
}

impl Line {
    /// Summarizes the outcomes of the requests during an event. If the event killed a node,
    /// `killed` is the time from which that node's connections may have been cut off.
    pub(crate) fn new(
        name: &str,
        at: Duration,
        outcomes: &[Outcome],
        killed: Option<Instant>,
    ) -> Self {
        let mut line = Self {
            name: name.to_owned(),
            at,
            answered: 0,
            repeated: 0,
            cut_off: 0,
            failed: 0,
            early: 0,
            shares: Default::default(),
            recovered: None,
            replays: Replays::default(),
            faults: Vec::new(),
        };
        for outcome in outcomes {
            line.early += usize::from(outcome.early);
            match &outcome.result {
                RequestResult::Answered => line.answered += 1,
                RequestResult::Retried => line.repeated += 1,
                RequestResult::Failed(_)
                    if killed.is_some_and(|killed| was_open(outcome, killed)) =>
                {
                    line.cut_off += 1;
                }
                RequestResult::Failed(why) => {
                    line.failed += 1;
                    line.faults.push(format!("{}: {why}", outcome.kind));
                }
            }
        }
        line
    }

    pub(crate) fn passed(&self) -> bool {
        self.failed == 0 && self.replays.accepted == 0 && self.faults.is_empty()
    }

    pub(crate) fn short(&self) -> String {
        let status = if self.passed() { "ok      " } else { "FAIL    " };
        let mut text = format!("{status}{}", self.name);
        for fault in self.faults.iter().take(5) {
            text += &format!("\n        {fault}");
        }
        text
    }
}

/// Whether the connection was open when a node was killed.
fn was_open(outcome: &Outcome, killed: Instant) -> bool {
    // The terminators of the node are not killed at the same time.
    let moment = Duration::from_millis(200);
    outcome.connected <= killed + moment && outcome.start + outcome.took >= killed
}

pub(crate) fn table(lines: &[Line]) -> String {
    let mut table = Table::new(&[
        "event",
        "at s",
        "ok",
        "repeated",
        "cut off",
        "failed",
        "resumed % before",
        "during",
        "after",
        "recovered after s",
        "early accepted",
        "replays",
        "accepted",
    ]);
    for line in lines {
        let recovered = line.recovered.map(|time| format!("{:.1}", time.as_secs_f32()));
        let [before, during, after] = &line.shares;
        table.line(vec![
            line.name.clone(),
            format!("{:.1}", line.at.as_secs_f32()),
            line.answered.to_string(),
            line.repeated.to_string(),
            line.cut_off.to_string(),
            line.failed.to_string(),
            before.text(),
            during.text(),
            after.text(),
            recovered.unwrap_or_else(|| "never".to_owned()),
            line.early.to_string(),
            line.replays.tried.to_string(),
            line.replays.accepted.to_string(),
        ]);
    }
    table.text()
}

/// The share of connections of each kind that resumed, and the number that resumed on another node.
pub(crate) fn kinds(outcomes: &[Outcome]) -> (String, Vec<String>) {
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for outcome in outcomes {
        let count = counts.entry(outcome.kind).or_default();
        count[0] += 1;
        count[1] += usize::from(outcome.resumed);
        count[2] += usize::from(outcome.elsewhere);
        count[3] += usize::from(outcome.early);
    }
    let mut table = Table::new(&["clients", "requests", "resumed", "elsewhere", "early"]);
    let mut faults = Vec::new();
    for (kind, count) in counts {
        table.line([kind.to_owned()].into_iter().chain(count.map(|n| n.to_string())).collect());
        if count[2] == 0 {
            faults.push(format!("{kind}: no client resumed on another node"));
        }
    }
    (table.text(), faults)
}
