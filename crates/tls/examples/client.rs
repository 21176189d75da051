//! A client in twenty lines: `cargo run -p tercel --example client -- localhost 8443 ca.pem`

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;

use tercel::pki::Roots;
use tercel::{ClientConfig, Handshake};

fn main() -> Result<(), Box<dyn Error>> {
    let [host, port, ca] = <[String; 3]>::try_from(std::env::args().skip(1).collect::<Vec<_>>())
        .map_err(|_| "usage: client HOST PORT CA-FILE")?;
    let mut roots = Roots::new();
    roots.add_pem(&std::fs::read(ca)?)?;
    let config = ClientConfig::builder().roots(roots).alpn(&["http/1.1"]).build()?;
    let transport = TcpStream::connect(format!("{host}:{port}"))?;
    let mut stream = Handshake::client(config, host.clone().try_into()?).complete(transport)?;
    write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    print!("{}", String::from_utf8_lossy(&answer));
    Ok(())
}
