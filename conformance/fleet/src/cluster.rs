//! Three nodes, the store they share, a balancer before them and a backend behind each.
//!
//! A node is one terminator for each way to resume ([`Face`]), since a terminator has one. Must not
//! know: clients, or what befalls it. Next: `events.rs`.

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
use tercel_harness::proxy::{Proxy, Terms};
use tercel_harness::store::Store;

use crate::balancer::{Balancer, Group};
use files::{KeyFile, certificate_file, config, write_certificate, write_private};

/// How clients come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Face {
    /// With tickets under keys from the store.
    StoreKeys,
    /// With tickets under keys from a file.
    FileKeys,
    /// To sessions in the store.
    Sessions,
}

impl Face {
    pub(crate) const ALL: [Self; 3] = [Self::StoreKeys, Self::FileKeys, Self::Sessions];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::StoreKeys => "store-keys",
            Self::FileKeys => "file-keys",
            Self::Sessions => "sessions",
        }
    }

    fn place(self) -> usize {
        match self {
            Self::StoreKeys => 0,
            Self::FileKeys => 1,
            Self::Sessions => 2,
        }
    }
}

/// How many nodes there are.
pub(crate) const NODES: usize = 3;

/// How long a node that is told to end may go on with what it has begun.
pub(crate) const DRAIN: Duration = Duration::from_secs(3);

/// Everything that is not a client.
#[derive(Debug)]
pub(crate) struct Cluster {
    folder: TemporaryFolder,
    authority: Authority,
    pub(crate) store: Store,
    nodes: Vec<Node>,
    groups: Vec<Group>,
    _balancer: Balancer,
    keys: KeyFile,
    /// The node that has been told to end, or killed.
    down: Option<usize>,
}

/// One machine of a fleet, as it were.
#[derive(Debug)]
struct Node {
    backend: Backend,
    /// One for each face, in their order.
    proxies: Vec<Proxy>,
    configs: Vec<(PathBuf, String)>,
}

impl Cluster {
    /// Starts everything. Within a runtime, which serves the backends.
    ///
    /// `window` is the seconds by which a ticket's age may be off for its early data to count as fresh.
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
        for _ in Face::ALL {
            let mut nodes = Vec::new();
            for _ in 0..NODES {
                nodes.push((local(free_port()?), local(free_port()?)));
            }
            addresses.push(nodes);
        }
        let of = |face: Face, node: usize| addresses[face.place()][node];
        let mut nodes = Vec::new();
        for number in 0..NODES {
            let backend = Backend::start(&format!("node {number}"), Behaviour::Answers).await?;
            let (mut proxies, mut configs) = (Vec::new(), Vec::new());
            for face in Face::ALL {
                let (address, admin) = of(face, number);
                let text =
                    config(face, path, address, admin, backend.address(), &store.url(), window);
                let file = path.join(format!("{}-{number}.toml", face.name()));
                proxies.push(Proxy::start(program, &file, &text, admin, Terms::default())?);
                configs.push((file, text));
            }
            nodes.push(Node { backend, proxies, configs });
        }
        let groups: Vec<Group> = addresses.into_iter().map(Group::new).collect::<Result<_>>()?;
        let balancer = Balancer::start(path, &groups.iter().collect::<Vec<_>>())?;
        Ok(Self { folder, authority, store, nodes, groups, _balancer: balancer, keys, down: None })
    }

    /// A certificate of this cluster for somebody else.
    pub(crate) fn certificate(&self) -> Result<Pem> {
        self.authority.issue(&Leaf::SERVER, Key::P256)
    }

    pub(crate) fn root_pem(&self) -> String {
        self.authority.root_pem()
    }

    /// For files of others.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where clients of this face connect.
    pub(crate) fn front(&self, face: Face) -> SocketAddr {
        self.groups[face.place()].front
    }

    /// Where its nodes listen, for those that go past the balancer.
    pub(crate) fn behind(&self, face: Face) -> Vec<SocketAddr> {
        self.groups[face.place()].nodes.iter().map(|(address, _)| *address).collect()
    }

    /// Nothing in good order: the node is gone.
    pub(crate) fn kill(&mut self, node: usize) -> Result<()> {
        self.signal(node, Signal::SIGKILL)?;
        self.down = Some(node);
        self.wait_for_end(node).map(drop)
    }

    /// Tells the node to end, and waits until it has. How it ended, if not well.
    pub(crate) fn drain(&mut self, node: usize) -> Result<Vec<String>> {
        self.signal(node, Signal::SIGTERM)?;
        self.down = Some(node);
        self.wait_for_end(node)
    }

    pub(crate) fn start_again(&mut self, node: usize) -> Result<()> {
        self.nodes[node].proxies.iter_mut().try_for_each(Proxy::start_again)?;
        self.down = None;
        Ok(())
    }

    /// Tells every node to read its files again.
    pub(crate) fn reload(&mut self) -> Result<()> {
        (0..NODES).try_for_each(|node| self.signal(node, Signal::SIGHUP))
    }

    /// Adds this to each configuration, in place of what was added before.
    pub(crate) fn configure(&self, addition: &str) -> Result<()> {
        for (file, text) in self.nodes.iter().flat_map(|node| &node.configs) {
            fs::write(file, format!("{text}{addition}"))?;
        }
        Ok(())
    }

    /// A new certificate for all nodes, at the place of the old one.
    pub(crate) fn renew_certificate(&self) -> Result<()> {
        write_certificate(&self.authority, self.folder.path())
    }

    /// Something else in its place.
    pub(crate) fn spoil_certificate(&self) -> Result<()> {
        Ok(fs::write(certificate_file(self.folder.path(), "crt"), "nothing of the kind\n")?)
    }

    /// Shared keys in the file are followed by new ones.
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

    /// Paths that reached a backend more than once though no client asked twice.
    pub(crate) fn repeated(&self) -> Vec<String> {
        self.nodes.iter().flat_map(|node| node.backend.repeated()).collect()
    }

    /// Terminators that have ended without being told to.
    pub(crate) fn ended(&mut self) -> Result<Vec<String>> {
        let mut ended = Vec::new();
        for (number, node) in self.nodes.iter_mut().enumerate() {
            if self.down == Some(number) {
                continue;
            }
            for (face, proxy) in Face::ALL.iter().zip(&mut node.proxies) {
                if let Some(status) = proxy.process().ended()? {
                    let lines = proxy.last_lines(6);
                    ended.push(format!("node {number}, {}: {status}{lines}", face.name()));
                }
            }
        }
        Ok(ended)
    }

    /// How many terminators there are.
    pub(crate) fn terminators(&self) -> usize {
        self.nodes.iter().map(|node| node.proxies.len()).sum()
    }

    fn signal(&mut self, node: usize, signal: Signal) -> Result<()> {
        self.nodes[node].proxies.iter_mut().try_for_each(|proxy| proxy.process().signal(signal))
    }

    fn wait_for_end(&mut self, node: usize) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        for proxy in &mut self.nodes[node].proxies {
            let status = proxy.process().wait(DRAIN + Duration::from_secs(5))?;
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
