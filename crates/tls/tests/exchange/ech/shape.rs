//! What an observer sees: lengths, order and presence of extensions. RFC 9849 6.1.3, 6.2

use std::collections::BTreeMap;
use std::sync::Arc;

use tercel::ech::{Key, Offer};
use tercel::wire::ClientHello;
use tercel::{ClientConfig, Handshake, ReceiveBuffer};

use tercel_wire::{ExtensionType, HandshakeMessage as _};

use super::PUBLIC;
use crate::fixtures::client;
use crate::pair::first_message;

/// The body of the first ClientHello to this name.
fn hello(config: &Arc<ClientConfig>, name: &str, offer: Offer) -> Vec<u8> {
    let name = tercel::ServerName::try_from(name.to_owned()).unwrap();
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

/// The number of ClientHellos of each kind whose shapes are compared.
const HELLOS: usize = 1000;

/// The shapes of ClientHellos to names of different lengths, and how often each occurs. If the
/// extensions are shuffled, their order is left out.
fn shapes(
    config: &Arc<ClientConfig>,
    shuffled: bool,
    offer: impl Fn() -> Offer,
) -> BTreeMap<Vec<(u16, usize)>, usize> {
    let mut counts = BTreeMap::new();
    for number in 0..HELLOS {
        let name = format!("{}.example", "a".repeat(1 + number % 50));
        let mut shape = shape(&hello(config, &name, offer()));
        for (kind, length) in &mut shape {
            // An observer sees a name in both: the public name, or that of the server.
            if *kind == ExtensionType::SERVER_NAME.0 {
                *length = 0;
            }
        }
        if shuffled {
            shape.sort_unstable();
        }
        *counts.entry(shape).or_default() += 1;
    }
    counts
}

/// RFC 9849 6.2
#[test]
fn random_contents_have_the_shape_of_real_ones() {
    for shuffled in [false, true] {
        let config = client().shuffle_extensions(shuffled).build().unwrap();
        let key = Key::generate("server.example", 64).unwrap();
        let real = shapes(&config, shuffled, || Offer::Configs(key.config()));
        let random = shapes(&config, shuffled, || Offer::Grease);
        println!("types and lengths of extensions, shuffled: {shuffled}");
        println!("{HELLOS} real ones: {real:?}\n{HELLOS} random ones: {random:?}");
        assert_eq!(real, random);
        assert_eq!(real.len(), 1);
    }
}

/// The places of the extension among the others, which observers see, are spread alike.
/// RFC 9849 6.2
#[test]
fn random_contents_are_at_the_places_of_real_ones() {
    let config = client().shuffle_extensions(true).build().unwrap();
    let key = Key::generate("server.example", 64).unwrap();
    let places = |offer: &dyn Fn() -> Offer| {
        let mut places = BTreeMap::<usize, usize>::new();
        for _ in 0..HELLOS {
            let shape = shape(&hello(&config, "secret.example", offer()));
            let is_it = |(kind, _): &(u16, usize)| *kind == ExtensionType::ENCRYPTED_CLIENT_HELLO.0;
            *places.entry(shape.iter().position(is_it).unwrap()).or_default() += 1;
        }
        places
    };
    let real = places(&|| Offer::Configs(key.config()));
    let random = places(&|| Offer::Grease);
    println!("places of the extension in {HELLOS}: real {real:?}, random {random:?}");
    let expected = HELLOS / real.len();
    assert!(real.len() > 5 && real.keys().eq(random.keys()), "{real:?} {random:?}");
    // Six standard deviations of a binomial distribution are below 6 * sqrt(expected).
    for count in real.values().chain(random.values()) {
        assert!(count.abs_diff(expected).pow(2) < 36 * expected, "{count} for {expected}");
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
