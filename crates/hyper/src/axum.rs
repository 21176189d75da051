//! [`HttpsListener`] as a listener of axum.

use std::io;
use std::net::SocketAddr;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tercel_tokio::TlsStream;
use tokio::net::TcpStream;

use crate::info::ConnectInfo;
use crate::listener::HttpsListener;

impl Listener for HttpsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        Self::accept(self).await
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }
}

impl Connected<IncomingStream<'_, HttpsListener>> for ConnectInfo<SocketAddr> {
    fn connect_info(stream: IncomingStream<'_, HttpsListener>) -> Self {
        Self::new(*stream.remote_addr(), stream.io().info())
    }
}
