//! Connections that are moved to another process, which gets the socket as its standard error and
//! the saved bytes as its standard input.
//!
//! The other process also runs this program. This program has no standard test harness, because the
//! harness writes to standard output and standard error.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, Connection, Handshake, Policy, ReceiveBuffer, ServerConfig, Side, Stream,
    certificates::AcceptAnyPeer,
};

use crate::fixtures::{Kind, NAME, client, credential, server};
use crate::{Outcome, sockets};

/// The argument that makes this program the other process; the side is the next argument.
pub(crate) const ARGUMENT: &str = "--continue-as";

/// The number of bytes that are echoed.
const DATA: usize = 100_000;

/// Tests each side, in both versions.
pub(crate) fn all() -> Outcome {
    // If an emulator runs this program, the machine may not be able to start it.
    let program = std::env::current_exe().unwrap();
    let listed = Command::new(&program).arg("--list").output();
    if !listed.is_ok_and(|listed| listed.status.success()) {
        let program = program.display();
        return Outcome::Absent(format!("another process: this machine cannot start {program}"));
    }
    let mut passed = 0;
    // The keys of a TLS 1.3 sender with AES-GCM stay in the FIPS module.
    let versions = &[ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3][..];
    for version in if cfg!(feature = "fips") { &versions[..1] } else { versions } {
        for given in [Side::Client, Side::Server] {
            one(*version, given);
            println!("another_process: {version:?}, {given:?}: ok");
            passed += 1;
        }
    }
    Outcome::Passed(passed)
}

fn one(version: ProtocolVersion, given: Side) {
    let client = client().versions(&[version]).build().unwrap();
    let server = server().build().unwrap();
    let (near, far) = sockets();
    let handshake = |side| match side {
        Side::Client => Handshake::client(Arc::clone(&client), NAME.try_into().unwrap()),
        Side::Server => Handshake::server(Arc::clone(&server)),
    };
    let stays = if given == Side::Client { Side::Server } else { Side::Client };
    let (mut ours, mut theirs) = (handshake(given), handshake(stays));
    let peer = thread::spawn(move || run_peer(theirs.complete(far).unwrap(), version));

    // A server sends data before it reads any, and a client has tickets in transit.
    let mut stream = ours.complete(near).unwrap();
    stream.write_all(b"from the first process").unwrap();
    let (socket, connection, received) = stream.into_parts().unwrap();
    let bytes = connection.save().unwrap();
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program)
        .args([ARGUMENT, if given == Side::Client { "client" } else { "server" }])
        .stdin(Stdio::piped())
        .stderr(OwnedFd::from(socket))
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    pipe.write_all(&[&length, &bytes[..], received.unread()].concat()).unwrap();
    drop(pipe);
    peer.join().unwrap();
    assert!(child.wait().unwrap().success());
}

/// The peer, which is first connected to this process and then to the other process.
fn run_peer(mut stream: Stream<TcpStream>, version: ProtocolVersion) {
    let mut first = [0; 22];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"from the first process");
    let data = data();
    let (half, rest) = data.split_at(DATA / 2);
    stream.write_all(half).unwrap();
    if version == ProtocolVersion::TLS1_3 {
        stream.update_key(true).unwrap();
    }
    stream.write_all(rest).unwrap();
    let mut echoed = vec![0; DATA];
    stream.read_exact(&mut echoed).unwrap();
    assert!(echoed == data);
    // The other process must export the same secret.
    let mut reported = [0; 32];
    stream.read_exact(&mut reported).unwrap();
    assert_eq!(reported, exported(stream.connection()));
    assert_eq!(stream.read(&mut reported).unwrap(), 0, "it ends in order");
    stream.close().unwrap();
}

/// Runs as the other process.
pub(crate) fn run_other_process(side: &str) {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).unwrap();
    let (length, rest) = input.split_first_chunk().unwrap();
    let (bytes, unread) = rest.split_at(u32::from_be_bytes(*length) as usize);
    let connection = match side {
        "client" => Connection::restore_client(bytes, &client_config()),
        _ => Connection::restore_server(bytes, &server_config()),
    };
    let connection = connection.unwrap();
    let mut received = ReceiveBuffer::new();
    received.extend(unread);
    let socket = TcpStream::from(std::io::stderr().as_fd().try_clone_to_owned().unwrap());
    let exported = exported(&connection);
    let version = connection.info.version;
    let mut stream = Stream::new(socket, connection, received);
    let mut data = vec![0; DATA];
    stream.read_exact(&mut data).unwrap();
    let (half, rest) = data.split_at(DATA / 3);
    stream.write_all(half).unwrap();
    if version == ProtocolVersion::TLS1_3 {
        stream.update_key(true).unwrap();
    }
    stream.write_all(rest).unwrap();
    stream.write_all(&exported).unwrap();
    // Dropping a socket with unread bytes would discard the last data.
    stream.close_now().unwrap();
    assert_eq!(stream.read(&mut data).unwrap(), 0, "the peer ends in order");
}

fn client_config() -> Arc<ClientConfig> {
    // The server was verified during the handshake.
    ClientConfig::builder().verifier(Policy::Here(Arc::new(AcceptAnyPeer))).build().unwrap()
}

fn server_config() -> Arc<ServerConfig> {
    ServerConfig::builder().credential(credential(Kind::P256)).build().unwrap()
}

fn data() -> Vec<u8> {
    (0..DATA).map(|at| at.to_le_bytes()[at % 2]).collect()
}

fn exported(connection: &Connection) -> [u8; 32] {
    let mut out = [0; 32];
    connection.exporter.export(b"EXPORTER-handover", None, &mut out).unwrap();
    out
}
