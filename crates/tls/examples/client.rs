//! A client that prints a page: `cargo run -p tercel --example client -- www.rust-lang.org 443`
//!
//! `SSL_CERT_FILE=ca.pem` in the environment replaces the authorities of the operating system.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;

use tercel::{ClientConfig, Stream};

fn main() -> Result<(), Box<dyn Error>> {
    let [host, port] = <[String; 2]>::try_from(std::env::args().skip(1).collect::<Vec<_>>())
        .map_err(|_| "usage: client HOST PORT")?;
    let config = ClientConfig::builder().native_roots().build()?;
    let transport = TcpStream::connect(format!("{host}:{port}"))?;
    let mut stream = Stream::connect(&config, host.clone().try_into()?, transport)?;
    write!(stream, "GET / HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
    let mut page = Vec::new();
    stream.read_to_end(&mut page)?;
    println!("{}", String::from_utf8_lossy(&page));
    Ok(())
}
