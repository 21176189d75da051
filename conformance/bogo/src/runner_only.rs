//! Settings of the library for this runner only: hints of groups, and padding by the server.
//!
//! These settings are test seams (CONTRIBUTING.md, "Test seams"), so the shim has them only if it
//! is built with the feature `runner` and with debug assertions, as `just bogo` does. Otherwise the
//! shim answers that their tests are not implemented.

#[cfg(all(feature = "runner", debug_assertions))]
pub(crate) use with_seams::{client, server, server_padding};
#[cfg(not(all(feature = "runner", debug_assertions)))]
pub(crate) use without_seams::{client, server, server_padding};

#[cfg(all(feature = "runner", debug_assertions))]
mod with_seams {
    use tercel::{ConnectionInfo, client::ClientConfigBuilder, server::ServerConfigBuilder};

    use crate::choices::server_groups;
    use crate::options::{Options, Unsupported};

    /// The client's settings.
    pub(crate) fn client(
        builder: ClientConfigBuilder,
        options: &Options,
    ) -> Result<ClientConfigBuilder, Unsupported> {
        let builder = builder.server_groups_hint(&server_groups(options));
        Ok(match options.request_server_padding {
            Some(bytes) => builder.request_server_padding(bytes),
            None => builder,
        })
    }

    /// The server's settings.
    pub(crate) fn server(
        builder: ServerConfigBuilder,
        options: &Options,
    ) -> Result<ServerConfigBuilder, Unsupported> {
        Ok(builder.answer_server_padding(options.answer_server_padding))
    }

    /// Whether the server sent padding.
    pub(crate) fn server_padding(info: &ConnectionInfo) -> bool {
        info.got_server_padding()
    }
}

#[cfg(not(all(feature = "runner", debug_assertions)))]
mod without_seams {
    use tercel::{ConnectionInfo, client::ClientConfigBuilder, server::ServerConfigBuilder};

    use crate::choices::server_groups;
    use crate::options::{Options, Unsupported};

    pub(crate) fn client(
        builder: ClientConfigBuilder,
        options: &Options,
    ) -> Result<ClientConfigBuilder, Unsupported> {
        if server_groups(options).is_empty() && options.request_server_padding.is_none() {
            Ok(builder)
        } else {
            Err(missing())
        }
    }

    pub(crate) fn server(
        builder: ServerConfigBuilder,
        options: &Options,
    ) -> Result<ServerConfigBuilder, Unsupported> {
        if options.answer_server_padding { Err(missing()) } else { Ok(builder) }
    }

    pub(crate) fn server_padding(_: &ConnectionInfo) -> bool {
        false
    }

    fn missing() -> Unsupported {
        Unsupported::Unimplemented("a setting for this runner, without the feature".to_owned())
    }
}
