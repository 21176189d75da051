//! HTTP clients through `tercel proxy`: curl, Go, Node, `openssl s_time`, Chromium.
//!
//! A client makes three connections in one process and resumes sessions. Over HTTP/2, curl and
//! Chromium would stay on one connection: curl then runs as three processes, and Chromium sends
//! three requests on its connection.
//!
//! The backend speaks HTTP/1.1 and HTTP/2 over TCP and reports the version of each request. The
//! version of TLS is taken from the metrics of the terminator.

use std::fmt;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, Version as Http};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tercel_harness::pki::{Authority, Key, Leaf, SERVER_NAME};
use tercel_harness::ports::free_port;
use tercel_harness::process::Process;
use tercel_harness::program;
use tercel_harness::proxy::{ProcessOptions, Proxy};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::parameters::Version;
use crate::programs::{CONNECTIONS, build_go, find};

/// The name of the matrix row that contains the cells of this file.
pub(crate) const CATEGORY: &str = "HTTP through the proxy";

/// The browser, which is the only client without other cells.
pub(crate) const BROWSER: &str = "chromium";

/// The time limit of a program; a browser takes some seconds to start.
const LIMIT: Duration = Duration::from_secs(60);

/// The text of the page.
const PAGE: &str = "through the terminator";

/// The path of a page that makes a browser request the text as often as the other clients do.
const REPEAT_PAGE: &str = "repeat";

/// The script of [`REPEAT_PAGE`]. The browser prints the document as it is after loading.
const REPEAT_SCRIPT: &str = "<script>for (let i = 0; i < 3; i++) {
    const request = new XMLHttpRequest();
    request.open('GET', '/page-' + i, false);
    request.send();
    document.write(request.responseText);
}</script>
";

/// A client with its versions of TLS and HTTP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProxiedCell {
    pub(crate) client: Client,
    version: Version,
    /// The version of HTTP.
    http: u8,
}

/// The client program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Client {
    Curl,
    Go,
    Node,
    /// New connections for a second, as fast as possible.
    NewForOneSecond,
    /// As `NewForOneSecond`, but with one session.
    ReusedForOneSecond,
    Chromium,
}

/// Every client with both versions of TLS, and with each version of HTTP that it supports.
pub(crate) fn cells() -> Vec<ProxiedCell> {
    let mut cells = Vec::new();
    for version in Version::ALL {
        for client in [Client::Curl, Client::Go, Client::Node] {
            for http in [1, 2] {
                cells.push(ProxiedCell { client, version, http });
            }
        }
        for client in [Client::NewForOneSecond, Client::ReusedForOneSecond] {
            cells.push(ProxiedCell { client, version, http: 1 });
        }
        for http in [1, 2] {
            cells.push(ProxiedCell { client: Client::Chromium, version, http });
        }
    }
    cells
}

/// The terminator and its backend.
pub(crate) struct ProxySetup {
    folder: PathBuf,
    proxy: Proxy,
    address: SocketAddr,
    go: Option<PathBuf>,
    /// Runs the backend.
    _runtime: Runtime,
}

impl Client {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::Go => "go",
            Self::Node => "node",
            Self::NewForOneSecond | Self::ReusedForOneSecond => "openssl",
            Self::Chromium => BROWSER,
        }
    }
}

impl fmt::Display for ProxiedCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, version, http } = self;
        write!(f, "proxy {} {version} ", client.name())?;
        match client {
            Client::NewForOneSecond => write!(f, "s_time-new"),
            Client::ReusedForOneSecond => write!(f, "s_time-reuse"),
            _ => write!(f, "http-{http}"),
        }
    }
}

impl ProxySetup {
    /// Starts the terminator, with the option `fips` or without it.
    pub(crate) fn start(tercel: &Path, fips: bool, folder: &Path) -> Result<Self> {
        let folder = folder.join("proxied");
        fs::create_dir(&folder)?;
        let authority = Authority::new("Proxied", Key::P256)?;
        fs::write(folder.join("roots.pem"), authority.root_pem())?;
        let pem = authority.issue(&Leaf::SERVER, Key::P256)?;
        fs::write(folder.join("server.pem"), &pem.certificates)?;
        fs::write(folder.join("server.key"), &pem.key)?;
        fs::write(folder.join("http.mjs"), include_str!("../peers/http.mjs"))?;
        let runtime = program::runtime(1)?;
        let backend = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let to = backend.local_addr()?;
        runtime.spawn(serve(backend));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let admin = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let here = folder.display();
        let text = format!(
            "workers = 2
fips = {fips}
[admin]
address = \"{admin}\"
[[listener]]
address = \"{address}\"
certificate = \"{here}/server.pem\"
key = \"{here}/server.key\"
alpn = [\"h2\", \"http/1.1\"]
to = \"{to}\"
"
        );
        let proxy = Proxy::start(
            tercel,
            &folder.join("proxy.toml"),
            &text,
            admin,
            ProcessOptions::default(),
        )?;
        let go = build_go(&folder, "go-http", include_str!("../peers/go-http/main.go"));
        Ok(Self { folder, proxy, address, go, _runtime: runtime })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl ProxiedCell {
    pub(crate) fn present(self, place: &ProxySetup) -> bool {
        self.program(place).is_some()
    }

    fn program(self, place: &ProxySetup) -> Option<PathBuf> {
        match self.client {
            Client::Go => place.go.clone(),
            Client::Chromium => {
                ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(find)
            }
            other => find(other.name()),
        }
    }

    /// Runs the cell. The error states the fault and contains the output of the program.
    pub(crate) fn run(self, place: &ProxySetup) -> Result<()> {
        let before = counted(place, self.version)?;
        let resumed_before = resumed(place, self.version)?;
        let others_before = counted(place, self.version.other())?;
        let mut output = String::new();
        let once = self.in_one_process() || self.client == Client::NewForOneSecond;
        for _ in 0..if once { 1 } else { CONNECTIONS } {
            output += &self.run_program(place)?;
        }
        let quote = || {
            let lines: Vec<_> = output.lines().rev().take(4).collect();
            lines.join(" | ")
        };
        match self.client {
            Client::NewForOneSecond | Client::ReusedForOneSecond => {
                let bytes = output.contains("bytes read per connection");
                ensure!(bytes, "the program reports no connections: {}", quote());
                ensure!(!output.contains(" 0 bytes read"), "nothing was read: {}", quote());
            }
            _ => {
                let spoken = if self.http == 2 { "HTTP/2" } else { "HTTP/1.1" };
                let pages = output.matches(PAGE).count();
                ensure!(pages >= CONNECTIONS, "{pages} pages: {}", quote());
                ensure!(output.contains(spoken), "the protocol is not {spoken}: {}", quote());
            }
        }
        let made = counted(place, self.version)? - before;
        let expected = if self.uses_one_connection() { 1.0 } else { CONNECTIONS as f64 };
        ensure!(made >= expected, "{made} handshakes of TLS {}", self.version);
        let again = resumed(place, self.version)? - resumed_before;
        let resumes = self.in_one_process() && !self.uses_one_connection();
        let expected = if resumes { expected - 1.0 } else { 0.0 };
        ensure!(again >= expected, "{again} of {made} connections were resumed: {}", quote());
        let others = counted(place, self.version.other())? - others_before;
        ensure!(others == 0.0, "{others} handshakes of the other version");
        Ok(())
    }

    /// Whether one process makes all connections with its sessions, or all requests on one
    /// connection.
    fn in_one_process(self) -> bool {
        match self.client {
            Client::Curl => self.http == 1,
            Client::NewForOneSecond => false,
            _ => true,
        }
    }

    /// Whether all requests are on one connection.
    fn uses_one_connection(self) -> bool {
        self.client == Client::Chromium && self.http == 2
    }

    /// Runs the program once and returns its output.
    fn run_program(self, place: &ProxySetup) -> Result<String> {
        let mut process =
            Process::start(self.command(place).context("the program is not installed")?)?;
        process.end_input();
        let ended = process.wait(LIMIT);
        // The last output may still be in the pipe.
        std::thread::sleep(Duration::from_millis(50));
        let output = process.all_output();
        let quote = || {
            let lines: Vec<_> = output.lines().rev().take(4).collect();
            lines.join(" | ")
        };
        let status = ended.with_context(quote)?;
        ensure!(status.success(), "{status}: {}", quote());
        Ok(output)
    }

    fn command(self, place: &ProxySetup) -> Option<Command> {
        let mut command = Command::new(self.program(place)?);
        let (port, roots) = (place.address.port().to_string(), place.file("roots.pem"));
        let version = self.version.to_string();
        let url = format!("https://{SERVER_NAME}:{port}/");
        match self.client {
            Client::Curl => {
                command.args(["--silent", "--show-error", "--max-time", "10", "--ipv4"]);
                command.arg(if self.http == 2 { "--http2" } else { "--http1.1" });
                command.arg(format!("--tlsv{version}")).args(["--tls-max", &version]);
                command.arg("--cacert").arg(roots);
                if self.http == 1 {
                    // Without this header, curl would request the next page on the same connection.
                    command.args(["--header", "Connection: close", &url, &url]);
                }
                command.arg(url);
            }
            Client::Go => {
                command.args([&place.address.to_string(), SERVER_NAME]).arg(roots);
                command.args([&version, &self.http.to_string(), &CONNECTIONS.to_string()]);
            }
            Client::Node => {
                command.arg(place.file("http.mjs")).args([&port, SERVER_NAME]).arg(roots);
                command.args([&version, &self.http.to_string(), &CONNECTIONS.to_string()]);
            }
            Client::NewForOneSecond | Client::ReusedForOneSecond => {
                command.args(["s_time", "-connect", &place.address.to_string(), "-time", "1"]);
                command.args(["-www", "/", "-CAfile"]).arg(roots);
                command.arg(if self.version == Version::Tls12 { "-tls1_2" } else { "-tls1_3" });
                let new = self.client == Client::NewForOneSecond;
                command.arg(if new { "-new" } else { "-reuse" });
            }
            Client::Chromium => {
                command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio"]);
                command.args(["--disable-background-networking", "--no-first-run"]);
                command.args(["--disable-component-update", "--disable-sync", "--disable-quic"]);
                if self.http == 1 {
                    command.arg("--disable-http2");
                }
                // Chromium does not know the test's roots; other cells check the verification of
                // certificates.
                command.arg("--ignore-certificate-errors");
                command.arg(format!("--ssl-version-min=tls{version}"));
                command.arg(format!("--ssl-version-max=tls{version}"));
                let own = format!("chromium-{version}-{}", self.http);
                command.arg(format!("--user-data-dir={}", place.file(&own).display()));
                command.arg("--dump-dom").arg(url + REPEAT_PAGE);
            }
        }
        Some(command)
    }
}

/// The number of handshakes of this version that the terminator has counted.
fn counted(place: &ProxySetup, version: Version) -> Result<f64> {
    let labels = [("version", &*version.to_string())];
    Ok(place.proxy.metrics()?.sum("tercel_handshakes_total", &labels))
}

/// The number of handshakes of this version that resumed a session.
fn resumed(place: &ProxySetup, version: Version) -> Result<f64> {
    let labels = [("version", &*version.to_string()), ("outcome", "resumed")];
    Ok(place.proxy.metrics()?.sum("tercel_handshakes_total", &labels))
}

async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| async move {
                let mut page = format!("<p>{PAGE}, {:?}</p>\n", request.version());
                if request.uri().path().ends_with(REPEAT_PAGE) {
                    page = REPEAT_SCRIPT.to_owned();
                }
                let mut answer = Response::builder().header("content-type", "text/html");
                if request.version() < Http::HTTP_2 {
                    answer = answer.header("connection", "close");
                }
                answer.body(Full::new(Bytes::from(page)))
            });
            let builder = auto::Builder::new(TokioExecutor::new());
            // A client may end the connection early. This is not a fault of the backend.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
