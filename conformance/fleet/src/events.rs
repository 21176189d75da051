//! What befalls the cluster under a steady load: nodes and their store killed and frozen, files changed and spoilt.
//!
//! Must not know: how it is watched. Next: `run.rs`, which watches.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use tercel_harness::good;
use tercel_harness::pki::SERVER_NAME;
use tercel_harness::proxy::wait_for;

use crate::cluster::Face;
use crate::others;
use crate::report::Share;
use crate::run::{BOUND, Early, RECOVERED, Run, WINDOW};

/// How long it may take until files that changed have been read.
const NOTICED: Duration = Duration::from_secs(20);

impl Run<'_> {
    /// All that befalls the cluster.
    pub(crate) fn all(&mut self) -> Result<()> {
        wait_for("clients of every kind resume", BOUND, || {
            let now = Share::of(&self.load.since(Instant::now() - WINDOW));
            self.start.elapsed() > WINDOW * 2 && now.is_back(&Share::all_of(&self.kinds), RECOVERED)
        })?;
        self.event("nothing", Early::No, |_| Ok(wait(2)))?;
        self.event("clients of others", Early::No, Self::other_clients)?;
        self.event("3 new keys in the file", Early::No, |run| {
            for _ in 0..3 {
                run.cluster.rotate_keys()?;
                // A key begins two seconds after it was written.
                thread::sleep(Duration::from_millis(1500));
            }
            Ok(Vec::new())
        })?;
        self.event("new certificate", Early::No, Self::replace_certificate)?;
        self.event("bad certificate", Early::No, Self::spoil_certificate)?;
        self.event("bad configuration", Early::No, Self::bad_configuration)?;
        self.event("good configuration", Early::No, Self::good_configuration)?;
        self.event("node 0 killed", Early::Wait, |run| {
            run.cluster.kill(0)?;
            Ok(wait(2))
        })?;
        self.event("node 0 started", Early::No, |run| {
            run.cluster.start_again(0)?;
            Ok(wait(1))
        })?;
        let early = if self.quick { Early::No } else { Early::Now };
        self.event("node 1 drained", early, Self::drain)?;
        self.event("node 1 started", Early::No, |run| {
            run.cluster.start_again(1)?;
            Ok(wait(1))
        })?;
        let early = if self.quick { Early::No } else { Early::Wait };
        self.event("store frozen for 3 s", early, |run| {
            run.cluster.store.freeze()?;
            let faults = wait(3);
            run.cluster.store.thaw()?;
            Ok(faults)
        })?;
        self.event("store killed, empty after 2 s", Early::Wait, |run| {
            run.cluster.store.kill()?;
            let faults = wait(2);
            run.cluster.store.start_empty()?;
            Ok(faults)
        })?;
        self.event("store killed, back from a snapshot", Early::Wait, |run| {
            run.cluster.store.kill()?;
            run.cluster.store.start_with_snapshot()?;
            Ok(Vec::new())
        })?;
        self.event("store emptied", early, |run| {
            run.cluster.store.flush()?;
            Ok(Vec::new())
        })
    }

    /// What has been asked for before is answered.
    fn drain(&mut self) -> Result<Vec<String>> {
        let (at, roots) = (self.cluster.behind(Face::StoreKeys)[1], self.roots.clone());
        let slow = self
            .runtime
            .spawn(async move { good::fetch(at, &roots, SERVER_NAME, "/after/1500").await });
        thread::sleep(Duration::from_millis(500));
        let mut faults = self.cluster.drain(1)?;
        match self.runtime.block_on(slow)? {
            Ok(answer) if answer.status == 200 => {}
            Ok(answer) => faults.push(format!("a request under way: status {}", answer.status)),
            Err(error) => faults.push(format!("a request under way: {error}")),
        }
        Ok(faults)
    }

    fn other_clients(&mut self) -> Result<Vec<String>> {
        let tried = others::run(&self.cluster)?;
        for absent in tried.absent {
            println!("absent: {absent}");
        }
        println!("        {} requests of others, {} resumed", tried.requests, tried.resumed);
        Ok(tried.faults)
    }

    fn replace_certificate(&mut self) -> Result<Vec<String>> {
        let old = self.shown()?;
        self.cluster.renew_certificate()?;
        self.hurry()?;
        let seen = wait_for("every node shows the new certificate", NOTICED, || {
            self.shown().is_ok_and(|new| new.iter().zip(&old).all(|(new, old)| new != old))
        });
        Ok(faults(seen))
    }

    fn spoil_certificate(&mut self) -> Result<Vec<String>> {
        let old = self.shown()?;
        let labels = [("what", "certificates"), ("result", "failed")];
        let before = self.cluster.count(RELOADS, &labels)?;
        self.cluster.spoil_certificate()?;
        self.hurry()?;
        let mut faults = self.until_counted(&labels, before);
        if self.shown()? != old {
            faults.push("another certificate is shown".to_owned());
        }
        self.cluster.renew_certificate()?;
        Ok(faults)
    }

    fn bad_configuration(&mut self) -> Result<Vec<String>> {
        let labels = [("what", "configuration"), ("result", "failed")];
        let before = self.cluster.count(RELOADS, &labels)?;
        self.cluster.configure("nonsense = true\n")?;
        self.cluster.reload()?;
        Ok(self.until_counted(&labels, before))
    }

    fn good_configuration(&mut self) -> Result<Vec<String>> {
        let labels = [("what", "configuration"), ("result", "ok")];
        let before = self.cluster.count(RELOADS, &labels)?;
        self.cluster.configure("alpn = [\"http/1.1\"]\n")?;
        self.cluster.reload()?;
        Ok(self.until_counted(&labels, before))
    }

    /// Files are looked at every few seconds, and at once when that is asked for.
    fn hurry(&mut self) -> Result<()> {
        if self.quick { self.cluster.reload() } else { Ok(()) }
    }

    /// Waits until each terminator has counted one more reload of this sort.
    fn until_counted(&self, labels: &[(&str, &str)], before: f64) -> Vec<String> {
        let all = f64::from(u32::try_from(self.cluster.terminators()).unwrap_or(u32::MAX));
        let counted = wait_for("each terminator has counted it", NOTICED, || {
            self.cluster.count(RELOADS, labels).is_ok_and(|now| now >= before + all)
        });
        faults(counted)
    }

    /// The certificate that each node shows.
    fn shown(&self) -> Result<Vec<Vec<u8>>> {
        let nodes = Face::ALL.iter().flat_map(|face| self.cluster.behind(*face));
        nodes
            .map(|node| self.runtime.block_on(good::certificate(node, &self.roots, SERVER_NAME)))
            .collect()
    }
}

const RELOADS: &str = "tercel_reloads_total";

fn faults(waited: Result<Duration>) -> Vec<String> {
    waited.err().map(|error| error.to_string()).into_iter().collect()
}

fn wait(seconds: u64) -> Vec<String> {
    thread::sleep(Duration::from_secs(seconds));
    Vec::new()
}
