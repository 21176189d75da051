//! The state of a scan: its connections, and what the server's answers showed so far.

use tercel::ConnectionInfo;
use tercel::pki_types::CertificateDer;
use tercel_wire::{CipherSuite, NamedGroup, ProtocolVersion, ServerHello};

use super::connections::Connections;
use super::handshake::HandshakeFailure;
use super::keys::READABLE;
use super::offer::Offer;
use super::probe::{self, Depth};
use super::reply::{Cut, Reply, ServerFlight};
use super::report::Report;
use crate::negotiated::version_name;

/// A running scan.
#[derive(Debug)]
pub(crate) struct Scanner {
    pub(crate) connections: Connections,
    /// The host that is named in server_name.
    pub(crate) host: String,
    /// The accepted versions, highest first, each with suites among which the server chooses one:
    /// its accepted suites, or candidates as long as these are unknown.
    pub(crate) accepted: Vec<(ProtocolVersion, Vec<CipherSuite>)>,
    /// A group of TLS 1.3 that the server accepts and whose keys can be derived.
    pub(crate) readable_group: Option<NamedGroup>,
    /// The first offer that the server answered with a ServerHello.
    served: Option<Offer>,
    pub(crate) observed: Observations,
}

/// What the server's answers to all offers showed.
#[derive(Debug, Default)]
pub(crate) struct Observations {
    /// The first complete flight of each version.
    pub(crate) flights: Vec<ServerFlight>,
    /// Flights with different end-entity certificates.
    pub(crate) chains: Vec<ServerFlight>,
    /// The first answer of each version below TLS 1.3.
    pub(crate) hellos: Vec<ServerFlight>,
    /// Breaches of the protocol, without duplicates.
    pub(crate) invalid: Vec<String>,
    /// The end-entity certificates with which a handshake was completed.
    proven: Vec<CertificateDer<'static>>,
}

impl Scanner {
    pub(crate) fn new(connections: Connections, host: String) -> Self {
        let (accepted, readable_group) = (Vec::new(), None);
        let (served, observed) = (None, Observations::default());
        Self { connections, host, accepted, readable_group, served, observed }
    }

    /// Sends an offer over a new connection, reads the answer, and notes what it shows. Without an
    /// answer, the offer is sent once more.
    pub(crate) fn ask(&mut self, offer: &Offer, depth: Depth) -> Reply {
        if offer.suites.is_empty() {
            return Reply::Unanswered("no cipher suite is known".to_owned());
        }
        let first = self.ask_once(offer, depth);
        if first.is_answer() || self.connections.stopped().is_some() {
            return first;
        }
        let second = self.ask_once(offer, depth);
        if second.is_answer() {
            return second;
        }
        self.confirm();
        // A part of the messages may contain what the question needs.
        if matches!(second, Reply::Hello(_)) { second } else { first }
    }

    /// Asks what the server has answered before: a server that still answers is neither overloaded
    /// nor blocks this client, so consecutive failures are counted from zero.
    pub(crate) fn confirm(&mut self) {
        if let Some(offer) = self.served.clone() {
            let _ = self.ask_once(&offer, Depth::Hello);
        }
    }

    fn ask_once(&mut self, offer: &Offer, depth: Depth) -> Reply {
        let reply = probe::ask(&mut self.connections, offer, depth);
        match &reply {
            Reply::Hello(flight) => {
                self.served.get_or_insert_with(|| offer.clone());
                if let Some(why) = &flight.breach {
                    self.observed.note_breach(why);
                }
                self.observed.note(flight, depth);
            }
            Reply::Invalid(why) => self.observed.note_breach(why),
            _ => {}
        }
        reply
    }

    /// Notes that a handshake was completed, for which the server needed its private key.
    pub(crate) fn note_completed(&mut self, info: &ConnectionInfo) {
        self.connections.answered();
        let Some(leaf) = info.peer_chain().first() else { return };
        let proven = &mut self.observed.proven;
        if proven.len() < MAX_NOTED && !proven.contains(leaf) {
            proven.push(leaf.clone());
        }
    }

    /// Notes that a handshake failed. Returns the reason.
    pub(crate) fn note_failure(&mut self, failure: HandshakeFailure) -> String {
        match failure {
            HandshakeFailure::Breach(why) => {
                self.connections.answered();
                self.observed.note_breach(&format!("does not complete a handshake: {why}"));
                why
            }
            HandshakeFailure::Answered(why) => {
                self.connections.answered();
                why
            }
            HandshakeFailure::Unanswered(why) => {
                self.connections.unanswered(&why);
                why
            }
        }
    }

    /// Whether a handshake was completed with the end-entity certificate of this flight.
    pub(crate) fn is_proven(&self, flight: &ServerFlight) -> bool {
        flight.chain.first().is_some_and(|leaf| self.observed.proven.contains(leaf))
    }

    /// An offer of this version with these suites.
    pub(crate) fn offer(&self, version: ProtocolVersion, suites: &[CipherSuite]) -> Offer {
        Offer::new(version, &self.host, suites.to_vec())
    }

    /// An offer of TLS 1.3 with which the server's whole flight can be read.
    pub(crate) fn readable_offer(&self) -> Option<Offer> {
        let suites = self.suites(ProtocolVersion::TLS1_3)?;
        let readable: Vec<_> = suites.iter().copied().filter(|s| READABLE.contains(s)).collect();
        let group = self.readable_group.filter(|_| !readable.is_empty())?;
        let mut offer = self.offer(ProtocolVersion::TLS1_3, &readable);
        offer.groups = vec![group];
        offer.share = Some(group);
        Some(offer)
    }

    /// The accepted suites of an accepted version.
    pub(crate) fn suites(&self, version: ProtocolVersion) -> Option<&[CipherSuite]> {
        let found = self.accepted.iter().find(|(accepted, _)| *accepted == version);
        found.map(|(_, suites)| suites.as_slice())
    }

    /// Reads one flight of each current version, in which the certificates are, unless an earlier
    /// step has read one.
    pub(crate) fn read_flights(&mut self, report: &mut Report) {
        let older = self.older().map(|(version, suites)| self.offer(version, &suites));
        for offer in [self.readable_offer(), older].into_iter().flatten() {
            if self.observed.flight(offer.version).is_some() {
                continue;
            }
            let reply = self.ask(&offer, Depth::Flight);
            if self.observed.flight(offer.version).is_none() {
                let what = format!("certificates of {}", version_name(offer.version));
                let cut = match &reply {
                    Reply::Hello(flight) => flight.cut.as_ref().map(Cut::reason),
                    _ => None,
                };
                report.note_unknown(&what, &cut.unwrap_or_else(|| reply.reason()));
            }
        }
    }

    /// The highest accepted version below TLS 1.3, with its suites.
    pub(crate) fn older(&self) -> Option<(ProtocolVersion, Vec<CipherSuite>)> {
        let older = |(version, _): &&(ProtocolVersion, _)| *version < ProtocolVersion::TLS1_3;
        self.accepted.iter().find(older).cloned()
    }
}

impl Observations {
    fn note(&mut self, flight: &ServerFlight, depth: Depth) {
        let same_version = |noted: &ServerFlight| noted.version == flight.version;
        if flight.version < ProtocolVersion::TLS1_3 && !self.hellos.iter().any(same_version) {
            self.hellos.push(flight.clone());
        }
        let is_complete = depth == Depth::Flight && flight.cut.is_none() && !flight.retry;
        if is_complete && !self.flights.iter().any(same_version) {
            self.flights.push(flight.clone());
        }
        let Some(leaf) = flight.chain.first() else { return };
        let is_full = self.chains.len() >= MAX_NOTED;
        match self.chains.iter_mut().find(|noted| noted.chain.first() == Some(leaf)) {
            // A server may staple only some of the time, or in one version only.
            Some(noted) => {
                if noted.ocsp_response.is_none() {
                    noted.ocsp_response.clone_from(&flight.ocsp_response);
                }
            }
            None if is_full => {}
            None => self.chains.push(flight.clone()),
        }
    }

    fn note_breach(&mut self, why: &str) {
        if self.invalid.len() < MAX_NOTED && !self.invalid.iter().any(|noted| noted == why) {
            self.invalid.push(why.to_owned());
        }
    }

    /// The first complete flight of a version.
    pub(crate) fn flight(&self, version: ProtocolVersion) -> Option<&ServerFlight> {
        self.flights.iter().find(|flight| flight.version == version)
    }

    /// Whether the first answer of this version has the sentinel that shows a client that the
    /// server supports a higher version. RFC 9846 4.2.3
    pub(crate) fn has_sentinel(&self, version: ProtocolVersion) -> Option<bool> {
        let flight = self.hellos.iter().find(|flight| flight.version == version)?;
        let sentinel = match version {
            ProtocolVersion::TLS1_2 => ServerHello::DOWNGRADE_TO_TLS12,
            _ => ServerHello::DOWNGRADE_BELOW_TLS12,
        };
        Some(flight.random.ends_with(&sentinel))
    }
}

/// The number of different chains, and of breaches of the protocol, that are noted.
const MAX_NOTED: usize = 8;
