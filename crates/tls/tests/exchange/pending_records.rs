//! Protocol messages that wait for space in the output, and padding that leaves space for data.
//!
//! The tests call `Sender::seal` with slices that are too small, or as large as `sealed_length`.

use tercel::wire::ProtocolVersion;
use tercel::{Padding, Side, error::Misuse};

use crate::fixtures::{NAME, client, server};
use crate::pair::{Delivery, Pair};

/// A key update that does not fit into the output is sent later.
#[test]
fn a_control_record_without_space_stays_pending() {
    let (client, server) = (client().build().unwrap(), server().build().unwrap());
    let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
    let mut wire = Vec::new();
    ends.client.connection.sender.update_key(true, &mut wire).unwrap();
    ends.server.read(&wire, Delivery::Whole).unwrap();
    let sender = &mut ends.server.connection.sender;
    assert_eq!(sender.seal(b"data", &mut [0; 10]), Err(Misuse::OutputTooSmall.into()));
    let mut wire = Vec::new();
    sender.seal_to(b"data", &mut wire).unwrap();
    assert_eq!(ends.client.read(&wire, Delivery::Whole).as_deref(), Ok(&b"data"[..]));
}

/// The alert of a failed connection is sent as soon as there is space.
#[test]
fn an_alert_without_space_stays_pending() {
    let (client, server) = (client().build().unwrap(), server().build().unwrap());
    let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
    let mut wire = Vec::new();
    ends.client.connection.sender.seal_to(b"data", &mut wire).unwrap();
    *wire.last_mut().unwrap() ^= 1;
    ends.server.read(&wire, Delivery::Whole).unwrap_err();
    let sender = &mut ends.server.connection.sender;
    assert_eq!(sender.seal(b"data", &mut [0; 10]), Err(Misuse::OutputTooSmall.into()));
    let mut wire = Vec::new();
    sender.control(&mut wire).unwrap();
    assert!(!wire.is_empty(), "the alert was lost");
}

/// `sealed_length` includes pending messages and padding.
#[test]
fn the_sealed_length_includes_padded_control_records() {
    let client = client().versions(&[ProtocolVersion::TLS1_3]).build().unwrap();
    let server = server().padding(Padding::Block(4096)).build().unwrap();
    for length in [1, 5000, 16_384, 16_385] {
        let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
        let mut wire = Vec::new();
        ends.client.connection.sender.update_key(true, &mut wire).unwrap();
        ends.server.read(&wire, Delivery::Whole).unwrap();
        let sender = &mut ends.server.connection.sender;
        let mut out = vec![0; sender.sealed_length(length)];
        let sealed = sender.seal(&vec![1; length], &mut out);
        assert_eq!(sealed.map(|sealed| sealed.consumed), Ok(length), "{length}");
    }
}

/// Padding of a record to its full length does not take the space of data.
#[test]
fn padded_data_fits_the_sealed_length() {
    let client = client().padding(Padding::Block(4096)).build().unwrap();
    let mut ends = Pair::new(&client, &server().build().unwrap(), NAME).connect().unwrap();
    for length in [1, 100, 4095, 4096, 4097, 16_000, 16_384, 40_000] {
        let sender = &mut ends.client.connection.sender;
        let mut out = vec![0; sender.sealed_length(length)];
        let sealed = sender.seal(&vec![1; length], &mut out).unwrap();
        assert_eq!(sealed.consumed, length);
        assert_eq!(
            ends.server.read(&out[..sealed.written], Delivery::Whole).unwrap().len(),
            length
        );
        let data = vec![2; length];
        assert!(ends.transfer(Side::Server, &data, Delivery::Whole) == data);
    }
}
