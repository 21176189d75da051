//! What an observer sees: lengths, order and presence of extensions. RFC 9849 6.1.3, 6.2

use std::collections::BTreeMap;
use std::sync::Arc;

use tercel::ech::{Key, Offer};
use tercel::wire::ClientHello;
use tercel::{ClientConfig, Handshake, ReceiveBuffer};

use tercel_wire::HandshakeMessage as _;

use super::PUBLIC;
use crate::fixtures::client;
use crate::pair::first_message;

/// The body of the first ClientHello to this name.
fn hello(config: &Arc<ClientConfig>, name: &str, offer: Offer) -> Vec<u8> {
    let name = tercel::pki_types::ServerName::try_from(name.to_owned()).unwrap();
    let mut handshake = Handshake::client(Arc::clone(config), name).with_ech(offer);
    let mut out = Vec::new();
    let _ = handshake.advance(&mut ReceiveBuffer::new(), &mut out).unwrap();
    first_message(&out)
}

/// The types and lengths of the extensions, in order.
fn shape(body: &[u8]) -> Vec<(u16, usize)> {
    let hello = ClientHello::parse(body).unwrap();
    hello.extensions.received.iter().map(|(kind, body)| (kind.0, body.len())).collect()
}

/// RFC 9849 6.1.3
#[test]
fn names_of_different_lengths_give_equal_lengths() {
    let config = client().build().unwrap();
    let key = Key::generate(PUBLIC, 64).unwrap();
    let mut lengths = std::collections::BTreeSet::new();
    for length in 1..=55 {
        let name = format!("{}.example", "a".repeat(length));
        lengths.insert(hello(&config, &name, Offer::Configs(key.config())).len());
    }
    lengths.insert(hello(&config, "192.0.2.1", Offer::Configs(key.config())).len());
    assert_eq!(lengths.len(), 1, "{lengths:?}");
    let long = format!("{0}.{0}.{0}.example", "a".repeat(60));
    assert!(
        hello(&config, &long, Offer::Configs(key.config())).len() > lengths.pop_first().unwrap()
    );
    // Lengths above the maximum are rounded up.
    let short = Key::generate(PUBLIC, 0).unwrap();
    let of_length = |length: usize| {
        let name = format!("{}.example", "a".repeat(length));
        hello(&config, &name, Offer::Configs(short.config())).len()
    };
    let classes: std::collections::BTreeSet<_> = (1..=32).map(of_length).collect();
    assert_eq!(classes.len(), 2, "{classes:?}");
}

/// RFC 9849 6.2
#[test]
fn random_contents_have_the_shape_of_real_ones() {
    for shuffled in [false, true] {
        let config = client().shuffle_extensions(shuffled).build().unwrap();
        let key = Key::generate("server.example", 64).unwrap();
        let mut counts: [BTreeMap<Vec<(u16, usize)>, usize>; 2] = Default::default();
        for _ in 0..500 {
            let offers = [Offer::Configs(key.config()), Offer::Grease];
            for (offer, counts) in offers.into_iter().zip(&mut counts) {
                let mut shape = shape(&hello(&config, "secret.example", offer));
                if shuffled {
                    // The orders are compared by their number below.
                    shape.sort_unstable();
                }
                *counts.entry(shape).or_default() += 1;
            }
        }
        println!("shuffled: {shuffled}, real and random: {counts:?}");
        assert_eq!(counts[0], counts[1]);
        assert_eq!(counts[0].len(), 1);
    }
}

/// RFC 9849 6.2
#[test]
fn random_contents_and_orders_differ_in_each_hello() {
    let config = client().shuffle_extensions(true).build().unwrap();
    let key = Key::generate("server.example", 64).unwrap();
    for offer in [Offer::Configs(key.config()), Offer::Grease] {
        let hellos: Vec<_> =
            (0..100).map(|_| hello(&config, "secret.example", offer.clone())).collect();
        let of = |body: &Vec<u8>| {
            let hello = ClientHello::parse(body).unwrap();
            hello.extensions.encrypted_client_hello.unwrap().to_vec()
        };
        let contents: std::collections::BTreeSet<_> = hellos.iter().map(of).collect();
        assert_eq!(contents.len(), 100);
        let orders: std::collections::BTreeSet<_> = hellos.iter().map(|body| shape(body)).collect();
        assert!(orders.len() > 90, "{}", orders.len());
    }
}
