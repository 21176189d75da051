//! The handles of an input, and its bytes.

use std::ptr;
use std::sync::OnceLock;

use tercel_capi::config::{
    Config, ConfigBuilder, codes, tercel_config_builder_add_credential,
    tercel_config_builder_build, tercel_config_builder_free, tercel_config_builder_new,
    tercel_config_builder_set_option, tercel_config_builder_set_questions,
    tercel_config_builder_set_roots, tercel_config_release,
};
use tercel_capi::connection::{Connection, tercel_connection_free};
use tercel_capi::credential::{Credential, tercel_credential_from_pem, tercel_credential_release};
use tercel_capi::entry::bytes::Bytes;
use tercel_capi::handshake::{
    Handshake, TERCEL_NEXT_ANSWER, TERCEL_NEXT_CONNECTED, tercel_handshake_advance,
    tercel_handshake_client, tercel_handshake_free, tercel_handshake_server,
    tercel_handshake_take_connection,
};
use tercel_capi::input::{Input, tercel_input_append, tercel_input_free, tercel_input_new};
use tercel_capi::output::{
    Output, tercel_output_bytes, tercel_output_free, tercel_output_new, tercel_output_sent,
};
use tercel_capi::psk::{Psk, tercel_psk_release};
use tercel_capi::question::{
    tercel_answer_credential, tercel_answer_early_data, tercel_answer_peer, tercel_answer_psk,
    tercel_answer_session,
};
use tercel_capi::roots::{Roots, tercel_roots_from_pem, tercel_roots_release};
use tercel_capi::status::codes::TERCEL_OK;
use tercel_capi::tickets::{Tickets, tercel_tickets_release};

use crate::material;
use crate::script::Script;

/// The handles that an input has made, with their places: a call selects one by its number.
pub(super) struct World<'a> {
    script: Script<'a>,
    pub(super) builders: Vec<*mut ConfigBuilder>,
    pub(super) configs: Vec<*const Config>,
    pub(super) roots: Vec<*const Roots>,
    pub(super) credentials: Vec<*const Credential>,
    pub(super) tickets: Vec<*const Tickets>,
    pub(super) psks: Vec<*const Psk>,
    pub(super) inputs: Vec<*mut Input>,
    pub(super) outputs: Vec<*mut Output>,
    pub(super) handshakes: Vec<*mut Handshake>,
    pub(super) connections: Vec<*mut Connection>,
    /// Places for results.
    pub(super) out: Vec<u8>,
    pub(super) bytes: [Bytes; 2],
    pub(super) number: u64,
    pub(super) sizes: [usize; 2],
    pub(super) word: u32,
    pub(super) connected: bool,
}

/// Handles that all inputs share.
struct Common {
    roots: *const Roots,
    credential: *const Credential,
    configs: [*const Config; 4],
}

// SAFETY: shared handles are used by any thread.
unsafe impl Send for Common {}
unsafe impl Sync for Common {}

impl Common {
    fn get() -> &'static Self {
        static COMMON: OnceLock<Common> = OnceLock::new();
        COMMON.get_or_init(|| {
            let [root, chain, key] = material::pem();
            let (mut roots, mut credential) = (ptr::null(), ptr::null());
            unsafe {
                assert_eq!(tercel_roots_from_pem(root.as_ptr(), root.len(), &mut roots), TERCEL_OK);
                let (chain, key) = (chain.as_bytes(), key.as_bytes());
                let status = tercel_credential_from_pem(
                    chain.as_ptr(),
                    chain.len(),
                    key.as_ptr(),
                    key.len(),
                    &mut credential,
                );
                assert_eq!(status, TERCEL_OK);
            }
            let config = |side, questions| unsafe {
                let builder = tercel_config_builder_new(side);
                tercel_config_builder_set_roots(builder, roots);
                tercel_config_builder_add_credential(builder, credential);
                tercel_config_builder_set_questions(builder, questions);
                tercel_config_builder_set_option(
                    builder,
                    codes::TERCEL_OPTION_SESSIONS,
                    codes::TERCEL_SESSIONS_GIVEN,
                );
                tercel_config_builder_set_option(builder, codes::TERCEL_OPTION_EARLY_DATA, 1);
                let mut config = ptr::null();
                assert_eq!(tercel_config_builder_build(builder, &mut config), TERCEL_OK);
                tercel_config_builder_free(builder);
                config
            };
            let asks = codes::TERCEL_ASK_VERIFY_PEER | codes::TERCEL_ASK_SELECT_CREDENTIAL;
            let stores = codes::TERCEL_ASK_FIND_SESSION
                | codes::TERCEL_ASK_FIND_PSK
                | codes::TERCEL_ASK_ADMIT_EARLY_DATA;
            let configs = [
                // The certificates have expired, so a client that does not ask refuses the server.
                config(codes::TERCEL_CLIENT, codes::TERCEL_ASK_VERIFY_PEER),
                config(codes::TERCEL_CLIENT, asks),
                config(codes::TERCEL_SERVER, 0),
                config(codes::TERCEL_SERVER, asks | stores),
            ];
            Common { roots, credential, configs }
        })
    }
}

impl<'a> World<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        Self {
            script: Script::new(input),
            builders: Vec::new(),
            configs: Vec::new(),
            roots: Vec::new(),
            credentials: Vec::new(),
            tickets: Vec::new(),
            psks: Vec::new(),
            inputs: (0..2).map(|_| tercel_input_new(0)).collect(),
            outputs: (0..2).map(|_| tercel_output_new()).collect(),
            handshakes: Vec::new(),
            connections: Vec::new(),
            out: vec![0; 20_000],
            bytes: [Bytes::default(); 2],
            number: 0,
            sizes: [0; 2],
            word: 0,
            connected: false,
        }
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.script.byte()
    }

    /// A small number of the input.
    pub(super) fn small(&mut self) -> usize {
        self.script.byte().unwrap_or_default().into()
    }

    /// Any number of the input.
    pub(super) fn any(&mut self) -> u64 {
        let bytes = self.script.take(8);
        bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// A pointer and a length: NULL, zero, or bytes of the input.
    pub(super) fn data(&mut self) -> (*const u8, usize) {
        match self.small() {
            0 => (ptr::null(), 0),
            1 => (ptr::null(), 5),
            2 => (self.out.as_ptr(), 0),
            3 => (self.out.as_ptr(), usize::MAX),
            length => {
                let data = self.script.take(length - 3);
                (data.as_ptr(), data.len())
            }
        }
    }

    /// Room for output: NULL, zero, or as large as the input says.
    pub(super) fn room(&mut self) -> (*mut u8, usize) {
        match self.small() {
            0 => (ptr::null_mut(), 0),
            1 => (ptr::null_mut(), 5),
            2 => (self.out.as_mut_ptr(), 0),
            length => (self.out.as_mut_ptr(), (length * length).min(self.out.len())),
        }
    }

    /// A place for a result, or NULL.
    pub(super) fn place<T>(&mut self, place: fn(&mut Self) -> &mut T) -> *mut T {
        if self.small() == 0 { ptr::null_mut() } else { place(self) }
    }

    /// A handle of a list, NULL if the number of the input is that of no handle.
    pub(super) fn pick<T: Copy>(&mut self, list: fn(&Self) -> &Vec<T>) -> Option<T> {
        let at = self.small();
        list(self).get(at).copied()
    }

    pub(super) fn builder(&mut self) -> *mut ConfigBuilder {
        self.pick(|world| &world.builders).unwrap_or(ptr::null_mut())
    }

    pub(super) fn input(&mut self) -> *mut Input {
        self.pick(|world| &world.inputs).unwrap_or(ptr::null_mut())
    }

    pub(super) fn output(&mut self) -> *mut Output {
        self.pick(|world| &world.outputs).unwrap_or(ptr::null_mut())
    }

    pub(super) fn handshake(&mut self) -> *mut Handshake {
        self.pick(|world| &world.handshakes).unwrap_or(ptr::null_mut())
    }

    pub(super) fn connection(&mut self) -> *mut Connection {
        self.pick(|world| &world.connections).unwrap_or(ptr::null_mut())
    }

    /// A configuration: one of all inputs, one of this input, or NULL.
    pub(super) fn config(&mut self) -> *const Config {
        let at = self.small();
        let common = Common::get().configs;
        let all = common.iter().chain(&self.configs);
        all.copied().nth(at).unwrap_or(ptr::null())
    }

    pub(super) fn roots(&mut self) -> *const Roots {
        let own = self.pick(|world| &world.roots);
        own.unwrap_or(if self.small() == 0 { ptr::null() } else { Common::get().roots })
    }

    pub(super) fn credential(&mut self) -> *const Credential {
        let own = self.pick(|world| &world.credentials);
        own.unwrap_or(if self.small() == 0 { ptr::null() } else { Common::get().credential })
    }

    /// Passes the bytes of an output to an input, perhaps only some of them.
    pub(super) fn deliver(&mut self) {
        let (output, input, most) = (self.output(), self.input(), self.small() * 64);
        move_bytes(output, input, most.max(1));
    }

    /// Makes a handshake in memory, without further instructions.
    pub(super) fn connect(&mut self, number: u8) {
        // SAFETY: see `capi`; all handles are made here.
        unsafe {
            let configs = Common::get().configs;
            let [mut client, mut server] = [ptr::null_mut(); 2];
            let name = c"server.test".as_ptr();
            let config = configs[usize::from(number & 1)];
            tercel_handshake_client(config, name, 11, 0, &mut client);
            tercel_handshake_server(configs[2 + usize::from(number >> 1 & 1)], &mut server);
            let (inputs, outputs) =
                ([self.inputs[0], self.inputs[1]], [self.outputs[0], self.outputs[1]]);
            let sides = [client, server];
            for round in 0..40 {
                let side = round % 2;
                let mut next = 0;
                let handshake = sides[side];
                let status =
                    tercel_handshake_advance(handshake, inputs[side], outputs[side], &mut next);
                move_bytes(outputs[side], inputs[1 - side], usize::MAX);
                if status == TERCEL_OK && next == TERCEL_NEXT_ANSWER {
                    self.answer(handshake);
                } else if status == TERCEL_OK && next == TERCEL_NEXT_CONNECTED {
                    let mut connection = ptr::null_mut();
                    tercel_handshake_take_connection(handshake, &mut connection);
                    self.connections.push(connection);
                    self.connected = true;
                }
            }
            self.handshakes.extend(sides);
        }
    }

    /// Answers whichever question is open.
    unsafe fn answer(&mut self, handshake: *mut Handshake) {
        let credential = Common::get().credential;
        // SAFETY: see `capi`.
        unsafe {
            tercel_answer_peer(handshake, TERCEL_OK, ptr::null(), 0);
            tercel_answer_credential(handshake, credential);
            tercel_answer_psk(handshake, ptr::null());
            tercel_answer_session(handshake, ptr::null(), 0);
            tercel_answer_early_data(handshake, 1);
        }
    }
}

/// Passes at most `most` bytes.
fn move_bytes(output: *mut Output, input: *mut Input, most: usize) {
    // SAFETY: see `capi`.
    unsafe {
        let bytes = tercel_output_bytes(output);
        let count = bytes.len.min(most);
        if tercel_input_append(input, bytes.data, count) == TERCEL_OK {
            tercel_output_sent(output, count);
        }
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        // SAFETY: see `capi`; the lists are not used again.
        unsafe {
            self.builders.iter().for_each(|handle| tercel_config_builder_free(*handle));
            self.configs.iter().for_each(|handle| tercel_config_release(*handle));
            self.roots.iter().for_each(|handle| tercel_roots_release(*handle));
            self.credentials.iter().for_each(|handle| tercel_credential_release(*handle));
            self.tickets.iter().for_each(|handle| tercel_tickets_release(*handle));
            self.psks.iter().for_each(|handle| tercel_psk_release(*handle));
            self.inputs.iter().for_each(|handle| tercel_input_free(*handle));
            self.outputs.iter().for_each(|handle| tercel_output_free(*handle));
            self.handshakes.iter().for_each(|handle| tercel_handshake_free(*handle));
            self.connections.iter().for_each(|handle| tercel_connection_free(*handle));
        }
    }
}
