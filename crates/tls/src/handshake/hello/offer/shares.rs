//! The key shares of an offer, and what one of them and the server's make. RFC 9846 4.3.8
//!
//! Must not know: what else a hello says. Next: [`super::writing`].

use tercel_crypto::{KeyExchange, KeyExchangeAlgorithm, SharedSecret};
use tercel_wire::{KeyShareEntry, NamedGroup};

use super::Offer;
use crate::config::client::ClientConfig;
use crate::error::{Error, Local, Peer};
use crate::handshake::few::Few;
use crate::handshake::flow::Flow;
use crate::handshake::hello::group;
use crate::handshake::transcript::Transcript;

impl Offer {
    /// Makes a key pair for each of these groups, and sends a hello with the shares.
    pub(super) fn send_shares(
        &mut self,
        flow: &mut Flow,
        config: &ClientConfig,
        groups: &[NamedGroup],
        cookie: Option<&[u8]>,
        before: Option<&Transcript>,
    ) -> Result<(), Error> {
        self.forget_exchanges();
        // Room from the start: what grows leaves its keys behind.
        self.further_exchanges.reserve_exact(groups.len().saturating_sub(1));
        let algorithms = groups.iter().filter_map(|group| group::algorithm(*group));
        let length = algorithms.clone().map(KeyExchangeAlgorithm::client_share_len).sum();
        // One share of any group has room on the stack.
        let mut on_stack = [0_u8; KeyExchangeAlgorithm::MAX_SHARE_LEN];
        let mut on_heap = Vec::new();
        let room = if length > on_stack.len() {
            on_heap.resize(length, 0);
            on_heap.as_mut_slice()
        } else {
            on_stack.as_mut_slice()
        };
        let mut rest = room;
        let mut shares = Few::<KeyShareEntry<'_>, MOST_SHARES>::of(NO_SHARE, []);
        for algorithm in algorithms {
            let (share, after) =
                rest.split_at_mut_checked(algorithm.client_share_len()).ok_or(Local::Encode)?;
            rest = after;
            let exchange = KeyExchange::generate_into(algorithm, share)?;
            let share = &*share;
            if let Some(group) = group::code_point(algorithm) {
                shares.push(KeyShareEntry { group, key_exchange: share });
            }
            if let (Some(group), Some((_, place)), None) =
                (offered_classic(config, algorithm, groups.len()), algorithm.classic(), before)
            {
                let key_exchange = share.get(place).unwrap_or_default();
                shares.push(KeyShareEntry { group, key_exchange });
            }
            if self.exchange.is_none() {
                self.exchange = Some(exchange);
            } else {
                self.further_exchanges.push(exchange);
            }
        }
        // Shares come in the order of the groups. RFC 9846 4.3.8
        let ours = &config.common.groups;
        let place = |share: &KeyShareEntry<'_>| ours.iter().position(|group| *group == share.group);
        shares.as_mut_slice().sort_by_key(place);
        self.send_with(flow, config, &shares, cookie, before)
    }

    /// Whether a share for this group was sent.
    pub(crate) fn has_share(&self, config: &ClientConfig, group: NamedGroup) -> bool {
        let exchanges = || self.exchange.iter().chain(&self.further_exchanges);
        let count = exchanges().count();
        exchanges().any(|exchange| {
            let algorithm = exchange.algorithm();
            group::code_point(algorithm) == Some(group)
                || offered_classic(config, algorithm, count) == Some(group)
        })
    }

    /// The secret that our share and the server's for this group make.
    pub(crate) fn agree(
        &mut self,
        config: &ClientConfig,
        group: NamedGroup,
        server_share: &[u8],
    ) -> Result<SharedSecret, Error> {
        // The answer is to a share that was sent. RFC 9846 4.3.8
        if !self.has_share(config, group) {
            return Err(Peer::WrongGroup.into());
        }
        let algorithm = group::algorithm(group).ok_or(Peer::WrongGroup)?;
        let mut exchanges = self.exchange.iter().chain(&self.further_exchanges);
        let whole = exchanges.clone().find(|exchange| exchange.algorithm() == algorithm);
        let made = match whole {
            Some(exchange) => exchange.agree_in_place(server_share),
            None => {
                let half = exchanges.find(|exchange| {
                    let classic = exchange.algorithm().classic();
                    classic.is_some_and(|(classic, _)| classic == algorithm)
                        && config.common.groups.contains(&group)
                });
                half.ok_or(Peer::WrongGroup)?.agree_classic_in_place(server_share)
            }
        };
        // They are agreed with once.
        self.forget_exchanges();
        made.map_err(bad_share)
    }

    /// Where they lie: what is moved out of a vector stays in its memory too.
    fn forget_exchanges(&mut self) {
        self.exchange = None;
        self.further_exchanges.clear();
    }
}

fn bad_share(error: tercel_crypto::CryptoError) -> Error {
    crate::handshake::tls13::server_hello::bad_share(error)
}

/// The groups to send shares for at first.
pub(super) fn first_groups(config: &ClientConfig) -> Few<NamedGroup, MOST_SHARES> {
    let filler = NamedGroup::X25519;
    let ours = config.common.groups.iter().copied();
    let mut predicted = ours.clone().filter(|group| config.server_groups.contains(group));
    match (predicted.next(), &config.key_shares) {
        (Some(predicted), _) => Few::of(filler, [predicted]),
        (None, Some(groups)) => Few::of(filler, groups.iter().copied()),
        (None, None) => Few::of(filler, ours.take(1)),
    }
}

/// The group of the classic half of a hybrid, if that is offered beside it: of one among so many exchanges.
fn offered_classic(
    config: &ClientConfig,
    algorithm: KeyExchangeAlgorithm,
    exchanges: usize,
) -> Option<NamedGroup> {
    let (classic, _) =
        algorithm.classic().filter(|_| config.key_shares.is_none() && exchanges == 1)?;
    group::code_point(classic).filter(|group| config.common.groups.contains(group))
}

/// Shares that are offered without an allocation.
pub(super) const MOST_SHARES: usize = 4;

pub(super) const NO_SHARE: KeyShareEntry<'_> =
    KeyShareEntry { group: NamedGroup::X25519, key_exchange: &[] };
