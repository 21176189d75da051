//! Encrypted ClientHello while its keys, its store, or its backend are away. RFC 9849
//!
//! Each part has terminators of its own. Clients encrypt the name of their server, and connect once
//! more if they are rejected; all their requests must be answered. Each rejection is counted.

mod clients;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tercel::ech::{ConfigList, Key};
use tercel::pki::Roots;
use tercel_harness::backend::{Backend, Behaviour};
use tercel_harness::folder::TemporaryFolder;
use tercel_harness::pki::{self, Authority, Leaf};
use tercel_harness::ports::free_port;
use tercel_harness::process::{Process, Signal};
use tercel_harness::proxy::{self, ProcessOptions, Proxy, wait_for};
use tercel_harness::store::Store;
use tokio::runtime::Runtime;

use crate::phase::{self, Line};
use clients::{Clients, Request, Target};

const PUBLIC: &str = "cover.example";
const SECRET: &str = "secret.example";
/// The name that the backend of split mode serves.
const INNER: &str = "inner.example";

/// How long changes take at most.
const NOTICED: Duration = Duration::from_secs(60);

/// The number of clients of a terminator.
const CLIENTS: usize = 4;

/// Runs all parts. `runtime` runs the backend.
pub(crate) fn run(program: &Path, runtime: &Runtime, quick: bool) -> Result<Vec<Line>> {
    let setup = Setup::new(program, runtime)?;
    let rounds = if quick { 3 } else { 12 };
    let mut lines = vec![setup.line("ech keys removed", |faults| setup.keys(rounds, faults))?];
    match tercel_harness::store::program() {
        None => println!("absent: a server of Redis or Valkey, which has the keys of a fleet"),
        Some(_) => lines.push(setup.line("ech store away", |faults| setup.store(faults))?),
    }
    let refused = if quick { 20 } else { 200 };
    lines.push(setup.line("ech backend away", |faults| setup.front(refused, faults))?);
    Ok(lines)
}

/// Certificates, a backend without TLS, and the program.
struct Setup<'a> {
    program: &'a Path,
    folder: TemporaryFolder,
    roots: Roots,
    backend: Backend,
}

/// What a part has done.
struct Outcome {
    /// The requests of clients that must be served.
    regular: Vec<Request>,
    /// The number of requests that must be refused.
    refused: usize,
    backend_failures: u64,
}

impl<'a> Setup<'a> {
    fn new(program: &'a Path, runtime: &Runtime) -> Result<Self> {
        let folder = TemporaryFolder::create("tercel-faults-ech")?;
        let authority = Authority::new("ECH", pki::Key::P256)?;
        for (directory, names) in [("certificates", &[PUBLIC, SECRET][..]), ("inner", &[INNER])] {
            let directory = folder.path().join(directory);
            fs::create_dir(&directory)?;
            let pem = authority.issue(&Leaf { names, ..Leaf::SERVER }, pki::Key::P256)?;
            fs::write(directory.join("leaf.crt"), &pem.certificates)?;
            fs::write(directory.join("leaf.key"), &pem.key)?;
        }
        let roots = proxy::roots(&authority.root_pem())?;
        let backend = runtime.block_on(Backend::start("ech", Behaviour::Answers))?;
        Ok(Self { program, folder, roots, backend })
    }

    /// Runs a part, and makes its line.
    fn line(
        &self,
        name: &str,
        part: impl FnOnce(&mut Vec<String>) -> Result<Outcome>,
    ) -> Result<Line> {
        let (start, mut faults) = (Instant::now(), Vec::new());
        let Outcome { regular, refused, backend_failures } = part(&mut faults)?;
        let failed = regular.iter().filter_map(|request| request.result.clone().err()).collect();
        let mut times: Vec<_> = regular.iter().map(|request| request.took).collect();
        times.sort_unstable();
        let slowest = times.get((times.len() * 99).div_ceil(100).saturating_sub(1)).copied();
        Ok(Line {
            name: name.to_owned(),
            clients: refused,
            took: start.elapsed(),
            regular: regular.len(),
            regular_failed: failed,
            slowest: slowest.unwrap_or_default(),
            peak: 0,
            refused: Default::default(),
            backend_failures,
            other_terminator: true,
            faults,
        })
    }

    /// Keys are added and removed under load, and a file is damaged.
    fn keys(&self, rounds: usize, faults: &mut Vec<String>) -> Result<Outcome> {
        let keys = self.directory("keys")?;
        let first = add_key(&keys, "00")?;
        let text = format!("[ech]\ndirectory = \"{}\"\n", keys.display());
        let node = self.start("keys", &text, &self.listener("certificates", ""))?;
        let reloads = |result: &str| {
            let labels = [("what", "ech_keys"), ("result", result)];
            node.count("tercel_reloads_total", &labels)
        };
        let reload = |what: &str, result: &str| -> Result<()> {
            let before = reloads(result);
            node.proxy.signal(Signal::SIGHUP)?;
            wait_for(what, NOTICED, || reloads(result) > before).map(drop)
        };
        let clients = Clients::start(vec![node.target(SECRET, &first); CLIENTS], &self.roots)?;
        let progress = || -> Result<()> {
            let before = clients.count();
            wait_for("clients are served", NOTICED, || clients.count() > before + 20).map(drop)
        };
        for round in 1..=rounds {
            add_key(&keys, &format!("{round:02}"))?;
            reload("a new key is in use", "ok")?;
            progress()?;
            // The previous key stays: clients may have just received its configuration.
            if round > 1 {
                fs::remove_file(keys.join(format!("{:02}.ech", round - 2)))?;
                reload("an old key is removed", "ok")?;
                progress()?;
            }
        }
        write_private(&keys.join("99.ech"), "damaged")?;
        reload("a damaged file is counted", "failed")?;
        progress()?;
        let regular = clients.stop()?;
        let retried = count_retried(&regular);
        check_counts(&node, regular.len(), retried, faults);
        if retried == 0 {
            faults.push("no client was rejected".to_owned());
        }
        Ok(Outcome { regular, refused: 0, backend_failures: 0 })
    }

    /// Two nodes share their keys, and the store is unavailable for a while.
    fn store(&self, faults: &mut Vec<String>) -> Result<Outcome> {
        let keys = self.directory("shared")?;
        let old = add_key(&keys, "1")?;
        let mut store = Store::start(self.folder.path(), &[])?;
        let secret = self.folder.path().join("secret");
        write_private(&secret, "a secret of more than thirty-two bytes")?;
        let start = |name: &str| {
            let cache = self.folder.path().join(format!("{name}.cache"));
            let text = format!(
                "[ech]\nkeys = \"shared\"\ncache = \"{}\"\n[resumption.store]\nurl = \"{}\"\n\
                 secret = \"{}\"\n",
                cache.display(),
                store.url(),
                secret.display()
            );
            self.start(name, &text, &self.listener("certificates", ""))
        };
        let (one, mut two) = (start("one")?, start("two")?);
        let publish = || one.publish(self.program, &keys);
        let has_set = |node: &Node, set: u64| node.count("tercel_ech_key_set", &[]) == set;
        publish()?;
        wait_for("keys on both nodes", NOTICED, || has_set(&one, 1) && has_set(&two, 1))?;
        let of_one = Clients::start(vec![one.target(SECRET, &old); CLIENTS], &self.roots)?;
        store.kill()?;
        let is_connected = |node: &Node| node.count("tercel_store_connected", &[]) == 1;
        wait_for("the loss is noticed", NOTICED, || !is_connected(&one))?;
        if publish().is_ok() {
            faults.push("keys were published without a store".to_owned());
        }
        // A node that starts meanwhile has the keys of its file.
        two.proxy.signal(Signal::SIGTERM)?;
        two.proxy.process().wait(NOTICED)?;
        two.proxy.restart()?;
        let of_two = Clients::start(vec![two.target(SECRET, &old); CLIENTS], &self.roots)?;
        let progress = || -> Result<()> {
            let before = (of_one.count(), of_two.count());
            let served = || of_one.count() > before.0 + 40 && of_two.count() > before.1 + 40;
            wait_for("clients are served", NOTICED, served).map(drop)
        };
        progress()?;
        // The store has lost the keys, and gets them from the nodes. Then they are replaced.
        store.start_empty()?;
        let both = || is_connected(&one) && is_connected(&two);
        wait_for("the store is connected again", NOTICED, both)?;
        add_key(&keys, "2")?;
        fs::remove_file(keys.join("1.ech"))?;
        publish()?;
        wait_for("new keys on both nodes", NOTICED, || has_set(&one, 2) && has_set(&two, 2))?;
        progress()?;
        let (of_one, of_two) = (of_one.stop()?, of_two.stop()?);
        for (node, requests) in [(&one, &of_one), (&two, &of_two)] {
            check_counts(node, requests.len(), count_retried(requests), faults);
            if count_retried(requests) == 0 {
                faults.push("no client had to recover from its old key".to_owned());
            }
        }
        let regular = [of_one, of_two].concat();
        Ok(Outcome { regular, refused: 0, backend_failures: 0 })
    }

    /// The backend of split mode ends for a while. Other names of the front are served.
    fn front(&self, refused: usize, faults: &mut Vec<String>) -> Result<Outcome> {
        let keys = self.directory("front-keys")?;
        let configs = add_key(&keys, "1")?;
        let mut backend =
            self.start("inner", "", &self.listener("inner", "ech_backend = true\n"))?;
        let text = format!("[timeouts]\nconnect = 1\n[ech]\ndirectory = \"{}\"\n", keys.display());
        let route = format!(
            "[[listener.route]]\nnames = \"{INNER}\"\nech_front = true\nto = \"{}\"\n",
            backend.address
        );
        let front = self.start("front", &text, &self.listener("certificates", &route))?;
        let others = Clients::start(vec![front.target(SECRET, &configs); CLIENTS], &self.roots)?;
        let inner = front.target(INNER, &configs);
        let mut regular = clients::make(&inner, &self.roots, 20)?;
        backend.proxy.signal(Signal::SIGTERM)?;
        backend.proxy.process().wait(NOTICED)?;
        // The failed connection attempts have reasons of their own.
        let none_left = [("reason", "none_left")];
        let failures = || front.count("tercel_backend_failures_total", &none_left);
        let before = failures();
        let served = clients::make(&inner, &self.roots, refused)?;
        let answered = served.iter().filter(|request| request.result.is_ok()).count();
        if answered > 0 {
            faults.push(format!("{answered} requests were answered without a backend"));
        }
        let backend_failures = failures() - before;
        if backend_failures != refused as u64 {
            faults.push(format!("{backend_failures} failures of the backend for {refused}"));
        }
        backend.proxy.restart()?;
        let is_back = || {
            let one = clients::make(&inner, &self.roots, 1);
            one.is_ok_and(|requests| requests.iter().all(|request| request.result.is_ok()))
        };
        wait_for("the backend is used again", NOTICED, is_back)?;
        regular.extend(clients::make(&inner, &self.roots, 20)?);
        regular.extend(others.stop()?);
        Ok(Outcome { regular, refused, backend_failures })
    }

    /// Starts a terminator with these global settings and this listener.
    fn start(&self, name: &str, text: &str, listener: &str) -> Result<Node> {
        let [admin, address] =
            [free_port()?, free_port()?].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let text = format!(
            "workers = 1\n[admin]\naddress = \"{admin}\"\n{text}[[listener]]\n\
             address = \"{address}\"\n{listener}"
        );
        let config = self.folder.path().join(format!("{name}.toml"));
        let proxy = Proxy::start(self.program, &config, &text, admin, ProcessOptions::default())?;
        Ok(Node { proxy, address, config })
    }

    /// The settings of a listener with these certificates.
    fn listener(&self, certificates: &str, more: &str) -> String {
        let certificates = self.folder.path().join(certificates);
        let to = self.backend.address();
        format!("certificates = \"{}\"\nto = \"{to}\"\n{more}", certificates.display())
    }

    fn directory(&self, name: &str) -> Result<PathBuf> {
        let directory = self.folder.path().join(name);
        fs::create_dir(&directory)?;
        Ok(directory)
    }
}

/// A terminator.
struct Node {
    proxy: Proxy,
    address: SocketAddr,
    config: PathBuf,
}

impl Node {
    fn target(&self, name: &'static str, configs: &ConfigList) -> Target {
        Target { address: self.address, name, configs: configs.clone() }
    }

    /// The sum of a metric; 0 while the terminator does not answer.
    fn count(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        self.proxy.metrics().map_or(0, |samples| phase::whole(samples.sum(name, labels)))
    }

    /// Publishes keys to the nodes of the fleet.
    fn publish(&self, program: &Path, keys: &Path) -> Result<()> {
        let mut command = Command::new(program);
        command.args(["ech", "publish", "--config"]).arg(&self.config).arg(keys);
        let mut process = Process::start(command)?;
        let status = process.wait(NOTICED)?;
        anyhow::ensure!(status.success(), "tercel ech publish: {}", process.all_output());
        Ok(())
    }
}

/// Each request is one accepted ClientHello, and each second attempt follows a rejected one, of
/// which the terminator may miss the alert.
fn check_counts(node: &Node, requests: usize, retried: usize, faults: &mut Vec<String>) {
    let count = |result| node.count("tercel_ech_total", &[("result", result)]);
    // The counters follow the last answer after a moment.
    let deadline = Instant::now() + Duration::from_secs(60);
    while (count("accepted"), count("grease_or_unknown")) != (requests as u64, retried as u64)
        && Instant::now() < deadline
    {
        thread::sleep(Duration::from_millis(20));
    }
    for (result, expected) in [("accepted", requests), ("grease_or_unknown", retried)] {
        if count(result) != expected as u64 {
            faults.push(format!("{} counted as {result} for {expected}", count(result)));
        }
    }
    let alerts = count("rejected");
    if alerts > retried as u64 || retried > 0 && alerts == 0 {
        faults.push(format!("{alerts} counted as rejected for {retried}"));
    }
}

fn count_retried(requests: &[Request]) -> usize {
    requests.iter().filter(|request| request.result == Ok(true)).count()
}

/// Writes a new key, and returns its configuration.
fn add_key(directory: &Path, name: &str) -> Result<ConfigList> {
    let key = Key::generate(PUBLIC, 32).context("a key")?;
    write_private(&directory.join(format!("{name}.ech")), &key.to_pem()?)?;
    Ok(key.config())
}

/// Writes a file as a whole.
fn write_private(file: &Path, text: &str) -> Result<()> {
    let new = file.with_extension("new");
    fs::write(&new, text)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o600))?;
    Ok(fs::rename(new, file)?)
}
