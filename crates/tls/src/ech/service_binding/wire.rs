//! The bytes of a record. RFC 9460 2.2

use super::{ServiceBinding, ServiceBindingError as Error, ServiceParameter};

impl ServiceBinding {
    /// Reads the RDATA of a record.
    ///
    /// # Errors
    /// If the data is malformed. A client ignores such a record. RFC 9460 2.2
    pub fn from_rdata(bytes: &[u8]) -> Result<Self, Error> {
        let mut rest = bytes;
        let priority = u16_of(&mut rest)?;
        let target = name_of(&mut rest)?;
        let mut parameters: Vec<(u16, Vec<u8>)> = Vec::new();
        while !rest.is_empty() {
            let (key, length) = (u16_of(&mut rest)?, u16_of(&mut rest)?);
            let value = take(&mut rest, usize::from(length))?;
            if parameters.last().is_some_and(|(last, _)| *last >= key) {
                return Err(Error::Order(ServiceParameter(key)));
            }
            parameters.push((key, value.to_vec()));
        }
        Self { priority, target, parameters }.checked()
    }

    /// Returns the RDATA of the record.
    #[must_use]
    pub fn to_rdata(&self) -> Vec<u8> {
        let mut out = self.priority.to_be_bytes().to_vec();
        out.extend_from_slice(&self.target);
        out.push(0);
        for (key, value) in &self.parameters {
            out.extend(key.to_be_bytes());
            // `checked` has limited the whole record.
            out.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
            out.extend_from_slice(value);
        }
        out
    }
}

/// The labels of an uncompressed name. RFC 1035 3.1
fn name_of(rest: &mut &[u8]) -> Result<Vec<u8>, Error> {
    let mut name = Vec::new();
    loop {
        match take(rest, 1)? {
            [0] => return Ok(name),
            [length @ 1..=MAX_LABEL] => {
                name.push(*length);
                name.extend_from_slice(take(rest, usize::from(*length))?);
            }
            _ => return Err(Error::Target),
        }
        if name.len() > MAX_NAME {
            return Err(Error::Target);
        }
    }
}

fn u16_of(rest: &mut &[u8]) -> Result<u16, Error> {
    let (first, others) = rest.split_first_chunk().ok_or(Error::Truncated)?;
    *rest = others;
    Ok(u16::from_be_bytes(*first))
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], Error> {
    let (taken, others) = rest.split_at_checked(count).ok_or(Error::Truncated)?;
    *rest = others;
    Ok(taken)
}

/// The longest label. RFC 1035 2.3.4
pub(super) const MAX_LABEL: u8 = 63;
/// The longest name, without the root's length. RFC 1035 2.3.4
pub(super) const MAX_NAME: usize = 254;
