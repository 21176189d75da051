//! Alerts, as callbacks for information see them.

use core::ffi::c_int;

use tercel::error::Error;
use tercel::wire::AlertDescription;

use super::Ssl;
use super::state::{Side, Stage};
use crate::settings::options::RECEIVED_SHUTDOWN;

pub(crate) const WARNING: u8 = 1;
pub(crate) const FATAL: u8 = 2;
pub(crate) const CLOSE_NOTIFY: u8 = 0;
pub(crate) const ILLEGAL_PARAMETER: u8 = 47;
pub(crate) const DECODE_ERROR: u8 = 50;
pub(crate) const INTERNAL_ERROR: u8 = 80;
pub(crate) const NO_APPLICATION_PROTOCOL: u8 = 120;

const CB_EXIT: c_int = 2;
const CB_LOOP: c_int = 1;
const CB_READ_ALERT: c_int = 0x4004;
const CB_WRITE_ALERT: c_int = 0x4008;
const CB_HANDSHAKE_START: c_int = 0x10;
const CB_HANDSHAKE_DONE: c_int = 0x20;
const ST_CONNECT: c_int = 0x1000;
const ST_ACCEPT: c_int = 0x2000;

impl Ssl {
    /// Calls the program's function for information, of the connection or else of its context.
    fn inform(&self, place: c_int, value: c_int) {
        let callbacks = self.settings().callbacks;
        let Some(info) = callbacks.own_info.or(callbacks.info) else { return };
        // SAFETY: the program set this function for these arguments. No cell is borrowed.
        self.outside(|| unsafe { info(self.address(), place, value) });
    }

    fn side_bits(&self) -> c_int {
        if self.side.get() == Some(Side::Server) { ST_ACCEPT } else { ST_CONNECT }
    }

    pub(crate) fn report_start(&self) {
        self.inform(CB_HANDSHAKE_START, 1);
    }

    pub(crate) fn report_progress(&self) {
        self.inform(self.side_bits() | CB_LOOP, 1);
    }

    /// Reports the end of the handshake. The program may read and write in its function, as Node
    /// does.
    pub(crate) fn report_done(&self) {
        self.with_io_allowed(|| self.inform(CB_HANDSHAKE_DONE, 1));
    }

    /// Reports that a call of the handshake returns.
    pub(crate) fn report_exit(&self, result: c_int) {
        self.inform(self.side_bits() | CB_EXIT, result);
    }

    /// Reports an alert that was read or written.
    pub(crate) fn report_alert(&self, read: bool, level: u8, description: u8) {
        let place = if read { CB_READ_ALERT } else { CB_WRITE_ALERT };
        self.inform(place, c_int::from(level) << 8 | c_int::from(description));
    }

    /// The peer sent a fatal alert. As with OpenSSL, the callback sees the connection before it
    /// fails, and reading ends as after close_notify.
    pub(super) fn alert_received(&self, error: Error, alert: AlertDescription) {
        self.report_alert(true, FATAL, alert.0);
        if !self.is_connected() {
            self.stage.replace(Stage::Failed);
        }
        self.fail(error);
        self.shutdown.set(self.shutdown.get() | RECEIVED_SHUTDOWN);
        self.remove_session();
    }
}
