//! The text that the server prints when it is ready: its address, and commands to connect to it.
//!
//! The first line is `listening on ADDRESS:PORT`, which programs that start the server can parse.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tercel::pki::dns_names;

use super::identity::Identity;
use super::options::{ClientAuthMode, Options};

/// The lines to print.
#[derive(Debug)]
pub(crate) struct Announcement(String);

impl Announcement {
    pub(crate) fn new(options: &Options, address: SocketAddr, identity: &Identity) -> Self {
        let mut lines = vec![format!("listening on {address}")];
        if options.http3 {
            lines.push(format!("HTTP/3 at the same port over UDP: {address}"));
        }
        // With only pre-shared keys, a command would print the key.
        if identity.credentials.is_empty() {
            lines.push(String::new());
            return Self(lines.join("\n"));
        }
        let port = address.port();
        let host = host(address);
        let (mut curl, mut openssl, mut connect);
        if let Some(authority) = &identity.authority {
            lines.push(format!("test authority in {}", authority.folder.display()));
            let ca = quoted(&authority.ca);
            curl = format!("curl --cacert {ca}");
            openssl = format!("openssl s_client -connect {host}:{port} -CAfile {ca}");
            connect = format!("{} connect {host}:{port} --ca {ca}", program());
            if options.client_auth != ClientAuthMode::None {
                let certificate = quoted(&authority.client_certificate);
                let key = quoted(&authority.client_key);
                curl.push_str(&format!(" --cert {certificate} --key {key}"));
                openssl.push_str(&format!(" -cert {certificate} -key {key}"));
                connect.push_str(&format!(" --cert {certificate} --key {key}"));
            }
            curl.push_str(&format!(" https://{host}:{port}/"));
        } else {
            let name = name(identity).unwrap_or_else(|| host.clone());
            curl = format!("curl --connect-to ::{host}:{port} https://{name}:{port}/");
            openssl = format!("openssl s_client -connect {host}:{port} -servername {name}");
            connect = format!("{} connect {host}:{port} --name {name}", program());
        }
        let offered = options.ech.as_deref().and_then(offered_by_command);
        if let Some(file) = &offered {
            connect.push_str(&format!(" --ech {}", quoted(file)));
        }
        let http3 = options.http3.then(|| format!("{connect} --http3"));
        if !options.echo {
            lines.push(curl);
        }
        lines.extend([openssl, connect]);
        lines.extend(http3);
        lines.push(String::new());
        Self(lines.join("\n"))
    }

    /// Prints all lines at once, to standard output.
    pub(crate) fn print(&self) {
        // Errors are ignored: the server works without standard output as well.
        let mut out = io::stdout().lock();
        let _ = out.write_all(self.0.as_bytes()).and_then(|()| out.flush());
    }
}

/// The file of the key whose configuration a command offers: that which clients are sent.
fn offered_by_command(ech: &Path) -> Option<PathBuf> {
    crate::ech_files::files(ech).ok()?.pop()
}

/// The path by which this program was started, so that the printed command works in the same shell.
fn program() -> String {
    let started_as = std::env::args_os().next().filter(|name| !name.is_empty());
    quoted(&started_as.map_or_else(|| PathBuf::from("tercel"), PathBuf::from))
}

/// The host to connect to from this machine, as named in the certificates of the test authority.
fn host(address: SocketAddr) -> String {
    let ip = address.ip();
    match address {
        _ if ip.is_loopback() || ip.is_unspecified() => "localhost".to_owned(),
        SocketAddr::V4(_) => ip.to_string(),
        SocketAddr::V6(_) => format!("[{ip}]"),
    }
}

/// A DNS name of the first certificate, unless it is a wildcard.
fn name(identity: &Identity) -> Option<String> {
    let names = dns_names(identity.credentials.first()?.chain().first()?).ok()?;
    let plain =
        |name: &String| name.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b));
    names.into_iter().find(plain)
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_a_shell() {
        assert_eq!(quoted(Path::new("/tmp/tercel-1/ca.pem")), "/tmp/tercel-1/ca.pem");
        assert_eq!(quoted(Path::new("/tmp/my files/ca.pem")), "'/tmp/my files/ca.pem'");
        assert_eq!(quoted(Path::new("it's")), r"'it'\''s'");
    }

    #[test]
    fn addresses_become_hosts() {
        let host = |text: &str| host(text.parse().unwrap());
        assert_eq!(host("127.0.0.1:1"), "localhost");
        assert_eq!(host("[::]:1"), "localhost");
        assert_eq!(host("192.0.2.7:1"), "192.0.2.7");
        assert_eq!(host("[2001:db8::1]:1"), "[2001:db8::1]");
    }
}
