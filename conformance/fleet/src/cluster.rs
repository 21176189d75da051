//! Three nodes, their common store, a balancer in front of them and a backend for each.
//!
//! A node has one terminator for each [`ResumptionKind`], since a terminator supports only one
//! kind.

mod files;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use tercel_harness::backend::{Backend, Behaviour};
use tercel_harness::folder::TemporaryFolder;
use tercel_harness::pki::{Authority, Key, Leaf, Pem};
use tercel_harness::ports::free_port;
use tercel_harness::process::Signal;
use tercel_harness::proxy::{ProcessOptions, Proxy};
use tercel_harness::store::Store;

use crate::balancer::{Balancer, Group};
use files::{Addresses, KeyFile, certificate_file, config, write_certificate, write_private};

/// How clients of a terminator resume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ResumptionKind {
    /// Tickets under keys from the store.
    StoreKeys,
    /// Tickets under keys from a file.
    FileKeys,
    /// Sessions in the store.
    Sessions,
}

impl ResumptionKind {
    pub(crate) const ALL: [Self; 3] = [Self::StoreKeys, Self::FileKeys, Self::Sessions];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::StoreKeys => "store-keys",
            Self::FileKeys => "file-keys",
            Self::Sessions => "sessions",
        }
    }

    fn index(self) -> usize {
        match self {
            Self::StoreKeys => 0,
            Self::FileKeys => 1,
            Self::Sessions => 2,
        }
    }
}

/// The number of nodes.
pub(crate) const NODES: usize = 3;

/// The time that a node has to complete its requests when it drains.
pub(crate) const DRAIN: Duration = Duration::from_secs(3);

/// The whole setup apart from the clients.
#[derive(Debug)]
pub(crate) struct Cluster {
    folder: TemporaryFolder,
    authority: Authority,
    pub(crate) store: Store,
    nodes: Vec<Node>,
    groups: Vec<Group>,
    _balancer: Balancer,
    keys: KeyFile,
    /// The node that was drained or killed.
    down: Option<usize>,
}

/// The terminators and the backend of one node.
#[derive(Debug)]
struct Node {
    backend: Backend,
    /// One terminator for each kind of resumption, in order.
    proxies: Vec<Proxy>,
    configs: Vec<(PathBuf, String)>,
}

impl Cluster {
    /// Starts everything. The current runtime runs the backends.
    ///
    /// `window` is the freshness window in seconds: the error of a ticket's age with which its
    /// early data is still accepted.
    pub(crate) async fn start(program: &Path, window: u32) -> Result<Self> {
        let folder = TemporaryFolder::create("tercel-fleet")?;
        let path = folder.path();
        let authority = Authority::new("Fleet", Key::P256)?;
        fs::create_dir(path.join("certificates"))?;
        write_private(&path.join("secret"), "0123456789abcdef0123456789abcdef")?;
        write_certificate(&authority, path)?;
        let keys = KeyFile::create(path)?;
        let store = Store::start(path, &[])?;
        let mut addresses = Vec::new();
        for _ in ResumptionKind::ALL {
            let mut nodes = Vec::new();
            for _ in 0..NODES {
                nodes.push((local(free_port()?), local(free_port()?)));
            }
            addresses.push(nodes);
        }
        let of = |kind: ResumptionKind, node: usize| addresses[kind.index()][node];
        let mut nodes = Vec::new();
        for number in 0..NODES {
            let backend = Backend::start(&format!("node {number}"), Behaviour::Answers).await?;
            let (mut proxies, mut configs) = (Vec::new(), Vec::new());
            for kind in ResumptionKind::ALL {
                let (address, admin) = of(kind, number);
                let text = config(
                    kind,
                    path,
                    Addresses { address, admin, backend: backend.address() },
                    &store.url(),
                    window,
                );
                let file = path.join(format!("{}-{number}.toml", kind.name()));
                proxies.push(Proxy::start(
                    program,
                    &file,
                    &text,
                    admin,
                    ProcessOptions::default(),
                )?);
                configs.push((file, text));
            }
            nodes.push(Node { backend, proxies, configs });
        }
        let groups: Vec<Group> = addresses.into_iter().map(Group::new).collect::<Result<_>>()?;
        let balancer = Balancer::start(path, &groups.iter().collect::<Vec<_>>())?;
        Ok(Self { folder, authority, store, nodes, groups, _balancer: balancer, keys, down: None })
    }

    /// Issues a certificate that no node uses.
    pub(crate) fn certificate(&self) -> Result<Pem> {
        self.authority.issue(&Leaf::SERVER, Key::P256)
    }

    pub(crate) fn root_pem(&self) -> String {
        self.authority.root_pem()
    }

    /// The folder, for files of other programs.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The address of the balancer for this kind of resumption.
    pub(crate) fn balancer_address(&self, kind: ResumptionKind) -> SocketAddr {
        self.groups[kind.index()].front
    }

    /// The addresses of the nodes, for clients that bypass the balancer.
    pub(crate) fn node_addresses(&self, kind: ResumptionKind) -> Vec<SocketAddr> {
        self.groups[kind.index()].nodes.iter().map(|(address, _)| *address).collect()
    }

    /// Kills a node, which cannot close its connections in order.
    pub(crate) fn kill(&mut self, node: usize) -> Result<()> {
        self.signal(node, Signal::SIGKILL)?;
        self.down = Some(node);
        self.wait_for_end(node).map(drop)
    }

    /// Drains a node and waits for its end. Returns faults of its exit status.
    pub(crate) fn drain(&mut self, node: usize) -> Result<Vec<String>> {
        self.signal(node, Signal::SIGTERM)?;
        self.down = Some(node);
        self.wait_for_end(node)
    }

    pub(crate) fn restart(&mut self, node: usize) -> Result<()> {
        self.nodes[node].proxies.iter_mut().try_for_each(Proxy::restart)?;
        self.down = None;
        Ok(())
    }

    /// Makes every node read its files again.
    pub(crate) fn reload(&mut self) -> Result<()> {
        (0..NODES).try_for_each(|node| self.signal(node, Signal::SIGHUP))
    }

    /// Sets text that is added to all configurations.
    pub(crate) fn configure(&self, addition: &str) -> Result<()> {
        for (file, text) in self.nodes.iter().flat_map(|node| &node.configs) {
            fs::write(file, format!("{text}{addition}"))?;
        }
        Ok(())
    }

    /// Replaces the certificate of all nodes by a new certificate.
    pub(crate) fn renew_certificate(&self) -> Result<()> {
        write_certificate(&self.authority, self.folder.path())
    }

    /// Replaces the certificate by an invalid file.
    pub(crate) fn write_invalid_certificate(&self) -> Result<()> {
        Ok(fs::write(certificate_file(self.folder.path(), "crt"), "nothing of the kind\n")?)
    }

    /// Adds a new key to the file of shared keys.
    pub(crate) fn rotate_keys(&mut self) -> Result<()> {
        self.keys.rotate()
    }

    /// The sum of a counter over all terminators.
    pub(crate) fn count(&self, name: &str, labels: &[(&str, &str)]) -> Result<f64> {
        let mut sum = 0.0;
        for proxy in self.nodes.iter().flat_map(|node| &node.proxies) {
            sum += proxy.metrics()?.sum(name, labels);
        }
        Ok(sum)
    }

    /// Paths that reached a backend more than once, though no client retried them.
    pub(crate) fn repeated(&self) -> Vec<String> {
        self.nodes.iter().flat_map(|node| node.backend.repeated()).collect()
    }

    /// Terminators that ended unexpectedly.
    pub(crate) fn ended(&mut self) -> Result<Vec<String>> {
        let mut ended = Vec::new();
        for (number, node) in self.nodes.iter_mut().enumerate() {
            if self.down == Some(number) {
                continue;
            }
            for (kind, proxy) in ResumptionKind::ALL.iter().zip(&mut node.proxies) {
                if let Some(status) = proxy.process().ended()? {
                    let lines = proxy.last_lines(6);
                    ended.push(format!("node {number}, {}: {status}{lines}", kind.name()));
                }
            }
        }
        Ok(ended)
    }

    /// The number of terminators.
    pub(crate) fn terminators(&self) -> usize {
        self.nodes.iter().map(|node| node.proxies.len()).sum()
    }

    fn signal(&mut self, node: usize, signal: Signal) -> Result<()> {
        self.nodes[node].proxies.iter_mut().try_for_each(|proxy| proxy.process().signal(signal))
    }

    fn wait_for_end(&mut self, node: usize) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        for proxy in &mut self.nodes[node].proxies {
            let status = proxy.process().wait(DRAIN + Duration::from_secs(60))?;
            if !status.success() {
                faults.push(format!("node {node}: {status}{}", proxy.last_lines(4)));
            }
        }
        Ok(faults)
    }
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}
