//! Counts heap allocations per handshake and side. With arguments `run ROW N` it only performs N
//! handshakes of a row, for callgrind; with `rows` it prints the names of the rows.
//!
//! Hash lanes are disabled: callgrind has no AVX-512, and would count the instructions of AVX2
//! lanes instead. Few processors use AVX2 lanes.

#[path = "pair/mod.rs"]
mod pair;

use std::hint::black_box;
use std::sync::Arc;

use allocation_counter::{AllocationInfo, measure};
use pair::{End, Pair, ROWS, Row, client_step, client_step_for_tickets, server_step, transfer};
use tercel::{Handshake, ReceiveBuffer};

fn main() {
    tercel::crypto::use_hash_lanes(false);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["run", row, count] => run(row.parse().expect("a row"), count.parse().expect("a number")),
        ["rows"] => ROWS.iter().for_each(|row| println!("{}", row.name)),
        _ => allocations(),
    }
}

fn run(row: usize, count: usize) {
    let row = &ROWS[row];
    let pair = Pair::of(row);
    for _ in 0..count {
        let (mut client, mut server) = pair.connect_ends();
        check(row, &client);
        if row.basis.resumes() {
            bring_tickets(&mut server, &mut client);
            client_step_for_tickets(&mut client);
        }
        black_box((client, server));
    }
}

fn allocations() {
    println!("heap allocations per handshake (count, bytes), AWS-LC's own not included");
    for row in &ROWS {
        let pair = Pair::of(row);
        // The first handshake includes the allocations of values that are initialized only once.
        let (mut client, mut server) = pair.connect_ends();
        transfer(&mut server, &mut client);
        let (client, server) = both_sides(row, &pair);
        println!(
            "  {:<44} client {:>3} ({:>6})   server {:>3} ({:>6})",
            row.name,
            client.count_total,
            client.bytes_total,
            server.count_total,
            server.bytes_total
        );
    }
}

fn both_sides(row: &Row, pair: &Pair) -> (AllocationInfo, AllocationInfo) {
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
    // The caller owns the buffers, which are large enough from the start.
    let (mut to_client, mut to_server) =
        (ReceiveBuffer::with_capacity(32768), ReceiveBuffer::with_capacity(32768));
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
    let (client, server) = (a.expect("connected"), b.expect("connected"));
    let (mut client, mut server) = ((client, to_client), (server, to_server));
    check(row, &client);
    if row.basis.resumes() {
        bring_tickets(&mut server, &mut client);
        add(&mut of_client, measure(|| client_step_for_tickets(&mut client)));
    }
    (of_client, of_server)
}

/// Sends a byte from the server, so that the client reads the tickets before it.
fn bring_tickets(server: &mut End, client: &mut End) {
    let mut out = Vec::with_capacity(1024);
    server.0.sender.seal_to(&[7], &mut out).expect("sealed");
    client.1.extend(&out);
}

fn check(row: &Row, client: &End) {
    assert_eq!(client.0.info.resumed, row.basis.resumes(), "{}", row.name);
}

fn add(total: &mut AllocationInfo, more: AllocationInfo) {
    total.count_total += more.count_total;
    total.bytes_total += more.bytes_total;
}
