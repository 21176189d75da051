//! Prints what things weigh: handshake futures, and what an idle connection holds.

#[path = "pair/mod.rs"]
mod pair;

use allocation_counter::measure;
use pair::{Pair, ROWS};
use tercel::{Handshake, Receiver, Sender};

/// The most a handshake's future may take.
const FUTURE_LIMIT: usize = 4096;
/// The goal for an idle connection, both halves' AEAD contexts included.
const IDLE_LIMIT: usize = 2048;

fn main() {
    let mut within = true;
    println!("handshake futures (limit {FUTURE_LIMIT} bytes)");
    for (side, size) in tercel::handshake_future_sizes() {
        println!("  {side:<8} {size:>6} bytes");
        within &= size <= FUTURE_LIMIT;
    }
    println!("values");
    println!("  Handshake {:>5} bytes", size_of::<Handshake>());
    println!("  Sender    {:>5} bytes", size_of::<Sender>());
    println!("  Receiver  {:>5} bytes", size_of::<Receiver>());
    println!(
        "idle connection: sender, receiver, exporter; certificates taken (goal {IDLE_LIMIT} bytes)"
    );
    for (version, key, name) in ROWS {
        let pair = Pair::new(version, key);
        let (mut client, mut server) = pair.connect();
        drop(client.facts.take_peer_chain());
        drop(server.facts.take_peer_chain());
        for (side, connection) in [("client", client), ("server", server)] {
            let inline =
                size_of::<Sender>() + size_of::<Receiver>() + size_of::<tercel::Exporter>();
            let mut facts = None;
            // What dropping the halves gives back is what they held.
            let heap = -measure(|| {
                let tercel::Connection { sender, receiver, exporter, facts: kept, .. } = connection;
                drop((sender, receiver, exporter));
                facts = Some(kept);
            })
            .bytes_current;
            let facts_heap = -measure(|| drop(facts.take())).bytes_current;
            let heap = usize::try_from(heap).unwrap_or_default();
            let total = inline + heap;
            println!(
                "  {name:<44} {side}: {total:>5} bytes ({inline} inline, {heap} heap; facts {} more)",
                size_of::<tercel::Facts>() + usize::try_from(facts_heap).unwrap_or_default()
            );
            within &= total <= IDLE_LIMIT;
        }
    }
    assert!(within, "a limit is exceeded");
}
