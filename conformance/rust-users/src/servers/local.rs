//! Servers of this process, over tokio-native-tls and an acceptor of `tercel-native-tls`.

use std::future::Future;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_native_tls::TlsAcceptor;

use crate::certificates::Certificates;

/// Returns the body of each request.
pub(crate) async fn http(certificates: &Certificates) -> Result<u16> {
    serve(acceptor(certificates, &["h2", "http/1.1"])?, |acceptor, socket| async move {
        let stream = TokioIo::new(acceptor.accept(socket).await?);
        let server = auto::Builder::new(TokioExecutor::new());
        let served = server.serve_connection(stream, service_fn(echo)).await;
        served.map_err(anyhow::Error::from_boxed)
    })
    .await
}

async fn echo(request: hyper::Request<Incoming>) -> Result<hyper::Response<Full<Bytes>>> {
    let body = request.into_body().collect().await?.to_bytes();
    Ok(hyper::Response::new(Full::new(body)))
}

/// Returns each message.
pub(crate) async fn websocket(certificates: &Certificates) -> Result<u16> {
    serve(acceptor(certificates, &[])?, |acceptor, socket| async move {
        let stream = acceptor.accept(socket).await?;
        let mut socket = tokio_tungstenite::accept_async(stream).await?;
        while let Some(message) = socket.next().await {
            let message = message?;
            if message.is_binary() {
                socket.send(message).await?;
            }
        }
        Ok(())
    })
    .await
}

/// Sends and takes the bytes that clients of the comparison ask for.
pub(crate) async fn streams(certificates: &Certificates) -> Result<u16> {
    serve(acceptor(certificates, &[])?, |acceptor, socket| async move {
        socket.set_nodelay(true)?;
        timed_programs::streams::serve(acceptor.accept(socket).await?).await
    })
    .await
}

/// Takes messages after STARTTLS. RFC 3207
pub(crate) async fn smtp(certificates: &Certificates) -> Result<u16> {
    serve(acceptor(certificates, &[])?, |acceptor, socket| async move {
        let mut plain = BufReader::new(socket);
        plain.write_all(b"220 localhost\r\n").await?;
        if !answer_until(&mut plain, "STARTTLS", "250-localhost\r\n250 STARTTLS\r\n").await? {
            bail!("the client did not request TLS");
        }
        plain.write_all(b"220 ready\r\n").await?;
        let mut stream = BufReader::new(acceptor.accept(plain.into_inner()).await?);
        while answer_until(&mut stream, "DATA", "250 localhost\r\n").await? {
            stream.write_all(b"354 end with a line that is a dot\r\n").await?;
            stream.flush().await?;
            while line(&mut stream).await?.context("the message has no end")? != "." {}
            stream.write_all(b"250 taken\r\n").await?;
            stream.flush().await?;
        }
        Ok(())
    })
    .await
}

/// Answers commands until `end`. Returns false if the client ends the connection.
async fn answer_until<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufReader<S>,
    end: &str,
    extensions: &str,
) -> Result<bool> {
    while let Some(command) = line(stream).await? {
        let answer = match command.split(' ').next().unwrap_or_default() {
            command if command == end => return Ok(true),
            "EHLO" => extensions,
            "QUIT" => "221 bye\r\n",
            _ => "250 fine\r\n",
        };
        stream.write_all(answer.as_bytes()).await?;
        stream.flush().await?;
    }
    Ok(false)
}

async fn line<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufReader<S>,
) -> Result<Option<String>> {
    let mut line = String::new();
    let length = stream.read_line(&mut line).await?;
    Ok((length != 0).then(|| line.trim_end().to_owned()))
}

fn acceptor(certificates: &Certificates, alpn: &[&str]) -> Result<TlsAcceptor> {
    let mut builder = native_tls::TlsAcceptor::builder(certificates.identity()?);
    Ok(builder.accept_alpn(alpn).build()?.into())
}

/// Serves connections in tasks. Their errors are those of clients, which report them.
async fn serve<F: Future<Output = Result<()>> + Send + 'static>(
    acceptor: TlsAcceptor,
    serve: impl Fn(Arc<TlsAcceptor>, TcpStream) -> F + Send + 'static,
) -> Result<u16> {
    let listener = TcpListener::bind(("localhost", 0)).await?;
    let port = listener.local_addr()?.port();
    let acceptor = Arc::new(acceptor);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(Arc::clone(&acceptor), socket));
        }
    });
    Ok(port)
}
