//! A server that answers each request by as many bytes as it asks for.

use quinn::{Connection, Endpoint, RecvStream, SendStream};

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

pub(crate) async fn run(endpoint: &Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            if let Ok(connection) = incoming.await {
                serve(&connection).await;
            }
        });
    }
}

async fn serve(connection: &Connection) {
    while let Ok((send, receive)) = connection.accept_bi().await {
        tokio::spawn(answer(send, receive));
    }
}

async fn answer(mut send: SendStream, mut receive: RecvStream) {
    let mut length = [0; 8];
    if receive.read_exact(&mut length).await.is_err() {
        return;
    }
    let mut left = u64::from_be_bytes(length);
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(ZEROS.len()).min(ZEROS.len());
        // The client stops or closes at the end of a measurement.
        if send.write_all(&ZEROS[..part]).await.is_err() {
            return;
        }
        left -= part as u64;
    }
    _ = send.finish();
}
