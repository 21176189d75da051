//! HTTP clients of others through `tercel proxy`: curl, Go, Node, `openssl s_time`, Chromium.
//!
//! Each comes three times in one process and resumes, but that of HTTP/2 that would stay on its connection: curl
//! then comes in three processes, and Chromium asks three times on the one that it has.
//!
//! The backend speaks HTTP/1.1 and HTTP/2 in the clear and says which it was asked by; which version of TLS was
//! spoken is what the terminator has counted. This module must not know what handshakes look like.
//! Next: conformance/harness for how the terminator is started.

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
use tercel_harness::proxy::{Proxy, Terms};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::programs::{CONNECTIONS, build_go, find};
use crate::terms::Version;

/// The line of the matrix.
pub(crate) const MATTER: &str = "HTTP through the proxy";

/// The one client that is nowhere else.
pub(crate) const BROWSER: &str = "chromium";

/// How long a program may take; a browser takes some seconds to start.
const LIMIT: Duration = Duration::from_secs(60);

/// What is on the page.
const PAGE: &str = "through the terminator";

/// What a browser is sent to, so that it asks for the page as often as the others.
const THRICE: &str = "thrice";

/// The page that does so. A browser shows what a page has become when it has loaded.
const ASKS_AGAIN: &str = "<script>for (let i = 0; i < 3; i++) {
    const request = new XMLHttpRequest();
    request.open('GET', '/page-' + i, false);
    request.send();
    document.write(request.responseText);
}</script>
";

/// One client, and what it speaks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProxiedCell {
    pub(crate) client: Client,
    version: Version,
    /// HTTP's version.
    http: u8,
}

/// Whose client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Client {
    Curl,
    Go,
    Node,
    /// New connections as fast as it can, for a second.
    SecondOfNew,
    /// The same with one session.
    SecondOfReused,
    Chromium,
}

/// Every client with both versions of TLS, and of HTTP where it speaks both.
pub(crate) fn cells() -> Vec<ProxiedCell> {
    let mut cells = Vec::new();
    for version in Version::ALL {
        for client in [Client::Curl, Client::Go, Client::Node] {
            for http in [1, 2] {
                cells.push(ProxiedCell { client, version, http });
            }
        }
        for client in [Client::SecondOfNew, Client::SecondOfReused] {
            cells.push(ProxiedCell { client, version, http: 1 });
        }
        for http in [1, 2] {
            cells.push(ProxiedCell { client: Client::Chromium, version, http });
        }
    }
    cells
}

/// The terminator and what is behind it.
pub(crate) struct Place {
    folder: PathBuf,
    proxy: Proxy,
    address: SocketAddr,
    go: Option<PathBuf>,
    /// Serves the backend.
    _runtime: Runtime,
}

impl Client {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::Go => "go",
            Self::Node => "node",
            Self::SecondOfNew | Self::SecondOfReused => "openssl",
            Self::Chromium => BROWSER,
        }
    }
}

impl fmt::Display for ProxiedCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, version, http } = self;
        write!(f, "proxy {} {version} ", client.name())?;
        match client {
            Client::SecondOfNew => write!(f, "s_time-new"),
            Client::SecondOfReused => write!(f, "s_time-reuse"),
            _ => write!(f, "http-{http}"),
        }
    }
}

impl Place {
    pub(crate) fn start(tercel: &Path, folder: &Path) -> Result<Self> {
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
        let proxy =
            Proxy::start(tercel, &folder.join("proxy.toml"), &text, admin, Terms::default())?;
        let go = build_go(&folder, "go-http", include_str!("../peers/go-http/main.go"));
        Ok(Self { folder, proxy, address, go, _runtime: runtime })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl ProxiedCell {
    pub(crate) fn present(self, place: &Place) -> bool {
        self.program(place).is_some()
    }

    fn program(self, place: &Place) -> Option<PathBuf> {
        match self.client {
            Client::Go => place.go.clone(),
            Client::Chromium => {
                ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(find)
            }
            other => find(other.name()),
        }
    }

    /// The error says what was wrong and quotes the program.
    pub(crate) fn run(self, place: &Place) -> Result<()> {
        let before = counted(place, self.version)?;
        let resumed_before = resumed(place, self.version)?;
        let others_before = counted(place, self.version.other())?;
        let mut said = String::new();
        let once = self.returns() || self.client == Client::SecondOfNew;
        for _ in 0..if once { 1 } else { CONNECTIONS } {
            said += &self.say(place)?;
        }
        let quote = || {
            let lines: Vec<_> = said.lines().rev().take(4).collect();
            lines.join(" | ")
        };
        match self.client {
            Client::SecondOfNew | Client::SecondOfReused => {
                let bytes = said.contains("bytes read per connection");
                ensure!(bytes, "no connections are reported: {}", quote());
                ensure!(!said.contains(" 0 bytes read"), "nothing was read: {}", quote());
            }
            _ => {
                let spoken = if self.http == 2 { "HTTP/2" } else { "HTTP/1.1" };
                let pages = said.matches(PAGE).count();
                ensure!(pages >= CONNECTIONS, "{pages} pages: {}", quote());
                ensure!(said.contains(spoken), "not over {spoken}: {}", quote());
            }
        }
        let made = counted(place, self.version)? - before;
        let expected = if self.stays() { 1.0 } else { CONNECTIONS as f64 };
        ensure!(made >= expected, "{made} handshakes of TLS {}", self.version);
        let again = resumed(place, self.version)? - resumed_before;
        let resumes = self.returns() && !self.stays();
        let expected = if resumes { expected - 1.0 } else { 0.0 };
        ensure!(again >= expected, "{again} of {made} sessions were resumed: {}", quote());
        let others = counted(place, self.version.other())? - others_before;
        ensure!(others == 0.0, "{others} handshakes of the other version");
        Ok(())
    }

    /// Whether one process makes all connections and keeps sessions, or asks thrice on one connection.
    fn returns(self) -> bool {
        match self.client {
            Client::Curl => self.http == 1,
            Client::SecondOfNew => false,
            _ => true,
        }
    }

    /// Whether one connection serves for all that is asked.
    fn stays(self) -> bool {
        self.client == Client::Chromium && self.http == 2
    }

    /// Runs the program once and gives what it said.
    fn say(self, place: &Place) -> Result<String> {
        let mut process = Process::start(self.command(place).context("the program is gone")?)?;
        process.end_input();
        let ended = process.wait(LIMIT);
        // The last words may still be in the pipe.
        std::thread::sleep(Duration::from_millis(50));
        let said = process.said();
        let quote = || {
            let lines: Vec<_> = said.lines().rev().take(4).collect();
            lines.join(" | ")
        };
        let status = ended.with_context(quote)?;
        ensure!(status.success(), "{status}: {}", quote());
        Ok(said)
    }

    fn command(self, place: &Place) -> Option<Command> {
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
                    // Or it would ask for the next page on the same connection.
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
            Client::SecondOfNew | Client::SecondOfReused => {
                command.args(["s_time", "-connect", &place.address.to_string(), "-time", "1"]);
                command.args(["-www", "/", "-CAfile"]).arg(roots);
                command.arg(if self.version == Version::Tls12 { "-tls1_2" } else { "-tls1_3" });
                let new = self.client == Client::SecondOfNew;
                command.arg(if new { "-new" } else { "-reuse" });
            }
            Client::Chromium => {
                command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio"]);
                command.args(["--disable-background-networking", "--no-first-run"]);
                command.args(["--disable-component-update", "--disable-sync", "--disable-quic"]);
                if self.http == 1 {
                    command.arg("--disable-http2");
                }
                // Of our certificates it knows nothing; which are good is for other cells to say.
                command.arg("--ignore-certificate-errors");
                command.arg(format!("--ssl-version-min=tls{version}"));
                command.arg(format!("--ssl-version-max=tls{version}"));
                let own = format!("chromium-{version}-{}", self.http);
                command.arg(format!("--user-data-dir={}", place.file(&own).display()));
                command.arg("--dump-dom").arg(url + THRICE);
            }
        }
        Some(command)
    }
}

/// How many handshakes of this version the terminator has counted.
fn counted(place: &Place, version: Version) -> Result<f64> {
    let labels = [("version", &*version.to_string())];
    Ok(place.proxy.metrics()?.sum("tercel_handshakes_total", &labels))
}

/// How many of them resumed a session.
fn resumed(place: &Place, version: Version) -> Result<f64> {
    let labels = [("version", &*version.to_string()), ("outcome", "resumed")];
    Ok(place.proxy.metrics()?.sum("tercel_handshakes_total", &labels))
}

async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| async move {
                let mut page = format!("<p>{PAGE}, {:?}</p>\n", request.version());
                if request.uri().path().ends_with(THRICE) {
                    page = ASKS_AGAIN.to_owned();
                }
                let mut answer = Response::builder().header("content-type", "text/html");
                if request.version() < Http::HTTP_2 {
                    answer = answer.header("connection", "close");
                }
                answer.body(Full::new(Bytes::from(page)))
            });
            let builder = auto::Builder::new(TokioExecutor::new());
            // A client that leaves in the middle is no concern of the backend's.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
