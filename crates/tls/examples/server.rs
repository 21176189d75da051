//! A server in twenty lines: `cargo run -p tercel --example server -- cert.pem key.pem`

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use tercel::pki::{load_certs_pem, load_key_pem};
use tercel::{Credential, Handshake, ServerConfig};

fn main() -> Result<(), Box<dyn Error>> {
    let [cert, key] = <[String; 2]>::try_from(std::env::args().skip(1).collect::<Vec<_>>())
        .map_err(|_| "usage: server CERT-FILE KEY-FILE")?;
    let chain = load_certs_pem(&std::fs::read(cert)?)?;
    let credential = Credential::new(chain, &load_key_pem(&std::fs::read(key)?)?)?;
    let config = ServerConfig::builder().credential(credential).alpn(&["http/1.1"]).build()?;
    let listener = TcpListener::bind("127.0.0.1:8443")?;
    for transport in listener.incoming() {
        let handshake = Handshake::server(Arc::clone(&config)).complete(transport?);
        let Ok(mut stream) = handshake.inspect_err(|error| eprintln!("{error}")) else { continue };
        let mut request = [0; 4096];
        let _ = stream.read(&mut request)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nHello over TLS\n")?;
        stream.close()?;
    }
    Ok(())
}
