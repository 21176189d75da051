//! Medians, ratios and their spread.

use crate::tasks::{Figure, Task};

/// The result of a task, in one line. With two providers, it has the ratio of the first to the
/// second: the median of all rounds, and its quartiles.
pub(crate) fn line(task: Task, figures: &[Vec<Figure>]) -> String {
    let mut line = format!("{:26}", task.name());
    for of_one in figures {
        let rate = median(of_one.iter().map(|figure| figure.rate));
        let processor = median(of_one.iter().map(|figure| figure.processor));
        line += &match task {
            Task::Bulk(..) => {
                let mib = f64::from(1 << 20);
                format!("{:8.1} MiB/s {:7.0} µs/MiB", rate / mib, processor * mib * 1e6)
            }
            _ => format!("{rate:8.0} /s     {:7.1} µs each", processor * 1e6),
        };
        line += "  | ";
    }
    if let [one, other] = figures {
        let rounds = || one.iter().zip(other);
        let rate: Vec<_> = rounds().map(|(one, other)| one.rate / other.rate).collect();
        let time: Vec<_> = rounds().map(|(one, other)| other.processor / one.processor).collect();
        line += &format!("rate {}, processor time {}", ratio(rate), ratio(time));
    }
    line
}

fn ratio(mut values: Vec<f64>) -> String {
    values.sort_unstable_by(f64::total_cmp);
    let at = |part: usize| values[(values.len() - 1) * part / 4];
    format!("{:.3} [{:.3}, {:.3}]", median(values.iter().copied()), at(1), at(3))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    f64::midpoint(values[last / 2], values[last.div_ceil(2)])
}
