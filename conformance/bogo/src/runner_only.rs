//! Settings of the library that only this runner wants: hints of groups, and padding by the server.
//!
//! The library has them as test seams (CONTRIBUTING.md, "Test seams"), so the shim has them only if it is built with the
//! feature `runner` and with debug assertions, as `just bogo` builds it. Otherwise tests of them are not implemented.

#[cfg(all(feature = "runner", debug_assertions))]
pub(crate) use with_seams::{client, server, server_padding};
#[cfg(not(all(feature = "runner", debug_assertions)))]
pub(crate) use without_seams::{client, server, server_padding};

#[cfg(all(feature = "runner", debug_assertions))]
mod with_seams {
    use tercel::{ClientConfigBuilder, Facts, ServerConfigBuilder};

    use crate::choices::server_groups;
    use crate::options::{Options, Unfit};

    /// The client's settings.
    pub(crate) fn client(
        builder: ClientConfigBuilder,
        options: &Options,
    ) -> Result<ClientConfigBuilder, Unfit> {
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
    ) -> Result<ServerConfigBuilder, Unfit> {
        Ok(builder.answer_server_padding(options.answer_server_padding))
    }

    /// Whether the server sent padding.
    pub(crate) fn server_padding(facts: &Facts) -> bool {
        facts.got_server_padding()
    }
}

#[cfg(not(all(feature = "runner", debug_assertions)))]
mod without_seams {
    use tercel::{ClientConfigBuilder, Facts, ServerConfigBuilder};

    use crate::choices::server_groups;
    use crate::options::{Options, Unfit};

    pub(crate) fn client(
        builder: ClientConfigBuilder,
        options: &Options,
    ) -> Result<ClientConfigBuilder, Unfit> {
        if server_groups(options).is_empty() && options.request_server_padding.is_none() {
            Ok(builder)
        } else {
            Err(missing())
        }
    }

    pub(crate) fn server(
        builder: ServerConfigBuilder,
        options: &Options,
    ) -> Result<ServerConfigBuilder, Unfit> {
        if options.answer_server_padding { Err(missing()) } else { Ok(builder) }
    }

    pub(crate) fn server_padding(_: &Facts) -> bool {
        false
    }

    fn missing() -> Unfit {
        Unfit::Unimplemented("a setting for this runner, in a shim built without it".to_owned())
    }
}
