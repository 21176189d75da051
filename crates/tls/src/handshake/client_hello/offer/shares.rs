//! The key shares of an offer, and the key agreement. RFC 9846 4.3.8

use tercel_crypto::{KeyExchange, KeyExchangeAlgorithm, SharedSecret};
use tercel_wire::{KeyShareEntry, NamedGroup};

use super::Offer;
use crate::config::client::ClientConfig;
use crate::error::{Error, InternalError, PeerError};
use crate::handshake::runtime::flow::Flow;
use crate::handshake::short_list::ShortList;
use crate::handshake::transcript::Transcript;
use crate::keys::group;

impl Offer {
    /// Generates a key pair for each of these groups, and sends a ClientHello with the shares.
    pub(super) fn send_shares(
        &mut self,
        flow: &mut Flow,
        config: &ClientConfig,
        groups: &[NamedGroup],
        cookie: Option<&[u8]>,
        before: Option<&Transcript>,
    ) -> Result<(), Error> {
        self.drop_exchanges();
        // The full capacity is reserved, because growing would leave copies of keys in freed
        // memory.
        self.further_exchanges.reserve_exact(groups.len().saturating_sub(1));
        let algorithms = groups.iter().filter_map(|group| group::algorithm(*group));
        let length = algorithms.clone().map(KeyExchangeAlgorithm::client_share_len).sum();
        // A single share of any group fits on the stack.
        let mut on_stack = [0_u8; KeyExchangeAlgorithm::MAX_SHARE_LEN];
        let mut on_heap = Vec::new();
        let room = if length > on_stack.len() {
            on_heap.resize(length, 0);
            on_heap.as_mut_slice()
        } else {
            on_stack.as_mut_slice()
        };
        let mut rest = room;
        let mut shares = ShortList::<KeyShareEntry<'_>, MAX_INLINE_SHARES>::of(NO_SHARE, []);
        for algorithm in algorithms {
            let (share, after) = rest
                .split_at_mut_checked(algorithm.client_share_len())
                .ok_or(InternalError::Internal)?;
            rest = after;
            let exchange = KeyExchange::generate_into(algorithm, share)?;
            let share = &*share;
            if let Some(group) = group::code_point(algorithm) {
                shares.push(KeyShareEntry { group, key_exchange: share });
            }
            if let (Some(group), Some((_, place)), None) = (
                separate_classic_share(config, algorithm, groups.len()),
                algorithm.traditional(),
                before,
            ) {
                let key_exchange = share.get(place).unwrap_or_default();
                shares.push(KeyShareEntry { group, key_exchange });
            }
            if self.exchange.is_none() {
                self.exchange = Some(exchange);
            } else {
                self.further_exchanges.push(exchange);
            }
        }
        // The shares must have the order of the groups. RFC 9846 4.3.8
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
                || separate_classic_share(config, algorithm, count) == Some(group)
        })
    }

    /// Computes the shared secret from the client's and the server's share for this group.
    pub(crate) fn agree(
        &mut self,
        config: &ClientConfig,
        group: NamedGroup,
        server_share: &[u8],
    ) -> Result<SharedSecret, Error> {
        // The server's share must be for a group whose share was sent. RFC 9846 4.3.8
        if !self.has_share(config, group) {
            return Err(PeerError::WrongGroup.into());
        }
        let algorithm = group::algorithm(group).ok_or(PeerError::WrongGroup)?;
        let mut exchanges = self.exchange.iter().chain(&self.further_exchanges);
        let whole = exchanges.clone().find(|exchange| exchange.algorithm() == algorithm);
        let made = match whole {
            Some(exchange) => exchange.agree_in_place(server_share),
            None => {
                let half = exchanges.find(|exchange| {
                    let classic = exchange.algorithm().traditional();
                    classic.is_some_and(|(classic, _)| classic == algorithm)
                        && config.common.groups.contains(&group)
                });
                half.ok_or(PeerError::WrongGroup)?.agree_traditional_in_place(server_share)
            }
        };
        // Each key pair is used only once.
        self.drop_exchanges();
        made.map_err(group::bad_share)
    }

    /// Drops the key exchanges in place, since moving one would leave a copy in memory.
    fn drop_exchanges(&mut self) {
        self.exchange = None;
        self.further_exchanges.clear();
    }
}

/// Returns the groups whose shares the first ClientHello contains.
pub(super) fn first_groups(config: &ClientConfig) -> ShortList<NamedGroup, MAX_INLINE_SHARES> {
    let filler = NamedGroup::X25519;
    let ours = config.common.groups.iter().copied();
    let mut predicted = ours.clone().filter(|group| config.server_groups.contains(group));
    match (predicted.next(), &config.key_shares) {
        (Some(predicted), _) => ShortList::of(filler, [predicted]),
        (None, Some(groups)) => ShortList::of(filler, groups.iter().copied()),
        (None, None) => ShortList::of(filler, ours.take(1)),
    }
}

/// Returns the group of a hybrid's traditional half, if a share for that group is sent in addition.
/// This share is sent only if there is a single key exchange, and if no shares are configured.
fn separate_classic_share(
    config: &ClientConfig,
    algorithm: KeyExchangeAlgorithm,
    exchanges: usize,
) -> Option<NamedGroup> {
    let (classic, _) =
        algorithm.traditional().filter(|_| config.key_shares.is_none() && exchanges == 1)?;
    group::code_point(classic).filter(|group| config.common.groups.contains(group))
}

/// The number of shares that can be offered without an allocation.
pub(super) const MAX_INLINE_SHARES: usize = 4;

pub(super) const NO_SHARE: KeyShareEntry<'_> =
    KeyShareEntry { group: NamedGroup::X25519, key_exchange: &[] };
