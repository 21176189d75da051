//! Counts heap allocations per handshake and side; with arguments `run ROW N` it only performs N
//! handshakes of a row, for callgrind; with `resume N` it polls an empty coroutine N times.

#[path = "pair/mod.rs"]
mod pair;

use std::hint::black_box;
use std::sync::Arc;

use allocation_counter::{AllocationInfo, measure};
use pair::{Pair, ROWS, client_step, server_step};
use tercel::{Handshake, Received};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["run", row, count] => run(row.parse().expect("a row"), count.parse().expect("a number")),
        ["resume", count] => tercel::resume_empty_coroutine(count.parse().expect("a number")),
        _ => allocations(),
    }
}

fn run(row: usize, count: usize) {
    let (version, key, _) = ROWS[row];
    let pair = Pair::full(version, key);
    for _ in 0..count {
        black_box(pair.connect());
    }
}

fn allocations() {
    println!("heap allocations per handshake (count, bytes), AWS-LC's own not included");
    for (version, key, name) in ROWS {
        let pair = Pair::full(version, key);
        // The first handshake pays for what is made once.
        drop(pair.connect());
        let (client, server) = both_sides(&pair);
        println!(
            "  {name:<44} client {:>3} ({:>6})   server {:>3} ({:>6})",
            client.count_total, client.bytes_total, server.count_total, server.bytes_total
        );
    }
}

fn both_sides(pair: &Pair) -> (AllocationInfo, AllocationInfo) {
    let (mut of_client, mut of_server) = (AllocationInfo::default(), AllocationInfo::default());
    let (mut client, mut server) = (None, None);
    add(
        &mut of_client,
        measure(|| {
            client = Some(Handshake::client(Arc::clone(&pair.client), pair.name.clone()));
        }),
    );
    add(&mut of_server, measure(|| server = Some(Handshake::server(Arc::clone(&pair.server)))));
    let (mut client, mut server) = (client.expect("made"), server.expect("made"));
    // Buffers belong to the caller and have room from the start.
    let (mut to_client, mut to_server) =
        (Received::with_capacity(32768), Received::with_capacity(32768));
    let mut out = Vec::with_capacity(32768);
    let (mut a, mut b) = (None, None);
    while a.is_none() || b.is_none() {
        if a.is_none() {
            add(&mut of_client, measure(|| a = client_step(&mut client, &mut to_client, &mut out)));
            to_server.extend(&out);
            out.clear();
        }
        if b.is_none() {
            add(&mut of_server, measure(|| b = server_step(&mut server, &mut to_server, &mut out)));
            to_client.extend(&out);
            out.clear();
        }
    }
    (of_client, of_server)
}

fn add(total: &mut AllocationInfo, more: AllocationInfo) {
    total.count_total += more.count_total;
    total.bytes_total += more.bytes_total;
}
