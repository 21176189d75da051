//! Connections whose keys are exported to the Linux kernel, which then protects plain reads and
//! writes of the socket.
//!
//! The peer is Tercel, without any special setting.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{TcpTlsRx, TcpTlsTx, TcpUlp, TlsCryptoInfo};
use tercel::crypto::AeadAlgorithm;
use tercel::wire::{CipherSuite, ProtocolVersion};
use tercel::{
    Handshake, Side, Stream,
    handoff::{NonceForm, TrafficKey},
};

use crate::fixtures::{NAME, client, server};
use crate::{Outcome, sockets};

/// The keys of AES-GCM in TLS 1.3 stay in the FIPS module.
const SUITES: &[CipherSuite] = &[
    #[cfg(not(feature = "fips"))]
    CipherSuite::TLS_AES_128_GCM_SHA256,
    #[cfg(not(feature = "fips"))]
    CipherSuite::TLS_AES_256_GCM_SHA384,
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
];

/// Tests every suite, with each side in the kernel.
pub(crate) fn all() -> Outcome {
    if let Err(missing) = kernel_has_tls() {
        return Outcome::Absent(missing);
    }
    for suite in SUITES {
        for given in [Side::Client, Side::Server] {
            one(*suite, given);
            println!("kernel_tls: {suite:?}, {given:?} in the kernel: ok");
        }
    }
    Outcome::Passed(SUITES.len() * 2)
}

/// Whether the kernel supports TLS on a connected socket.
fn kernel_has_tls() -> Result<(), String> {
    let (near, _far) = sockets();
    match setsockopt(&near, TcpUlp::default(), b"tls") {
        Ok(()) => Ok(()),
        // The kernel has no such module or option; emulators do not pass the option on.
        Err(error @ (Errno::ENOENT | Errno::ENOPROTOOPT | Errno::EOPNOTSUPP | Errno::EINVAL)) => {
            Err(format!(
                "kernel TLS (module `tls`; TCP_ULP says {error}), NO CONNECTION WAS GIVEN TO A KERNEL"
            ))
        }
        Err(error) => panic!("TCP_ULP: {error}"),
    }
}

fn one(suite: CipherSuite, given: Side) {
    let client = client().cipher_suites(&[suite]).build().unwrap();
    let server = server().build().unwrap();
    let (near, far) = sockets();
    let handshake = |side| match side {
        Side::Client => Handshake::client(Arc::clone(&client), NAME.try_into().unwrap()),
        Side::Server => Handshake::server(Arc::clone(&server)),
    };
    let stays = if given == Side::Client { Side::Server } else { Side::Client };
    let (mut ours, mut theirs) = (handshake(given), handshake(stays));
    let peer = thread::spawn(move || echo(theirs.complete(far).unwrap()));

    let mut stream = ours.complete(near).unwrap();
    // The connection transfers data first, so that sequence numbers are not zero and tickets have
    // been read.
    for round in 0..5 {
        echo_once(&mut stream, &[round; 3000]);
    }
    let (mut socket, connection, received) = stream.into_parts().unwrap();
    let keys = connection.export_traffic_keys(&received).unwrap_or_else(|kept| panic!("{kept:?}"));
    assert!(keys.send.sequence() >= 5 && keys.receive.sequence() >= 5);
    assert_eq!(keys.max_fragment, 16384, "the kernel supports no other");
    setsockopt(&socket, TcpUlp::default(), b"tls").unwrap();
    setsockopt(&socket, TcpTlsTx, &info(keys.version, &keys.send)).unwrap();
    setsockopt(&socket, TcpTlsRx, &info(keys.version, &keys.receive)).unwrap();
    for length in [1, 100, 16384, 100_000] {
        let data: Vec<u8> = (0..length).map(|at: usize| at.to_le_bytes()[0]).collect();
        echo_once(&mut socket, &data);
    }
    echo_once(&mut socket, b"the end");
    drop(socket);
    peer.join().unwrap();
}

/// Writes data, and reads its echo.
fn echo_once(stream: &mut (impl Read + Write), data: &[u8]) {
    stream.write_all(data).unwrap();
    let mut answer = vec![0; data.len()];
    stream.read_exact(&mut answer).unwrap();
    assert!(answer == data);
}

/// Echoes data until a message that ends with the last byte.
fn echo(mut stream: Stream<TcpStream>) {
    let mut buffer = [0; 20_000];
    loop {
        let count = stream.read(&mut buffer).unwrap();
        assert_ne!(count, 0);
        stream.write_all(&buffer[..count]).unwrap();
        if buffer[..count].ends_with(b"the end") {
            return;
        }
    }
}

/// The key as `linux/tls.h` defines it.
fn info(version: ProtocolVersion, key: &TrafficKey) -> TlsCryptoInfo {
    let info = |cipher_type| libc::tls_crypto_info { version: version.0, cipher_type };
    let rec_seq = key.sequence().to_be_bytes();
    // In TLS 1.2 the explicit part of the nonce is a counter that may start at any number; Tercel
    // uses the sequence number.
    let (salt, iv) = match key.nonce_form() {
        NonceForm::SaltAndExplicit => (key.iv(), &rec_seq[..]),
        _ => key.iv().split_at(4),
    };
    match key.algorithm() {
        AeadAlgorithm::Aes128Gcm => TlsCryptoInfo::Aes128Gcm(libc::tls12_crypto_info_aes_gcm_128 {
            info: info(libc::TLS_CIPHER_AES_GCM_128),
            iv: iv.try_into().unwrap(),
            key: key.key().try_into().unwrap(),
            salt: salt.try_into().unwrap(),
            rec_seq,
        }),
        AeadAlgorithm::Aes256Gcm => TlsCryptoInfo::Aes256Gcm(libc::tls12_crypto_info_aes_gcm_256 {
            info: info(libc::TLS_CIPHER_AES_GCM_256),
            iv: iv.try_into().unwrap(),
            key: key.key().try_into().unwrap(),
            salt: salt.try_into().unwrap(),
            rec_seq,
        }),
        _ => TlsCryptoInfo::Chacha20Poly1305(libc::tls12_crypto_info_chacha20_poly1305 {
            info: info(libc::TLS_CIPHER_CHACHA20_POLY1305),
            iv: key.iv().try_into().unwrap(),
            key: key.key().try_into().unwrap(),
            salt: [],
            rec_seq,
        }),
    }
}
