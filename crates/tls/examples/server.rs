//! A server with one answer: `cargo run -p tercel --example server -- cert.pem key.pem`

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use tercel::{Credential, ServerConfig, Stream};

fn main() -> Result<(), Box<dyn Error>> {
    let [cert, key] = <[String; 2]>::try_from(std::env::args().skip(1).collect::<Vec<_>>())
        .map_err(|_| "usage: server CERT-FILE KEY-FILE")?;
    let credential = Credential::from_pem(&std::fs::read(cert)?, &std::fs::read(key)?)?;
    let config = ServerConfig::builder().credential(credential).alpn(&["http/1.1"]).build()?;
    for transport in TcpListener::bind("127.0.0.1:8443")?.incoming() {
        serve(&config, transport?).unwrap_or_else(|error| eprintln!("{error}"));
    }
    Ok(())
}

fn serve(config: &Arc<ServerConfig>, transport: TcpStream) -> io::Result<()> {
    let mut stream = Stream::accept(config, transport)?;
    let _ = stream.read(&mut [0; 4096])?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nHello over TLS\n")?;
    stream.close()
}
