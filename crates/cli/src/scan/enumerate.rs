//! Finds every value that a server accepts: all are offered, the chosen one is removed, and the
//! rest is offered again until the server refuses.

use serde::Serialize;

use super::reply::{Cut, Reply, ServerFlight};

/// The server's choice among the offered values.
#[derive(Debug)]
pub(crate) enum Choice<T> {
    Chosen(T),
    /// The server accepts none of them.
    None,
    /// The answer is unknown, for this reason.
    Unknown(String),
}

impl<T> Choice<T> {
    /// The choice in the messages of a reply. They were read to their end, or far enough to contain
    /// the choice.
    pub(crate) fn new(reply: &Reply, value: impl FnOnce(&ServerFlight) -> Option<T>) -> Self {
        let Reply::Hello(flight) = reply else { return Self::refused(reply) };
        match (value(flight), &flight.cut) {
            (Some(value), _) => Self::Chosen(value),
            (None, None | Some(Cut::Alert(_))) if !flight.retry => Self::None,
            (None, Some(cut)) => Self::Unknown(cut.reason()),
            (None, None) => Self::Unknown("the server requests a second ClientHello".to_owned()),
        }
    }

    /// The meaning of a reply that selects none of the offered values. Only an alert, and messages
    /// with another choice, are a refusal.
    pub(crate) fn refused(reply: &Reply) -> Self {
        match reply {
            Reply::Alert(_) | Reply::Hello(_) => Self::None,
            Reply::Closed(_) | Reply::Invalid(_) | Reply::Unanswered(_) => {
                Self::Unknown(reply.reason())
            }
        }
    }
}

/// Which side's order of preference decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    Server,
    Client,
    /// There are too few choices, or the server did not answer.
    Unknown,
}

/// The values that a server accepts, in the order in which it chose them.
#[derive(Debug)]
pub(crate) struct Enumeration<T> {
    pub(crate) values: Vec<T>,
    pub(crate) order: Order,
    /// The reason why values may be missing.
    pub(crate) cut: Option<String>,
    /// The reason why the order was not found, although there are several values.
    pub(crate) unordered: Option<String>,
}

impl<T> Enumeration<T> {
    pub(crate) fn nothing() -> Self {
        Self { values: Vec::new(), order: Order::Unknown, cut: None, unordered: None }
    }
}

impl<T> Enumeration<T> {
    /// Whether the server refused all values at once.
    pub(crate) fn is_nothing(&self) -> bool {
        self.values.is_empty() && self.cut.is_none()
    }
}

impl<T: Copy + PartialEq> Enumeration<T> {
    /// Finds the order of preference with these of the values.
    pub(crate) fn find_order(&mut self, values: &[T], choose: impl FnMut(&[T]) -> Choice<T>) {
        match order(values, choose) {
            Ok(order) => self.order = order,
            Err(why) => self.unordered = Some(why),
        }
    }
}

/// Finds which side's order of preference decides, by offering two of these values in reverse.
/// `values` has the order in which the server chose them. The error is the reason why the order
/// remains unknown.
fn order<T: Copy + PartialEq>(
    values: &[T],
    mut choose: impl FnMut(&[T]) -> Choice<T>,
) -> Result<Order, String> {
    let [first, .., last] = values else { return Ok(Order::Unknown) };
    match choose(&[*last, *first]) {
        Choice::Chosen(value) if value == *first => Ok(Order::Server),
        Choice::Chosen(value) if value == *last => Ok(Order::Client),
        Choice::Unknown(why) => Err(why),
        Choice::Chosen(_) | Choice::None => Err(INCONSISTENT.to_owned()),
    }
}

/// Finds the accepted values among `candidates`. `choose` offers a list of values to the server.
pub(crate) fn accepted<T: Copy + PartialEq>(
    candidates: &[T],
    mut choose: impl FnMut(&[T]) -> Choice<T>,
) -> Enumeration<T> {
    let mut found = eliminate(candidates, &mut choose);
    let values = found.values.clone();
    found.find_order(&values, &mut choose);
    found
}

/// As [`accepted`], for more candidates than one message should offer. Each group is offered
/// alone first. If more than one group has accepted values, these are offered again together.
/// `shows_order` selects the values with which the order of preference is tested.
pub(crate) fn accepted_of_groups<T: Copy + PartialEq>(
    groups: &[Vec<T>],
    shows_order: impl Fn(T) -> bool,
    mut choose: impl FnMut(&[T]) -> Choice<T>,
) -> Enumeration<T> {
    let mut found = Enumeration::nothing();
    let mut productive = 0;
    for group in groups.iter().filter(|group| !group.is_empty()) {
        let part = eliminate(group, &mut choose);
        productive += usize::from(!part.values.is_empty());
        found.values.extend(part.values);
        found.cut = found.cut.or(part.cut);
        if found.cut.is_some() {
            return found;
        }
    }
    let shown: Vec<T> = found.values.iter().copied().filter(|value| shows_order(*value)).collect();
    found.find_order(&shown, &mut choose);
    if productive > 1 && found.order == Order::Server {
        let again = eliminate(&found.values, &mut choose);
        if again.values.len() == found.values.len() {
            found.values = again.values;
        } else {
            found.order = Order::Unknown;
            found.unordered = Some(again.cut.unwrap_or_else(|| INCONSISTENT.to_owned()));
        }
    }
    found
}

/// As [`accepted`], without the order of preference.
pub(crate) fn eliminate<T: Copy + PartialEq>(
    candidates: &[T],
    choose: &mut impl FnMut(&[T]) -> Choice<T>,
) -> Enumeration<T> {
    let (mut left, mut found) = (candidates.to_vec(), Enumeration::nothing());
    while !left.is_empty() {
        match choose(&left) {
            Choice::Chosen(value) if left.contains(&value) => {
                left.retain(|candidate| *candidate != value);
                found.values.push(value);
            }
            Choice::Chosen(_) => {
                found.cut = Some("the server chose a value that was not offered".to_owned());
                return found;
            }
            Choice::None => return found,
            Choice::Unknown(why) => {
                found.cut = Some(why);
                return found;
            }
        }
    }
    found
}

const INCONSISTENT: &str = "the server chose differently when it was asked again";

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that accepts these values in this order of its own.
    fn by_server(preferred: &[u8]) -> impl FnMut(&[u8]) -> Choice<u8> {
        move |offer| {
            let chosen = preferred.iter().find(|value| offer.contains(value));
            chosen.map_or(Choice::None, |value| Choice::Chosen(*value))
        }
    }

    /// A server that accepts these values in the client's order.
    fn by_client(known: &[u8]) -> impl FnMut(&[u8]) -> Choice<u8> {
        move |offer| {
            let chosen = offer.iter().find(|value| known.contains(value));
            chosen.map_or(Choice::None, |value| Choice::Chosen(*value))
        }
    }

    #[test]
    fn the_server_order_is_found() {
        let found = accepted(&[1, 2, 3, 4], by_server(&[4, 1, 3]));
        assert_eq!((found.values, found.order), (vec![4, 1, 3], Order::Server));
        let found = accepted(&[1, 2, 3, 4], by_client(&[4, 1, 3]));
        assert_eq!((found.values, found.order), (vec![1, 3, 4], Order::Client));
        let found = accepted(&[1, 2], by_server(&[2]));
        assert_eq!((found.values, found.order), (vec![2], Order::Unknown));
        assert!(accepted(&[1, 2], by_server(&[])).values.is_empty());
    }

    #[test]
    fn values_of_several_groups_are_merged_in_the_server_order() {
        let groups = [vec![1, 2, 3], vec![4, 5], vec![]];
        let found = accepted_of_groups(&groups, |_| true, by_server(&[5, 3, 4, 1]));
        assert_eq!((found.values, found.order), (vec![5, 3, 4, 1], Order::Server));
        let found = accepted_of_groups(&groups, |_| true, by_client(&[5, 3, 1]));
        assert_eq!((found.values, found.order), (vec![1, 3, 5], Order::Client));
        // A server may follow the client for one value only.
        let mut server = by_server(&[1, 2, 3]);
        let found = accepted_of_groups(
            &[vec![1, 2, 3]],
            |value| value != 3,
            |offer| {
                if offer.first() == Some(&3) { Choice::Chosen(3) } else { server(offer) }
            },
        );
        assert_eq!((found.values, found.order), (vec![1, 2, 3], Order::Server));
    }

    #[test]
    fn a_server_that_fails_or_lies_ends_the_search() {
        let mut left = 2;
        let found = accepted(&[1, 2, 3], |offer| match offer.first() {
            Some(value) if left > 0 => {
                left -= 1;
                Choice::Chosen(*value)
            }
            _ => Choice::Unknown("timed out".to_owned()),
        });
        assert_eq!((found.values, found.cut.as_deref()), (vec![1, 2], Some("timed out")));
        let found = accepted(&[1, 2], |_| Choice::Chosen(9));
        assert!(found.values.is_empty() && found.cut.is_some());
    }
}
