//! Ports for programs that cannot choose their own.
//!
//! Must not know: who listens there. Next: `process.rs`.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::{Result, bail};

/// A port of 127.0.0.1 that was free a moment ago, for a program that cannot choose its own. It is
/// below those that systems give to outgoing connections, of which the cells make many, so that none
/// of them takes it before the program does; and no port is given out twice in a row.
///
/// # Errors
/// If none is free.
pub fn free_port() -> Result<u16> {
    const FIRST: u16 = 16_000;
    const COUNT: u16 = 16_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Two runs at once start at different places.
    let start = u16::try_from(std::process::id() % u32::from(COUNT))?;
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        let port = FIRST + (start + step) % COUNT;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port")
}
