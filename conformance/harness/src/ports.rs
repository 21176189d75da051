//! Ports for programs that cannot choose their own.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::{Result, bail};

/// A port of 127.0.0.1 that was free at the time of the call.
///
/// The port is below the ephemeral ports: a conformance program makes many outgoing connections,
/// none of which may take the port before the tested program does. Successive calls return
/// different ports.
///
/// # Errors
/// If no port is free.
pub fn free_port() -> Result<u16> {
    const FIRST: u16 = 16_000;
    const COUNT: u16 = 16_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Processes that run at the same time begin at different ports. Their numbers are often
    // neighbours, so the ports of neighbours are made to be far apart.
    let start = u16::try_from(std::process::id() % u32::from(COUNT) * 7919 % u32::from(COUNT))?;
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        let port = FIRST + (start + step) % COUNT;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port")
}
