//! Post-handshake client authentication with blocking streams, which answer requests while they
//! read.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use tercel::{
    ClientConfig, Error, Handshake, Policy,
    certificates::AcceptAnyPeer,
    error::Misuse,
    server::{ClientAuth, ClientCertificate},
};

use super::{offering_client, server_with_roots};
use crate::fixtures::{Kind, NAME, credential, server};

#[test]
fn a_stream_answers_while_it_reads() {
    let own = credential(Kind::P256);
    let chain = own.chain().to_vec();
    let client = offering_client().credential(own).build().unwrap();
    let seen = over_sockets(&client, ClientAuth::Required);
    assert!(seen.is_verified());
    assert_eq!(seen.into_chain(), chain);
    let seen = over_sockets(&offering_client().build().unwrap(), ClientAuth::Optional);
    assert!(seen.identity().is_none());
}

/// Sends data, a request, more data than the client's buffer holds, an answer, and last data.
fn over_sockets(client: &Arc<ClientConfig>, demand: ClientAuth) -> ClientCertificate {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let served = thread::spawn(move || {
        let (transport, _) = listener.accept().unwrap();
        let config = server_with_roots().build().unwrap();
        let mut stream = Handshake::server(config).complete(transport).unwrap();
        let mut line = [0; 5];
        stream.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"first");
        let answer = stream.authenticate_client(demand).unwrap();
        assert!(stream.take_client_certificates().is_empty());
        // Data that the client sent before it read the request is not lost.
        let mut line = [0; 6];
        stream.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"second");
        stream.write_all(b"known").unwrap();
        stream.close_now().unwrap();
        answer
    });
    let transport = TcpStream::connect(address).unwrap();
    let name = NAME.try_into().unwrap();
    let mut stream = Handshake::client(Arc::clone(client), name).complete(transport).unwrap();
    stream.write_all(b"first").unwrap();
    stream.write_all(b"second").unwrap();
    // Reads two bytes at a time, so that the request does not fit and is buffered.
    let mut said = Vec::new();
    loop {
        let mut few = [0; 2];
        match stream.read(&mut few).unwrap() {
            0 => break,
            count => said.extend_from_slice(&few[..count]),
        }
    }
    assert_eq!(said, b"known");
    served.join().unwrap()
}

#[test]
fn a_stream_does_not_wait_for_a_closed_peer() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let served = thread::spawn(move || {
        let (transport, _) = listener.accept().unwrap();
        let anyone = Policy::Here(Arc::new(AcceptAnyPeer) as _);
        let config = server().client_verifier(ClientAuth::None, anyone).build().unwrap();
        let mut stream = Handshake::server(config).complete(transport).unwrap();
        stream.authenticate_client(ClientAuth::Optional).unwrap_err().kind()
    });
    let transport = TcpStream::connect(address).unwrap();
    let config = offering_client().build().unwrap();
    let mut stream =
        Handshake::client(config, NAME.try_into().unwrap()).complete(transport).unwrap();
    stream.close_now().unwrap();
    // The request arrives after the client's close_notify. It cannot be answered, and is not an
    // error.
    let mut rest = Vec::new();
    let end = stream.read_to_end(&mut rest);
    assert_eq!(served.join().unwrap(), std::io::ErrorKind::UnexpectedEof);
    assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
}

/// The certificate would not be verified, so that it is not requested.
#[test]
fn a_stream_requests_nothing_if_the_verifier_asks() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let served = thread::spawn(move || {
        let (transport, _) = listener.accept().unwrap();
        let config = server().client_verifier(ClientAuth::None, Policy::Ask).build().unwrap();
        let mut stream = Handshake::server(config).complete(transport).unwrap();
        let refused = [
            stream.authenticate_client(ClientAuth::Required).map(drop),
            stream.request_certificate(ClientAuth::Optional).map(drop),
        ];
        stream.write_all(b"data").unwrap();
        stream.close_now().unwrap();
        refused.map(|refused| refused.unwrap_err())
    });
    let transport = TcpStream::connect(address).unwrap();
    let client = offering_client().credential(credential(Kind::P256)).build().unwrap();
    let mut stream =
        Handshake::client(client, NAME.try_into().unwrap()).complete(transport).unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).unwrap();
    assert_eq!(said, b"data");
    for refused in served.join().unwrap() {
        let inner = refused.into_inner().unwrap().downcast::<Error>().unwrap();
        assert_eq!(*inner, Error::Misuse(Misuse::VerifierAsks));
    }
}
