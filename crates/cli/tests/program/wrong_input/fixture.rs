//! The files and servers of the wrong inputs.

use std::collections::BTreeMap;
use std::io::{Read, Write};
#[cfg(feature = "http3")]
use std::net::UdpSocket;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use super::super::support::{Folder, Leaf, unused_address};

/// The files and addresses that commands name.
pub(super) struct Fixture {
    folder: Folder,
    names: BTreeMap<&'static str, String>,
    /// Sockets that stay open.
    open: Vec<(TcpListener, Vec<TcpStream>)>,
    #[cfg(feature = "http3")]
    open_udp: Vec<UdpSocket>,
}

impl Fixture {
    pub(super) fn new() -> Self {
        Self {
            folder: Folder::new(),
            names: BTreeMap::new(),
            open: Vec::new(),
            #[cfg(feature = "http3")]
            open_udp: Vec::new(),
        }
    }

    pub(super) fn with(mut self, name: &'static str, value: String) -> Self {
        self.names.insert(name, value);
        self
    }

    fn file(self, name: &'static str, content: impl AsRef<[u8]>) -> Self {
        let path = self.folder.write(name, content);
        self.with(name, path)
    }

    /// Certificates and keys of every wrong kind, and an address that is in use.
    pub(super) fn files(self) -> Self {
        let (one, two) = (Leaf::new("one.example", 2099), Leaf::new("two.example", 2099));
        let pem = one.certificate.pem();
        let section =
            |label: &str| format!("-----BEGIN {label}-----\nMAA=\n-----END {label}-----\n");
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let client_key = rcgen::KeyPair::generate().unwrap();
        let mut client = rcgen::CertificateParams::new(["client.example".to_owned()]).unwrap();
        client.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        let client = client.self_signed(&client_key).unwrap();
        let (folder, none) = (self.folder.0.display().to_string(), self.folder.file("none.pem"));
        let mut fixture = self
            .with("taken", address)
            .with("folder", folder)
            .with("none.pem", none.display().to_string())
            .file("client.pem", client.pem())
            .file("client.key", client_key.serialize_pem())
            .file("one-ca.pem", one.ca.pem())
            .file("one.key", one.key.serialize_pem())
            .file("two.key", two.key.serialize_pem())
            .file("one.der", one.certificate.der())
            .file("key.der", one.key.serialize_der())
            .file("cut.pem", &pem[..pem.len() - 30])
            .file("one.pem", pem)
            .file("empty.pem", "")
            .file("text.pem", "certificates are in the other folder\n")
            .file("encrypted.key", section("ENCRYPTED PRIVATE KEY"))
            .file("ssh.key", section("OPENSSH PRIVATE KEY"))
            .file("request.pem", section("CERTIFICATE REQUEST"))
            .file("one.p12", [0x30, 0x82, 0x01, 0x00, 0x02, 0x01, 0x03, 0x30]);
        fixture.open.push((taken, Vec::new()));
        fixture
    }

    pub(super) fn configurations(self) -> Self {
        let listener = "[[listener]]\naddress = \"127.0.0.1:0\"\nto = \"127.0.0.1:1\"\n";
        self.file("listne.toml", listener.replace("listener", "listner"))
            .file("adress.toml", listener.replace("address", "adress"))
            .file("type.toml", format!("workers = \"2\"\n{listener}"))
            .file("syntax.toml", "workers = 1\n[log\n")
    }

    /// Servers on loopback that do not speak TLS.
    pub(super) fn servers(mut self) -> Self {
        let closed = unused_address().to_string();
        for (name, answer) in [
            ("http", &b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"[..]),
            ("smtp", b"220 mail.example ESMTP\r\n"),
            ("ftp", b"220 FTP server\r\n"),
            ("imap", b"* OK IMAP4rev1\r\n"),
            ("pop3", b"+OK ready\r\n"),
            ("ssh", b"SSH-2.0-x\r\n"),
            ("escapes", b"\x1b[31mred\xff"),
            ("closing", b""),
        ] {
            self = self.with(name, answering(answer));
        }
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap().to_string();
        self.open.push((silent, Vec::new()));
        let (full, waiting) = full_backlog();
        let full_address = full.local_addr().unwrap().to_string();
        self.open.push((full, waiting));
        self.with("silent", address).with("full", full_address).with("closed", closed)
    }

    /// UDP sockets that never answer, and a closed port.
    #[cfg(feature = "http3")]
    pub(super) fn udp(mut self) -> Self {
        for name in ["taken-udp", "silent-udp"] {
            // Where a UDP port is taken, the error is about TCP if that port is taken, too.
            let with_free_tcp = || {
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                let address = socket.local_addr().unwrap();
                TcpListener::bind(address).is_ok().then_some((socket, address.to_string()))
            };
            let (socket, address) = std::iter::repeat_with(with_free_tcp).flatten().next().unwrap();
            self.open_udp.push(socket);
            self = self.with(name, address);
        }
        // A socket that is connected to another one is closed to all others, and keeps other tests
        // from the port.
        let closed = UdpSocket::bind("127.0.0.1:0").unwrap();
        closed.connect(self.open_udp[0].local_addr().unwrap()).unwrap();
        let address = closed.local_addr().unwrap().to_string();
        self.open_udp.push(closed);
        self.with("closed", address)
    }

    pub(super) fn fill_in(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.names {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }
}

/// The address of a server that reads something, and answers this to every client.
pub(super) fn answering(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let _ = socket.read(&mut [0; 1 << 14]);
            let _ = socket.write_all(answer);
            let _ = socket.shutdown(std::net::Shutdown::Write);
            // Closing with unread bytes could destroy the answer.
            while socket.read(&mut [0; 1 << 14]).is_ok_and(|count| count > 0) {}
        }
    });
    address
}

/// A listener whose backlog is full, so that further connections are not answered.
fn full_backlog() -> (TcpListener, Vec<TcpStream>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let listener = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        socket.listen(1).unwrap().into_std().unwrap()
    });
    let address = listener.local_addr().unwrap();
    let limit = Duration::from_millis(300);
    let waiting = (0..16).map_while(|_| TcpStream::connect_timeout(&address, limit).ok());
    let waiting: Vec<_> = waiting.collect();
    assert!(waiting.len() < 16, "the backlog has no end");
    (listener, waiting)
}
