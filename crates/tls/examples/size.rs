//! Prints the sizes of values, and the memory of an idle connection. A test prints the sizes of
//! handshake futures (`src/testing/measure.rs`).

#[allow(dead_code)]
mod measured;
#[path = "../tests/exchange/pair.rs"]
#[allow(dead_code)]
mod pair;

use allocation_counter::measure;
use measured::{Configs, Method, ROWS, Row, transfer};
use pair::Ends;
use tercel::{Handshake, Receiver, Sender, Side};

/// The goal for an idle connection with the AEAD contexts of both halves.
const IDLE_LIMIT: usize = 2048;
/// The limit of a parked connection with both halves and the exporter.
const PARKED_LIMIT: usize = 512;

fn main() {
    let mut within = true;
    println!("values");
    println!("  Handshake {:>5} bytes", size_of::<Handshake>());
    println!("  Sender    {:>5} bytes", size_of::<Sender>());
    println!("  Receiver  {:>5} bytes", size_of::<Receiver>());
    println!("right after the handshake: sender, receiver, exporter; certificates taken");
    for row in rows() {
        let (_configs, ends) = connect(row);
        print(row.name, ends);
    }
    println!("idle after 1 KiB each way (goal {IDLE_LIMIT} bytes)");
    for row in rows() {
        let (_configs, mut ends) = connect(row);
        transfer(&mut ends, Side::Server);
        transfer(&mut ends, Side::Client);
        within &= print(row.name, ends) <= IDLE_LIMIT;
    }
    println!("the same, parked (limit {PARKED_LIMIT} bytes)");
    for row in rows() {
        let (_configs, mut ends) = connect(row);
        transfer(&mut ends, Side::Server);
        transfer(&mut ends, Side::Client);
        ends.client.connection.park();
        ends.server.connection.park();
        within &= print(row.name, ends) <= PARKED_LIMIT;
    }
    assert!(within, "a limit is exceeded");
}

/// The rows whose connections are measured. The client's cache of verified chains is not part of a
/// connection.
fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(|row| row.method != Method::FirstVisit)
}

/// A connection of this kind with the default sessions, and its configurations. The memory of the
/// configurations is not part of the connection.
fn connect(row: &Row) -> (Configs, Ends) {
    let configs = match row.method {
        Method::Full | Method::FirstVisit => Configs::new(row.version, row.key, Method::Ticket),
        Method::Ticket | Method::Stored => Configs::of(row),
    };
    let ends = configs.connect();
    assert_eq!(ends.client.connection.info.resumed, row.method.resumes(), "{}", row.name);
    (configs, ends)
}

/// Prints the memory of both ends. Returns the larger of the two.
fn print(name: &str, ends: Ends) -> usize {
    let (mut client, mut server) = (ends.client.connection, ends.server.connection);
    drop(client.info.take_peer_chain());
    drop(server.info.take_peer_chain());
    let mut most = 0;
    for (side, connection) in [("client", client), ("server", server)] {
        let inline = size_of::<Sender>() + size_of::<Receiver>() + size_of::<tercel::Exporter>();
        let mut info = None;
        // The memory of the halves is the memory that is freed when they are dropped.
        let heap = -measure(|| {
            let tercel::Connection { sender, receiver, exporter, info: kept, .. } = connection;
            drop((sender, receiver, exporter));
            info = Some(kept);
        })
        .bytes_current;
        let info_heap = -measure(|| drop(info.take())).bytes_current;
        let heap = usize::try_from(heap).unwrap_or_default();
        let total = inline + heap;
        println!(
            "  {name:<44} {side}: {total:>5} bytes ({inline} inline, {heap} heap; info {} more)",
            size_of::<tercel::ConnectionInfo>() + usize::try_from(info_heap).unwrap_or_default()
        );
        most = most.max(total);
    }
    most
}
