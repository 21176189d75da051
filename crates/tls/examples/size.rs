//! Prints the sizes of values, and the memory of an idle connection. A test prints the sizes of
//! handshake futures (`src/testing/measure.rs`).

#[path = "pair/mod.rs"]
mod pair;

use allocation_counter::measure;
use pair::{Basis, End, Pair, ROWS, Row, transfer};
use tercel::{Handshake, Receiver, Sender};

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
        let (_pair, client, server) = ends(row);
        print(row.name, client, server);
    }
    println!("idle after 1 KiB each way (goal {IDLE_LIMIT} bytes)");
    for row in rows() {
        let (_pair, mut client, mut server) = ends(row);
        transfer(&mut server, &mut client);
        transfer(&mut client, &mut server);
        within &= print(row.name, client, server) <= IDLE_LIMIT;
    }
    println!("the same, parked (limit {PARKED_LIMIT} bytes)");
    for row in rows() {
        let (_pair, mut client, mut server) = ends(row);
        transfer(&mut server, &mut client);
        transfer(&mut client, &mut server);
        client.0.park();
        server.0.park();
        within &= print(row.name, client, server) <= PARKED_LIMIT;
    }
    assert!(within, "a limit is exceeded");
}

/// The rows whose connections are measured. The client's cache of verified chains is not part of a
/// connection.
fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(|row| row.basis != Basis::FirstVisit)
}

/// A connection of this kind with the default sessions, and its configurations. The memory of the
/// configurations is not part of the connection.
fn ends(row: &Row) -> (Pair, End, End) {
    let pair = match row.basis {
        Basis::Full | Basis::FirstVisit => Pair::new(row.version, row.key, Basis::Ticket),
        Basis::Ticket | Basis::Stored => Pair::of(row),
    };
    let (client, server) = pair.connect_ends();
    assert_eq!(client.0.info.resumed, row.basis.resumes(), "{}", row.name);
    (pair, client, server)
}

/// Prints the memory of both ends. Returns the larger of the two.
fn print(name: &str, (mut client, _): End, (mut server, _): End) -> usize {
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
