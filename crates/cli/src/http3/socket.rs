//! A UDP socket for one server, which reports when nothing listens at the other end.
//!
//! On Linux the socket is connected, so the operating system reports ICMP's "port unreachable".
//! quinn's own sockets are not connected, and ignore such errors.

use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::sync::Notify;

/// The socket of a client.
#[derive(Debug)]
pub(super) struct ClientSocket {
    socket: UdpSocket,
    state: UdpSocketState,
    refused: AtomicBool,
    notify: Notify,
}

impl ClientSocket {
    /// Creates a socket for this server. It has to be called within a tokio runtime.
    pub(super) fn new(server: SocketAddr) -> io::Result<Self> {
        let any: SocketAddr = match server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = std::net::UdpSocket::bind(any)?;
        socket.set_nonblocking(true)?;
        // Other systems may refuse to send to an address over a connected socket, as quinn does.
        if cfg!(target_os = "linux") {
            socket.connect(server)?;
        }
        let state = UdpSocketState::new((&socket).into())?;
        let socket = UdpSocket::from_std(socket)?;
        Ok(Self { socket, state, refused: AtomicBool::new(false), notify: Notify::new() })
    }

    /// Disregards what was reported so far.
    pub(super) fn reset(&self) {
        self.refused.store(false, Ordering::Release);
    }

    /// Waits until the machine of the server has reported that nothing listens on the port.
    pub(super) async fn refused(&self) {
        let mut notified = std::pin::pin!(self.notify.notified());
        notified.as_mut().enable();
        if !self.refused.load(Ordering::Acquire) {
            notified.await;
        }
    }

    fn note(&self, error: &io::Error) {
        if error.kind() == io::ErrorKind::ConnectionRefused {
            self.refused.store(true, Ordering::Release);
            self.notify.notify_waiters();
        }
    }
}

impl AsyncUdpSocket for ClientSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Writable { socket: self, waiting: None })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let sent = self
            .socket
            .try_io(Interest::WRITABLE, || self.state.try_send((&self.socket).into(), transmit));
        match sent {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
            // QUIC treats a packet that cannot be sent as a lost one.
            Err(error) => {
                self.note(&error);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.socket.poll_recv_ready(context))?;
            let received = self.socket.try_io(Interest::READABLE, || {
                self.state.recv((&self.socket).into(), buffers, meta)
            });
            match received {
                Ok(count) => return Poll::Ready(Ok(count)),
                Err(error) => self.note(&error),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }
}

/// Waits until the socket may be writable.
struct Writable {
    socket: Arc<ClientSocket>,
    waiting: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>>,
}

impl UdpPoller for Writable {
    fn poll_writable(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { socket, waiting } = &mut *self;
        let waiting_now = waiting.get_or_insert_with(|| {
            let socket = Arc::clone(socket);
            Box::pin(async move { socket.socket.writable().await })
        });
        let result = ready!(waiting_now.as_mut().poll(context));
        *waiting = None;
        Poll::Ready(result)
    }
}

impl std::fmt::Debug for Writable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writable").finish_non_exhaustive()
    }
}
