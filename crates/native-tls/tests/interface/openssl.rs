//! Connections with the program `openssl`, if it is installed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use tercel_native_tls::TlsAcceptor;

use crate::fixtures::{failure, folder, localhost, trusting};

const VERSIONS: [&str; 2] = ["-tls1_2", "-tls1_3"];

#[test]
fn a_connector_reaches_s_server() {
    let (authority, issued) = localhost();
    let Some(files) = files("s-server", &issued.chain_pem(), &issued.key.serialize_pem()) else {
        return;
    };
    for version in VERSIONS {
        let arguments = ["-accept", "127.0.0.1:0", "-cert", "cert.pem", "-key", "key.pem"];
        let mut server = openssl(
            &files,
            "s_server",
            &[&arguments[..], &["-rev", version, "-alpn", "h2"]].concat(),
        );
        let address = address(&mut server);
        let connect = || TcpStream::connect(&address).unwrap();
        let connector = trusting(&authority).request_alpns(&["h2"]).build().unwrap();
        let mut stream = failure(connector.connect("localhost", connect())).unwrap();
        assert_eq!(stream.negotiated_alpn().unwrap().as_deref(), Some(&b"h2"[..]));
        stream.write_all(b"hello\n").unwrap();
        let mut answer = [0; 6];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"olleh\n", "{version}");
        stream.shutdown().unwrap();
        let error = failure(connector.connect("other.test", connect())).unwrap_err();
        assert!(error.to_string().contains("not valid for other.test"), "{error}");
        server.kill().unwrap();
        server.wait().unwrap();
    }
}

#[test]
fn s_client_reaches_an_acceptor() {
    let (authority, issued) = localhost();
    let Some(files) = files("s-client", &authority.certificate.pem(), "") else { return };
    for version in VERSIONS {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let acceptor =
            TlsAcceptor::builder(issued.identity()).accept_alpn(&["http/1.1"]).build().unwrap();
        let server = thread::spawn(move || {
            let mut stream = failure(acceptor.accept(listener.accept().unwrap().0)).unwrap();
            let mut request = [0; 6];
            stream.read_exact(&mut request).unwrap();
            stream.write_all(b"an answer\n").unwrap();
            stream.shutdown().unwrap();
            (request, stream.negotiated_alpn().unwrap())
        });
        let arguments = ["-connect", &address, "-CAfile", "cert.pem", "-verify_return_error"];
        let more = ["-verify_hostname", "localhost", "-alpn", "http/1.1", "-quiet", version];
        let mut client = openssl(&files, "s_client", &[&arguments[..], &more].concat());
        client.stdin.as_mut().unwrap().write_all(b"hello\n").unwrap();
        let mut answer = String::new();
        BufReader::new(client.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
        assert_eq!(answer, "an answer\n", "{version}");
        let (request, alpn) = server.join().unwrap();
        assert_eq!((&request, alpn.as_deref()), (b"hello\n", Some(&b"http/1.1"[..])));
        client.kill().unwrap();
        client.wait().unwrap();
    }
}

/// A folder with a certificate and a key; nothing without the program.
fn files(name: &str, certificate: &str, key: &str) -> Option<std::path::PathBuf> {
    Command::new("openssl").arg("version").output().ok()?;
    let folder = folder(name);
    std::fs::write(folder.join("cert.pem"), certificate).unwrap();
    std::fs::write(folder.join("key.pem"), key).unwrap();
    Some(folder)
}

fn openssl(folder: &Path, command: &str, arguments: &[&str]) -> Child {
    Command::new("openssl")
        .current_dir(folder)
        .arg(command)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the server prints the address on which it listens.
fn address(server: &mut Child) -> String {
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let address = lines
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("ACCEPT ").map(str::to_owned));
    thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    address.expect("the server names its address")
}
