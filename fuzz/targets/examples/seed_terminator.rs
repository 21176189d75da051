//! Writes seeds of the inputs of a terminator and its fleet: `cargo run -p tercel-fuzz-targets
//! --example seed_terminator`. One configuration is taken from the manual page.

use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use pki_types::UnixTime;
use tercel::session::{TicketKey, TicketKeySet};
use tercel::{ClientConfig, Handshake, Policy, ReceiveBuffer, ServerName};

fn main() -> io::Result<()> {
    let v2 = |command: u8, family: u8, rest: &[u8]| {
        let length = u16::try_from(rest.len()).unwrap_or(0).to_be_bytes();
        [b"\r\n\r\n\0\r\nQUIT\n".as_slice(), &[command, family], &length, rest, b"\x16\x03"]
            .concat()
    };
    let line = |words: &str| format!("PROXY {words}\r\n\x16\x03").into_bytes();
    save("proxy_header", "valid-tcp4", &line("TCP4 192.0.2.1 198.51.100.2 5000 443"))?;
    save("proxy_header", "valid-tcp6", &line("TCP6 2001:db8::1 ::2 65535 0"))?;
    save("proxy_header", "valid-unknown", &line("UNKNOWN whatever 1 2"))?;
    let v4 = [192, 0, 2, 1, 198, 51, 100, 2, 0x13, 0x88, 0x01, 0xbb];
    save("proxy_header", "valid-v2-tcp4", &v2(0x21, 0x11, &v4))?;
    save(
        "proxy_header",
        "valid-v2-values",
        &v2(0x21, 0x11, &[&v4[..], &[1, 0, 2, 104, 50]].concat()),
    )?;
    save("proxy_header", "valid-v2-tcp6", &v2(0x21, 0x21, &[0x20; 36]))?;
    save("proxy_header", "valid-v2-local", &v2(0x20, 0, &[]))?;
    save("proxy_header", "cut", &v2(0x21, 0x11, &v4[..11]))?;

    for (name, piece, server) in [
        ("valid-bytes", 1, "a.example"),
        ("valid-name", 255, "b.example"),
        ("valid-none", 7, "::1"),
    ] {
        let config = ClientConfig::builder().verifier(Policy::Ask).build();
        let config = config.map_err(io::Error::other)?;
        let server = ServerName::try_from(server).map_err(io::Error::other)?;
        let (mut handshake, mut hello) = (Handshake::client(config, server), vec![piece]);
        handshake.advance(&mut ReceiveBuffer::new(), &mut hello).map_err(io::Error::other)?;
        save("passthrough_hello", name, &hello)?;
    }
    save("passthrough_hello", "http", b"\x05GET / HTTP/1.1\r\n\r\n")?;

    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/proxy.md");
    let manual = fs::read_to_string(manual)?;
    let whole = manual.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    save("proxy_config", "valid-manual", whole.unwrap_or_default().as_bytes())?;
    let small = "[[listener]]\naddress = \":443\"\nto = \"unix:/a\"\ncertificates = \"c\"\n";
    save("proxy_config", "valid-small", small.as_bytes())?;
    let store = "early_data = 9\n[resumption]\ntickets = \"shared\"\nsessions = \"shared\"\n\
                 [resumption.store]\nurl = \"rediss://u:p@h:1/2\"\nsecret = \"s\"\nclock_difference = 1.5\n";
    save("proxy_config", "valid-store", format!("{small}{store}").as_bytes())?;
    save("proxy_config", "unknown-key", format!("{small}colour = 1\n").as_bytes())?;

    let begins = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let key = |number: u8| TicketKey::new([number; 16], &[number; 32], begins(u64::from(number)));
    let set = |next, previous| {
        let set = TicketKeySet::new(key(2), next, previous).map_err(io::Error::other)?;
        io::Result::Ok(set.to_bytes())
    };
    let text = |number: u8| format!("{number} {}\n", format!("{number:02x}").repeat(48));
    let lines = format!("# keys\n{}{}{}", text(3), text(1), text(2));
    save("fleet_keys", "valid-lines", &[b"\0", lines.as_bytes()].concat())?;
    save("fleet_keys", "valid-bytes", &[b"\0".as_slice(), &set(None, None)?].concat())?;
    let numbered = [2, 0, 0, 0, 0, 0, 0, 0, 9];
    let sealed = set(Some(key(3)), Some(key(1)))?;
    save("fleet_keys", "valid-sealed", &[&numbered[..], &sealed].concat())?;
    save("fleet_keys", "as-it-lies-there", &[1; 120])
}

fn save(target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)
}
