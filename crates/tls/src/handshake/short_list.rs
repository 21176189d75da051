//! Short lists that need no allocation, used while a message is written.

use core::ops::Deref;

/// A list with up to `N` values on the stack, or with more values on the heap.
pub(crate) enum ShortList<T, const N: usize> {
    Stack([T; N], usize),
    Heap(Vec<T>),
}

impl<T: Copy, const N: usize> ShortList<T, N> {
    /// Creates a list of these values. `filler` is stored in unused places.
    pub(crate) fn of(filler: T, values: impl IntoIterator<Item = T>) -> Self {
        let mut values = values.into_iter();
        let (mut room, mut length) = ([filler; N], 0_usize);
        for place in &mut room {
            let Some(value) = values.next() else { return Self::Stack(room, length) };
            *place = value;
            length = length.saturating_add(1);
        }
        match values.next() {
            None => Self::Stack(room, length),
            Some(next) => {
                Self::Heap(room.into_iter().chain(core::iter::once(next)).chain(values).collect())
            }
        }
    }

    /// Creates a list with `length` copies of a value, which the caller overwrites.
    pub(crate) fn repeated(value: T, length: usize) -> Self {
        if length <= N { Self::Stack([value; N], length) } else { Self::Heap(vec![value; length]) }
    }

    pub(crate) fn push(&mut self, value: T) {
        match self {
            Self::Heap(values) => values.push(value),
            Self::Stack(values, length) => match values.get_mut(*length) {
                Some(place) => {
                    *place = value;
                    *length = length.saturating_add(1);
                }
                None => {
                    let mut values = values.to_vec();
                    values.push(value);
                    *self = Self::Heap(values);
                }
            },
        }
    }

    /// Creates a list of the concatenated parts. For bytes, this is faster than [`Self::of`].
    pub(crate) fn joined(filler: T, parts: &[&[T]]) -> Self {
        let (mut values, mut length) = ([filler; N], 0_usize);
        for part in parts {
            let end = length.saturating_add(part.len());
            let Some(place) = values.get_mut(length..end) else {
                return Self::Heap(parts.concat());
            };
            place.copy_from_slice(part);
            length = end;
        }
        Self::Stack(values, length)
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        match self {
            Self::Heap(values) => values,
            Self::Stack(values, length) => values.get_mut(..*length).unwrap_or_default(),
        }
    }
}

impl<T, const N: usize> Deref for ShortList<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Heap(values) => values,
            Self::Stack(values, length) => values.get(..*length).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_a_value_are_as_many_as_requested() {
        for count in 0..10 {
            let list = ShortList::<u8, 4>::repeated(7, count);
            assert_eq!(*list, *vec![7; count]);
            assert_eq!(matches!(list, ShortList::Heap(_)), count > 4);
        }
    }

    #[test]
    fn values_stay_in_order_on_stack_and_heap() {
        for count in 0..10 {
            let mut few = ShortList::<u8, 4>::of(99, 0..count);
            assert_eq!(*few, *(0..count).collect::<Vec<_>>());
            assert_eq!(matches!(few, ShortList::Heap(_)), count > 4);
            few.as_mut_slice().reverse();
            assert_eq!(*few, *(0..count).rev().collect::<Vec<_>>());
            let all: Vec<_> = (0..count).collect();
            let (start, end) = all.split_at(all.len() / 2);
            let joined = ShortList::<u8, 4>::joined(99, &[start, end]);
            assert_eq!(*joined, *all);
            assert_eq!(matches!(joined, ShortList::Heap(_)), count > 4);
        }
    }
}
