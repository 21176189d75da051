//! The events under a steady load: nodes and store fail, and files change.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use tercel_harness::clients;
use tercel_harness::pki::SERVER_NAME;
use tercel_harness::proxy::wait_for;

use crate::cluster::ResumptionKind;
use crate::other_clients;
use crate::report::Share;
use crate::run::{EarlyDataTest, RECOVERED_SHARE, RECOVERY_LIMIT, Run, SHARE_PERIOD};

/// The time limit for reading changed files.
const NOTICED: Duration = Duration::from_secs(60);

impl Run<'_> {
    /// Runs all events.
    pub(crate) fn all(&mut self) -> Result<()> {
        wait_for("clients of every kind resume", RECOVERY_LIMIT, || {
            let now = Share::of(&self.load.since(Instant::now() - SHARE_PERIOD));
            self.start.elapsed() > SHARE_PERIOD * 2
                && now.has_recovered(&Share::all_of(&self.kinds), RECOVERED_SHARE)
        })?;
        self.event("nothing", EarlyDataTest::No, |_| Ok(wait(2)))?;
        self.event("other clients", EarlyDataTest::No, Self::other_clients)?;
        self.event("3 new keys in the file", EarlyDataTest::No, |run| {
            for _ in 0..3 {
                run.cluster.rotate_keys()?;
                // A key begins two seconds after it was written.
                thread::sleep(Duration::from_millis(1500));
            }
            Ok(Vec::new())
        })?;
        self.event("new certificate", EarlyDataTest::No, Self::replace_certificate)?;
        self.event("invalid certificate", EarlyDataTest::No, Self::write_invalid_certificate)?;
        self.event("invalid configuration", EarlyDataTest::No, Self::write_invalid_configuration)?;
        self.event("valid configuration", EarlyDataTest::No, Self::write_valid_configuration)?;
        self.event("node 0 killed", EarlyDataTest::Wait, |run| {
            run.cluster.kill(0)?;
            Ok(wait(2))
        })?;
        self.event("node 0 started", EarlyDataTest::No, |run| {
            run.cluster.restart(0)?;
            Ok(wait(1))
        })?;
        let early = if self.quick { EarlyDataTest::No } else { EarlyDataTest::Now };
        self.event("node 1 drained", early, Self::drain)?;
        self.event("node 1 started", EarlyDataTest::No, |run| {
            run.cluster.restart(1)?;
            Ok(wait(1))
        })?;
        let early = if self.quick { EarlyDataTest::No } else { EarlyDataTest::Wait };
        self.event("store frozen for 3 s", early, |run| {
            run.cluster.store.freeze()?;
            let faults = wait(3);
            run.cluster.store.thaw()?;
            Ok(faults)
        })?;
        self.event("store killed, empty after 2 s", EarlyDataTest::Wait, |run| {
            run.cluster.store.kill()?;
            let faults = wait(2);
            run.cluster.store.start_empty()?;
            Ok(faults)
        })?;
        self.event("store killed, restarted from a snapshot", EarlyDataTest::Wait, |run| {
            run.cluster.store.kill()?;
            run.cluster.store.start_with_snapshot()?;
            Ok(Vec::new())
        })?;
        self.event("store emptied", early, |run| {
            run.cluster.store.flush()?;
            Ok(Vec::new())
        })
    }

    /// Requests that began before the drain must be answered.
    fn drain(&mut self) -> Result<Vec<String>> {
        let (at, roots) =
            (self.cluster.node_addresses(ResumptionKind::StoreKeys)[1], self.roots.clone());
        let slow = self
            .runtime
            .spawn(async move { clients::fetch(at, &roots, SERVER_NAME, "/after/1500").await });
        thread::sleep(Duration::from_millis(500));
        let mut faults = self.cluster.drain(1)?;
        match self.runtime.block_on(slow)? {
            Ok(answer) if answer.status == 200 => {}
            Ok(answer) => faults.push(format!("a request in progress: status {}", answer.status)),
            Err(error) => faults.push(format!("a request in progress: {error}")),
        }
        Ok(faults)
    }

    fn other_clients(&mut self) -> Result<Vec<String>> {
        let results = other_clients::run(&self.cluster)?;
        for absent in results.absent {
            println!("absent: {absent}");
        }
        println!(
            "        {} requests of other clients, {} resumed",
            results.requests, results.resumed
        );
        Ok(results.faults)
    }

    fn replace_certificate(&mut self) -> Result<Vec<String>> {
        let old = self.certificates()?;
        self.cluster.renew_certificate()?;
        self.trigger_reload()?;
        let seen = wait_for("every node sends the new certificate", NOTICED, || {
            self.certificates().is_ok_and(|new| new.iter().zip(&old).all(|(new, old)| new != old))
        });
        Ok(faults(seen))
    }

    fn write_invalid_certificate(&mut self) -> Result<Vec<String>> {
        let old = self.certificates()?;
        let labels = [("what", "certificates"), ("result", "failed")];
        let before = self.cluster.count(RELOADS, &labels)?;
        self.cluster.write_invalid_certificate()?;
        self.trigger_reload()?;
        let mut faults = self.until_counted(&labels, before);
        if self.certificates()? != old {
            faults.push("another certificate is in use".to_owned());
        }
        self.cluster.renew_certificate()?;
        Ok(faults)
    }

    fn write_invalid_configuration(&mut self) -> Result<Vec<String>> {
        let labels = [("what", "configuration"), ("result", "failed")];
        let before = self.cluster.count(RELOADS, &labels)?;
        self.cluster.configure("nonsense = true\n")?;
        self.cluster.reload()?;
        Ok(self.until_counted(&labels, before))
    }

    fn write_valid_configuration(&mut self) -> Result<Vec<String>> {
        let labels = [("what", "configuration"), ("result", "ok")];
        let before = self.cluster.count(RELOADS, &labels)?;
        self.cluster.configure("alpn = [\"http/1.1\"]\n")?;
        self.cluster.reload()?;
        Ok(self.until_counted(&labels, before))
    }

    /// Makes nodes read their files now; otherwise they poll every few seconds.
    fn trigger_reload(&mut self) -> Result<()> {
        if self.quick { self.cluster.reload() } else { Ok(()) }
    }

    /// Waits until each terminator has counted one more reload of this kind.
    fn until_counted(&self, labels: &[(&str, &str)], before: f64) -> Vec<String> {
        let all = f64::from(u32::try_from(self.cluster.terminators()).unwrap_or(u32::MAX));
        let counted = wait_for("each terminator has counted the reload", NOTICED, || {
            self.cluster.count(RELOADS, labels).is_ok_and(|now| now >= before + all)
        });
        faults(counted)
    }

    /// The certificate that each node sends.
    fn certificates(&self) -> Result<Vec<Vec<u8>>> {
        let nodes = ResumptionKind::ALL.iter().flat_map(|kind| self.cluster.node_addresses(*kind));
        nodes
            .map(|node| self.runtime.block_on(clients::certificate(node, &self.roots, SERVER_NAME)))
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
