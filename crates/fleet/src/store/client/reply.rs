//! Error replies of a store. Some of them mean that the store cannot be used.

use redis::{ErrorKind, RedisError};

/// Error codes of a store that cannot be used at all now, and their meaning.
const UNUSABLE: [(&str, &str); 7] = [
    ("MOVED", "member of a cluster, which is not supported"),
    ("ASK", "member of a cluster, which is not supported"),
    ("CLUSTERDOWN", "member of a cluster, which is not supported"),
    ("READONLY", "read-only replica; configure the address of the primary"),
    ("LOADING", "still loading its data"),
    ("MASTERDOWN", "replica that has lost its primary"),
    ("NOAUTH", "password required"),
];

/// The error for the log, with its meaning if the whole store is affected.
pub(crate) fn reason(error: &RedisError) -> String {
    let code = code(error);
    match UNUSABLE.iter().find(|(known, _)| *known == code) {
        Some((_, meaning)) => format!("{code}: {meaning}"),
        None => code,
    }
}

/// Whether the error affects the whole store, not one command only.
pub(crate) fn makes_store_unusable(error: &RedisError) -> bool {
    let codes = codes(error);
    if codes.is_empty() {
        return error.kind() != ErrorKind::UnexpectedReturnType;
    }
    codes.iter().any(|code| UNUSABLE.iter().any(|(known, _)| known == code))
}

/// The error code. The rest of the reply is omitted: it may repeat parts of the request.
pub(crate) fn code(error: &RedisError) -> String {
    codes(error).into_iter().next().unwrap_or_else(|| error.category().to_owned())
}

/// The codes of all errors in one reply.
pub(crate) fn codes(error: &RedisError) -> Vec<String> {
    if let Some(code) = error.code() {
        return vec![code.to_owned()];
    }
    let errors = error.clone().into_server_errors();
    errors.iter().flat_map(|errors| errors.iter()).map(|(_, one)| one.code().to_owned()).collect()
}
