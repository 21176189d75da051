//! The functions of the C interface, called in arbitrary order and with arbitrary arguments: NULL,
//! zero lengths, unknown numbers. Handles are what a caller has: of their type, and not freed.
//!
//! An input is a list of calls. Each begins with the number of a function; the bytes after it
//! select handles and contain the data. Two more instructions pass bytes between the sides, and
//! complete a handshake, so that inputs reach connections.

// SAFETY for all calls of this module: handles are NULL or in the lists of `World`, from which they
// are removed when they are freed; data and places for results are those of this module or NULL,
// with their lengths.
#![allow(clippy::undocumented_unsafe_blocks)]
// Numbers are arbitrary, and so are their lower bits.
#![allow(clippy::cast_possible_truncation)]

mod handshakes;
mod parts;
mod world;

use world::World;

/// Runs an input. Returns whether a handshake was completed.
pub fn entry_points(input: &[u8]) -> bool {
    let mut world = World::new(input);
    while let Some(number) = world.byte() {
        match number {
            0..=7 => world.connect(number),
            8..=15 => world.deliver(),
            16..=79 => parts::call(&mut world, number - 16),
            _ => handshakes::call(&mut world, number - 80),
        }
    }
    world.connected
}
