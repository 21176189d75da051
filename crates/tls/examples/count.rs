//! Counts heap allocations per handshake and side, and the most bytes that a side holds at a time.
//! With arguments `run ROW N` it only performs N
//! handshakes of a row, for callgrind; with `rows` it prints the names of the rows.
//!
//! Hash lanes are disabled: callgrind has no AVX-512, and would count the instructions of AVX2
//! lanes instead. Few processors use AVX2 lanes.

#[allow(dead_code)]
mod measured;
#[path = "../tests/exchange/pair.rs"]
#[allow(dead_code)]
mod pair;

use std::hint::black_box;

use allocation_counter::{AllocationInfo, measure};
use measured::{Configs, ROWS, Row, transfer};
use pair::{End, Ends, Pair};
use tercel::crypto::{Kernel, use_kernel};
use tercel::{Opened, Side};

fn main() {
    tercel::crypto::use_hash_lanes(false);
    Kernel::ALL.iter().for_each(|kernel| use_kernel(*kernel, false));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["run", row, count] => run(row.parse().expect("a row"), count.parse().expect("a number")),
        ["rows"] => ROWS.iter().for_each(|row| println!("{}", row.name)),
        _ => allocations(),
    }
}

/// Handshakes of a row, with a function for each side that callgrind can count.
fn run(row: usize, count: usize) {
    let row = &ROWS[row];
    let configs = Configs::of(row);
    for _ in 0..count {
        let pair =
            Pair::of(configs.client(), configs.server()).metered(|side, advance| match side {
                Side::Client => client_step(advance),
                Side::Server => server_step(advance),
            });
        let mut ends = pair.connect().expect("connected");
        read_tickets(row, &mut ends, |read| client_step(read));
        black_box(ends);
    }
}

/// All steps of a client, in a function of its own so that callgrind can count it.
#[inline(never)]
fn client_step(step: &mut dyn FnMut()) {
    step();
}

/// All steps of a server.
#[inline(never)]
fn server_step(step: &mut dyn FnMut()) {
    // This code differs from the client's step. Otherwise the linker would merge both functions.
    black_box("server");
    step();
}

fn allocations() {
    println!("heap allocations per handshake (count, bytes, peak), AWS-LC's own not included");
    for row in &ROWS {
        let configs = Configs::of(row);
        // The first handshake includes the allocations of values that are initialized only once.
        transfer(&mut configs.connect(), Side::Server);
        let (client, server) = both_sides(row, &configs);
        println!(
            "  {:<44} client {:>3} ({:>6} {:>6})   server {:>3} ({:>6} {:>6})",
            row.name,
            client.count_total,
            client.bytes_total,
            client.bytes_max,
            server.count_total,
            server.bytes_total,
            server.bytes_max
        );
    }
}

fn both_sides(row: &Row, configs: &Configs) -> (AllocationInfo, AllocationInfo) {
    let (mut of_client, mut of_server) = (AllocationInfo::default(), AllocationInfo::default());
    let (mut client, mut server) = (None, None);
    add(&mut of_client, measure(|| client = Some(configs.client())));
    add(&mut of_server, measure(|| server = Some(configs.server())));
    let pair = Pair::of(client.expect("created"), server.expect("created"));
    let pair = pair.metered(|side, advance| match side {
        Side::Client => add(&mut of_client, measure(advance)),
        Side::Server => add(&mut of_server, measure(advance)),
    });
    let mut ends = pair.connect().expect("connected");
    read_tickets(row, &mut ends, |read| add(&mut of_client, measure(read)));
    (of_client, of_server)
}

/// The additional step of a client that resumes: it reads the tickets after the handshake.
fn read_tickets(row: &Row, ends: &mut Ends, mut meter: impl FnMut(&mut dyn FnMut())) {
    assert_eq!(ends.client.connection.info.resumed, row.method.resumes(), "{}", row.name);
    if row.method.resumes() {
        // The client reads the tickets before this byte.
        let mut out = Vec::with_capacity(1024);
        ends.server.connection.sender.seal_to(&[7], &mut out).expect("sealed");
        let End { connection, received } = &mut ends.client;
        received.extend(&out);
        meter(&mut || {
            while let Opened::Data(_) = connection.receiver.open(received).expect("opened") {}
        });
    }
}

/// Adds the allocations of a further step. Its maximum counts from the bytes that are in use before
/// it.
fn add(total: &mut AllocationInfo, more: AllocationInfo) {
    let in_use = u64::try_from(total.bytes_current).unwrap_or_default();
    total.bytes_max = total.bytes_max.max(in_use + more.bytes_max);
    total.bytes_current += more.bytes_current;
    total.count_total += more.count_total;
    total.bytes_total += more.bytes_total;
}
