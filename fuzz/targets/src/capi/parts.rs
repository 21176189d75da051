//! Calls of functions for configurations, their parts, and buffers.

use std::ptr;

use tercel_capi::config::*;
use tercel_capi::credential::*;
use tercel_capi::input::*;
use tercel_capi::output::*;
use tercel_capi::psk::*;
use tercel_capi::roots::*;
use tercel_capi::status::*;
use tercel_capi::tickets::*;
use tercel_capi::version::tercel_version;

use super::world::World;

/// Calls the function with this number.
pub(super) fn call(w: &mut World<'_>, number: u8) {
    // SAFETY: see `capi`.
    unsafe {
        match number {
            0 => {
                let status = u32::try_from(w.any() & 0xffff_ffff).unwrap_or_default();
                assert!(!tercel_status_text(status).is_null() && !tercel_version().is_null());
                assert!(tercel_status_alert(status) >= -1);
                assert_eq!(tercel_status_class(status) & 0xff_ffff, 0);
            }
            1..=9 => parts(w, number),
            10..=24 => credentials(w, number),
            25..=44 => builders(w, number),
            _ => buffers(w, number),
        }
    }
}

unsafe fn parts(w: &mut World<'_>, number: u8) {
    unsafe {
        match number {
            1 => {
                let ((data, len), mut made) = (w.data(), ptr::null());
                tercel_roots_from_pem(data, len, &mut made);
                w.roots.extend((!made.is_null()).then_some(made));
            }
            2 => {
                let roots = w.roots();
                tercel_roots_release(tercel_roots_retain(roots));
                _ = tercel_roots_system(ptr::null_mut());
            }
            3 => {
                let (seconds, mut made) = (w.small(), ptr::null());
                tercel_tickets_rotating(u32::try_from(seconds).unwrap_or_default(), &mut made);
                w.tickets.extend((!made.is_null()).then_some(made));
            }
            4 => {
                let ((data, len), mut made) = (w.data(), ptr::null());
                tercel_tickets_shared(data, len, 60, &mut made);
                w.tickets.extend((!made.is_null()).then_some(made));
            }
            5 => {
                let tickets = w.pick(|world| &world.tickets).unwrap_or(ptr::null());
                let (data, len) = w.data();
                tercel_tickets_set_keys(tickets, data, len);
                tercel_tickets_release(tercel_tickets_retain(tickets));
            }
            6 => {
                let (identity, key, mut made) = (w.data(), w.data(), ptr::null());
                let hash = w.small() as Hash;
                tercel_psk_external(identity.0, identity.1, key.0, key.1, hash, &mut made);
                w.psks.extend((!made.is_null()).then_some(made));
            }
            7 => {
                let (identity, context, key) = (w.data(), w.data(), w.data());
                let (hash, mut made) = (w.small() as Hash, ptr::null());
                tercel_psk_import(
                    identity.0, identity.1, context.0, context.1, key.0, key.1, hash, &mut made,
                );
                w.psks.extend((!made.is_null()).then_some(made));
            }
            _ => {
                let psk = w.pick(|world| &world.psks).unwrap_or(ptr::null());
                tercel_psk_release(tercel_psk_retain(psk));
            }
        }
    }
}

unsafe fn credentials(w: &mut World<'_>, number: u8) {
    unsafe {
        let (credential, (data, len), mut made) = (w.credential(), w.data(), ptr::null());
        match number {
            10 => {
                let (key, key_len) = w.data();
                tercel_credential_from_pem(data, len, key, key_len, &mut made);
            }
            11 => _ = tercel_credential_external(data, len, &mut made),
            12 => _ = tercel_credential_with_ocsp_response(credential, data, len, &mut made),
            13 => _ = tercel_credential_with_timestamps(credential, data, len, &mut made),
            14 => {
                let schemes = [0x0403, w.small() as u16];
                tercel_credential_with_schemes(credential, schemes.as_ptr(), len.min(2), &mut made);
            }
            15 => _ = tercel_credential_with_matching_issuer(credential, &mut made),
            _ => tercel_credential_release(tercel_credential_retain(credential)),
        }
        w.credentials.extend((!made.is_null()).then_some(made));
    }
}

unsafe fn builders(w: &mut World<'_>, number: u8) {
    unsafe {
        let builder = w.builder();
        match number {
            25 => {
                let side = w.small() as u32;
                let made = tercel_config_builder_new(side);
                w.builders.extend((!made.is_null()).then_some(made));
            }
            26 => {
                let (option, value) = (w.small() as u32, w.any());
                // A replay guard allocates as much as it is asked for.
                tercel_config_builder_set_option(builder, option, value & 0xff_ffff);
            }
            27 => {
                let codes: Vec<u16> = (0..w.small()).map(|_| w.any() as u16).collect();
                let list = w.small() as u32;
                tercel_config_builder_set_list(builder, list, codes.as_ptr(), codes.len());
            }
            28 => {
                let (content, (data, len)) = (w.small() as u32, w.data());
                tercel_config_builder_set_content(builder, content, data, len);
            }
            29 => _ = tercel_config_builder_set_roots(builder, w.roots()),
            30 => _ = tercel_config_builder_add_credential(builder, w.credential()),
            31 => {
                let tickets = w.pick(|world| &world.tickets).unwrap_or(ptr::null());
                tercel_config_builder_set_tickets(builder, tickets);
            }
            32 => {
                let psk = w.pick(|world| &world.psks).unwrap_or(ptr::null());
                tercel_config_builder_add_psk(builder, psk);
            }
            33 => _ = tercel_config_builder_set_questions(builder, w.small() as u32),
            34 => _ = tercel_config_builder_set_key_log(builder, None, ptr::null_mut()),
            35 => _ = tercel_config_builder_set_clock(builder, None, ptr::null_mut()),
            36..=38 => {
                let mut made = ptr::null();
                tercel_config_builder_build(builder, &mut made);
                w.configs.extend((!made.is_null()).then_some(made));
            }
            39 => {
                let (text, size) = w.room();
                tercel_config_builder_error(builder, text.cast(), size);
            }
            40 => {
                w.builders.retain(|each| *each != builder);
                tercel_config_builder_free(builder);
            }
            _ => {
                let config = w.config();
                tercel_config_release(tercel_config_retain(config));
            }
        }
    }
}

unsafe fn buffers(w: &mut World<'_>, number: u8) {
    unsafe {
        let (input, output) = (w.input(), w.output());
        match number {
            45 => w.inputs.push(tercel_input_new(w.out.len())),
            46 => w.outputs.push(tercel_output_new()),
            47 => {
                // The first two are needed to the end.
                w.inputs.retain(|each| *each != input);
                w.inputs.insert(0, tercel_input_new(0));
                tercel_input_free(input);
            }
            48 => {
                w.outputs.retain(|each| *each != output);
                w.outputs.insert(0, tercel_output_new());
                tercel_output_free(output);
            }
            49 => {
                let place = w.place(|world| &mut world.sizes[0]);
                let space = tercel_input_space(input, place);
                let count = w.small();
                if !space.is_null() && count <= w.sizes[0] {
                    space.write_bytes(7, count);
                }
                tercel_input_filled(input, count);
            }
            50 => {
                let (data, len) = w.data();
                tercel_input_append(input, data, len);
            }
            51 => _ = tercel_input_unread(input),
            52 => _ = tercel_input_release(input),
            53 => _ = tercel_output_bytes(output),
            54 => _ = tercel_output_sent(output, w.small()),
            _ => _ = tercel_output_release(output),
        }
    }
}
