//! IP networks in prefix notation.

use std::net::IpAddr;

/// An IP network, or a single address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Whether the network contains this address. An IPv4-mapped IPv6 address counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differ = u64::from(own.to_bits() ^ other.to_bits());
                differ >> 32_u8.saturating_sub(self.bits) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                let behind = u32::from(128_u8.saturating_sub(self.bits));
                // `checked_shr` returns `None` for the prefix /0, which has no bits to compare.
                differ.checked_shr(behind).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// Parses `192.0.2.1`, `192.0.2.0/24` or `2001:db8::/32`.
pub(crate) fn parse_network(text: &str) -> Result<Network, String> {
    let must = || format!("\"{text}\" must be an address or a network, for example 10.0.0.0/8");
    let (address, bits) = match text.split_once('/') {
        None => (text, None),
        Some((address, bits)) if bits.bytes().all(|byte| byte.is_ascii_digit()) => {
            (address, Some(bits.parse::<u8>().map_err(|_| must())?))
        }
        Some(_) => return Err(must()),
    };
    let address: IpAddr = address.parse().map_err(|_| must())?;
    if address != address.to_canonical() {
        return Err(format!("\"{text}\" is an IPv4-mapped IPv6 address; write the IPv4 address"));
    }
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(most);
    if bits > most {
        return Err(must());
    }
    let network = Network { address, bits };
    // Addresses with host bits are rejected, because another network was probably meant.
    let (first, host): (IpAddr, bool) = match address {
        IpAddr::V4(own) => {
            let mask = u32::MAX.checked_shl(u32::from(32_u8.saturating_sub(bits))).unwrap_or(0);
            (IpAddr::from((own.to_bits() & mask).to_be_bytes()), bits == 32)
        }
        IpAddr::V6(own) => {
            let mask = u128::MAX.checked_shl(u32::from(128_u8.saturating_sub(bits))).unwrap_or(0);
            (IpAddr::from((own.to_bits() & mask).to_be_bytes()), bits == 128)
        }
    };
    if !host && first != address {
        return Err(format!("\"{text}\" has host bits set; its network is {first}/{bits}"));
    }
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(text: &str, address: &str) -> bool {
        parse_network(text).unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn network_contains_addresses_with_its_prefix() {
        for (text, inside, outside) in [
            ("192.0.2.1", "192.0.2.1", "192.0.2.0"),
            ("192.0.2.1/32", "::ffff:192.0.2.1", "192.0.2.2"),
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("192.0.2.128/25", "192.0.2.255", "192.0.2.127"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("::1", "::1", "::2"),
            ("::/0", "2001:db8::1", "192.0.2.1"),
        ] {
            assert!(contains(text, inside), "{text} {inside}");
            assert!(!contains(text, outside), "{text} {outside}");
        }
    }

    #[test]
    fn malformed_networks_are_refused() {
        for text in
            ["", "a.example", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.0/8/8"]
        {
            assert!(parse_network(text).unwrap_err().contains("must be an address"), "{text}");
        }
        assert!(parse_network("10.1.0.0/8").unwrap_err().contains("10.0.0.0/8"));
        assert!(parse_network("::ffff:10.0.0.0/104").unwrap_err().contains("IPv4"));
    }
}
