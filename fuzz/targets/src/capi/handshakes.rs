//! Calls of functions for handshakes, questions and connections.

use std::ptr;

use tercel_capi::connection::authentication::*;
use tercel_capi::connection::established::*;
use tercel_capi::connection::halves::*;
use tercel_capi::connection::records::*;
use tercel_capi::connection::sessions::*;
use tercel_capi::connection::*;
use tercel_capi::handshake::*;
use tercel_capi::question::*;

use super::world::World;

/// Calls the function with this number.
pub(super) fn call(w: &mut World<'_>, number: u8) {
    // SAFETY: see `capi`.
    unsafe {
        match number {
            0..=39 => handshakes(w, number),
            40..=79 => questions(w, number - 40),
            80..=109 => records(w, number - 80),
            _ => connections(w, number - 110),
        }
    }
}

unsafe fn handshakes(w: &mut World<'_>, number: u8) {
    unsafe {
        let handshake = w.handshake();
        match number {
            0..=2 => {
                let (config, (name, len), mut made) = (w.config(), w.data(), ptr::null_mut());
                tercel_handshake_client(config, name.cast(), len, 443, &mut made);
                w.handshakes.extend((!made.is_null()).then_some(made));
            }
            3..=5 => {
                let (config, mut made) = (w.config(), ptr::null_mut());
                tercel_handshake_server(config, &mut made);
                w.handshakes.extend((!made.is_null()).then_some(made));
            }
            6 => {
                w.handshakes.retain(|each| *each != handshake);
                tercel_handshake_free(handshake);
            }
            7 => {
                let (data, len) = w.data();
                tercel_handshake_offer_session(handshake, data, len);
            }
            8 => _ = tercel_handshake_end_of_input(handshake),
            9 => {
                let ((data, len), output) = (w.data(), w.output());
                let taken = w.place(|world| &mut world.sizes[0]);
                tercel_handshake_seal_early(handshake, data, len, output, taken);
            }
            10 => _ = tercel_handshake_early_data_left(handshake),
            11 => _ = tercel_handshake_early_data(handshake),
            12 => _ = tercel_handshake_fact(handshake, w.small() as u32),
            13 => _ = tercel_handshake_fact_bytes(handshake, w.small() as u32, w.small()),
            14 => {
                let (text, size) = w.room();
                tercel_handshake_error(handshake, text.cast(), size);
            }
            15 => {
                let mut made = ptr::null_mut();
                tercel_handshake_take_connection(handshake, &mut made);
                w.connections.extend((!made.is_null()).then_some(made));
            }
            _ => {
                let (input, output) = (w.input(), w.output());
                let next = w.place(|world| &mut world.word);
                tercel_handshake_advance(handshake, input, output, next);
            }
        }
    }
}

unsafe fn questions(w: &mut World<'_>, number: u8) {
    unsafe {
        let handshake = w.handshake();
        match number {
            0 => _ = tercel_handshake_question(handshake),
            1 => _ = tercel_question_bytes(handshake, w.small() as u32, w.small()),
            2 => {
                let (field, index) = (w.small() as u32, w.small());
                let place = w.place(|world| &mut world.number);
                tercel_question_number(handshake, field, index, place);
            }
            3 => {
                let list = [w.credential(), w.credential()];
                let count = w.small() % 3;
                let index = w.place(|world| &mut world.sizes[0]);
                tercel_question_find_credential(handshake, list.as_ptr(), count, index);
            }
            4 => {
                let psk = w.pick(|world| &world.psks).unwrap_or(ptr::null());
                let index = w.place(|world| &mut world.sizes[0]);
                tercel_question_find_psk(handshake, &psk, 1, index);
            }
            5 => _ = tercel_question_verify_chain(handshake, w.roots()),
            6 => _ = tercel_answer_config(handshake, w.config()),
            7 => {
                let (data, len) = w.data();
                tercel_answer_session(handshake, data, len);
            }
            8 => {
                let psk = w.pick(|world| &world.psks).unwrap_or(ptr::null());
                tercel_answer_psk(handshake, psk);
            }
            9 => _ = tercel_answer_early_data(handshake, w.small() as u32),
            10 => _ = tercel_answer_credential(handshake, w.credential()),
            11 => {
                let (data, len) = w.data();
                tercel_answer_signature(handshake, data, len);
            }
            _ => {
                let (verdict, (text, len)) = (w.any() as u32, w.data());
                tercel_answer_peer(handshake, verdict, text.cast(), len);
            }
        }
    }
}

unsafe fn records(w: &mut World<'_>, number: u8) {
    unsafe {
        let (connection, input, output) = (w.connection(), w.input(), w.output());
        match number {
            0..=4 => {
                let (data, len) = w.data();
                tercel_connection_seal_to(connection, data, len, output);
            }
            5 => {
                let ((data, len), (out, room)) = (w.data(), w.room());
                let taken = w.place(|world| &mut world.sizes[0]);
                let written = w.place(|world| &mut world.sizes[1]);
                tercel_connection_seal(connection, data, len, out, room, taken, written);
            }
            6..=10 => {
                let (out, room) = w.room();
                let filled = w.place(|world| &mut world.sizes[0]);
                let event = w.place(|world| &mut world.word);
                tercel_connection_open(connection, input, out, room, filled, event);
            }
            11 => {
                let data = w.place(|world| &mut world.bytes[0]);
                let event = w.place(|world| &mut world.word);
                tercel_connection_open_in_place(connection, input, data, event);
            }
            12 => _ = tercel_connection_flush(connection, output),
            13 => _ = tercel_connection_close(connection, output),
            14 => _ = tercel_connection_abort(connection, w.small() as u8, output),
            15 => _ = tercel_connection_update_key(connection, w.small() as u32, output),
            16 => _ = tercel_connection_end_of_input(connection),
            17 => _ = tercel_connection_sealed_size(connection, w.any() as usize),
            18 => _ = tercel_connection_authenticate(connection, w.credential(), output),
            19 => _ = tercel_connection_request_certificate(connection, w.small() as u64, output),
            _ => _ = tercel_connection_park(connection),
        }
    }
}

unsafe fn connections(w: &mut World<'_>, number: u8) {
    unsafe {
        let connection = w.connection();
        match number {
            0 => {
                w.connections.retain(|each| *each != connection);
                tercel_connection_free(connection);
            }
            1 => {
                let mut made = ptr::null_mut();
                tercel_connection_split(connection, &mut made);
                w.connections.extend((!made.is_null()).then_some(made));
            }
            2 => {
                let (label, context, (out, room)) = (w.data(), w.data(), w.room());
                tercel_connection_export(
                    connection, label.0, label.1, context.0, context.1, out, room,
                );
            }
            3 => {
                let (label, context, (out, room)) = (w.data(), w.data(), w.room());
                tercel_connection_export_early(
                    connection, label.0, label.1, context.0, context.1, out, room,
                );
            }
            4 => _ = tercel_connection_fact(connection, w.small() as u32),
            5 => _ = tercel_connection_fact_bytes(connection, w.small() as u32, w.small()),
            6 => {
                let session = w.place(|world| &mut world.bytes[0]);
                let expires = w.place(|world| &mut world.number);
                tercel_connection_take_session(connection, session, expires);
            }
            7 => {
                let identity = w.place(|world| &mut world.bytes[0]);
                let session = w.place(|world| &mut world.bytes[1]);
                let expires = w.place(|world| &mut world.number);
                tercel_connection_take_stored_session(connection, identity, session, expires);
            }
            8 => _ = tercel_connection_client_certificate(connection, w.small()),
            _ => {
                let (text, size) = w.room();
                tercel_connection_error(connection, text.cast(), size);
            }
        }
    }
}
