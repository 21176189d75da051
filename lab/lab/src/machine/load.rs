//! CPU load caused by other programs.

use std::time::Instant;

use super::procfs::read;

/// A row is noisy if other programs keep more CPUs busy than this on average.
pub(crate) const BUSY: f64 = 0.2;

/// Measures how many CPUs other programs keep busy over a period.
pub(crate) struct Watch {
    start: Instant,
    busy: Option<u64>,
    own: Option<u64>,
}

/// Clock ticks per second in all files of `/proc`.
const TICKS: f64 = 100.0;

impl Watch {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), busy: busy_ticks(), own: own_ticks() }
    }

    /// The number of CPUs that other programs kept busy since the start. Workers count as part of
    /// this program only after they have ended.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn others(&self) -> Option<f64> {
        let busy = busy_ticks()?.checked_sub(self.busy?)?;
        let own = own_ticks()?.checked_sub(self.own?)?;
        let seconds = self.start.elapsed().as_secs_f64();
        Some(busy.saturating_sub(own) as f64 / TICKS / seconds.max(0.01))
    }
}

/// Busy ticks of all CPUs, including time stolen by the host.
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
    // The program name may contain any character. It ends at the last parenthesis.
    let (_, after) = stat.rsplit_once(')')?;
    // utime, stime, cutime and cstime are fields 14 to 17; `after` begins with field 3.
    let ticks = after.split_whitespace().skip(11).take(4);
    ticks.map(|text| text.parse::<u64>().ok()).sum()
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
        // Other programs may have used part of this time.
        assert!(own_ticks().unwrap() > before);
        assert!(busy_ticks().is_some());
        assert!(Watch::start().others().is_some());
    }
}
