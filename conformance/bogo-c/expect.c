// Checks the result of a handshake against the runner's expectations.

#include <string.h>

#include "shim.h"

static void require(bool holds, const char *what) {
    if (!holds) {
        fail(what);
    }
}

static bool is(int64_t wanted, uint64_t found) {
    return wanted < 0 || (uint64_t)wanted == found;
}

// Whether BoringSSL's name for the result of early data fits. The library reports less: one or several names fit.
static bool reason_fits(const options *options, tercel_connection *connection, const char *wanted) {
    uint64_t early = tercel_connection_fact(connection, TERCEL_FACT_EARLY_DATA);
    bool resumed = tercel_connection_fact(connection, TERCEL_FACT_RESUMED);
    bool retried = tercel_connection_fact(connection, TERCEL_FACT_RETRIED);
    bool tls13 = tercel_connection_fact(connection, TERCEL_FACT_VERSION) == 0x0304;
    int64_t skew = (int64_t)tercel_connection_fact(connection, TERCEL_FACT_TICKET_AGE_SKEW);
    const char *name, *other = "";
    if (early == TERCEL_EARLY_DATA_ACCEPTED) {
        name = "accept";
    } else if (!options->enable_early_data) {
        name = "disabled";
    } else if (early == TERCEL_EARLY_DATA_REJECTED) {
        if (!resumed && (options->server || !retried)) {
            name = "session_not_resumed";
        } else if (retried) {
            name = "hello_retry_request";
        } else if (!options->server) {
            name = "peer_declined";
        } else if (skew > 60000 || skew < -60000) {
            name = "ticket_age_skew";
        } else {
            name = "alpn_mismatch";
            other = "unsupported_for_session";
        }
    } else if (!tls13) {
        name = "protocol_version";
    } else if (!resumed) {
        name = "no_session_offered";
    } else if (options->server) {
        name = "peer_declined";
    } else {
        name = "unsupported_for_session";
        other = "alpn_mismatch";
    }
    return strcmp(wanted, name) == 0 || strcmp(wanted, other) == 0;
}

static void check_early_data(test *test, tercel_connection *connection) {
    uint64_t early = tercel_connection_fact(connection, TERCEL_FACT_EARLY_DATA);
    const options *options = test->options;
    require(!options->expect_accept_early_data || early == TERCEL_EARLY_DATA_ACCEPTED, "unexpected rejection of early data");
    require(!options->expect_reject_early_data || early != TERCEL_EARLY_DATA_ACCEPTED, "unexpected early data");
    require(!test->resumes || !options->expect_no_offer_early_data || early == TERCEL_EARLY_DATA_NOT_OFFERED,
            "unexpected offer of early data");
    const char *reason = test->checked->expect_early_data_reason;
    require(reason == NULL || reason_fits(options, connection, reason), "unexpected reason for early data");
}

// Whether the peer's chain is the one of a PEM file: the chain is compared with that of a credential made from it.
static bool is_chain(const char *path, tercel_connection *connection) {
    bytes pem = read_file(path);
    size_t at = 0;
    const char *text = (const char *)pem.data;
    const char begin[] = "-----BEGIN CERTIFICATE-----", end[] = "-----END CERTIFICATE-----";
    while ((text = strstr(text, begin)) != NULL) {
        const char *stop = strstr(text, end);
        if (stop == NULL) {
            return false;
        }
        text += sizeof begin - 1;
        char *letters = allocate((size_t)(stop - text) + 1);
        size_t len = 0;
        for (; text < stop; text++) {
            if (*text > ' ') {
                letters[len++] = *text;
            }
        }
        if (!same_as(base64(letters), tercel_connection_fact_bytes(connection, TERCEL_FACT_CERTIFICATE, at++))) {
            return false;
        }
    }
    return tercel_connection_fact_bytes(connection, TERCEL_FACT_CERTIFICATE, at).data == NULL;
}

static void check_peer(test *test, tercel_connection *connection) {
    const options *options = test->checked;
    bool has_chain = tercel_connection_fact_bytes(connection, TERCEL_FACT_CERTIFICATE, 0).data != NULL;
    bool has_psk = tercel_connection_fact_bytes(connection, TERCEL_FACT_PSK_IDENTITY, 0).data != NULL;
    bool asked = !options->server || options->require_client_certificate;
    require(!has_psk || !has_chain, "a certificate with a pre-shared key");
    require(!options->expect_no_peer_cert || !has_chain, "an unexpected certificate");
    require(options->expect_no_peer_cert || !asked || has_psk || has_chain, "no certificate");
    require(options->expect_peer_cert_file == NULL || is_chain(options->expect_peer_cert_file, connection),
            "an unexpected chain");
    require(options->expect_ocsp_response.len == 0 ||
                same_as(options->expect_ocsp_response,
                        tercel_connection_fact_bytes(connection, TERCEL_FACT_OCSP_RESPONSE, 0)),
            "an unexpected OCSP response");
    require(options->expect_timestamps.len == 0 ||
                same_as(options->expect_timestamps, tercel_connection_fact_bytes(connection, TERCEL_FACT_TIMESTAMPS, 0)),
            "unexpected certificate timestamps");
    // A server must have negotiated the protocol that it selects, and a client the expected one.
    bytes protocol = options->server ? options->select_alpn : options->expect_alpn;
    require(same_as(protocol, tercel_connection_fact_bytes(connection, TERCEL_FACT_ALPN, 0)), "an unexpected protocol");
    if (options->expect_server_name != NULL) {
        bytes name = copy_bytes(options->expect_server_name, strlen(options->expect_server_name));
        require(same_as(name, tercel_connection_fact_bytes(connection, TERCEL_FACT_SERVER_NAME, 0)),
                "an unexpected server name");
    }
}

// The number of the credential or key that was selected, -1 if there is none.
static int selected(test *test, tercel_connection *connection) {
    tercel_bytes identity = tercel_connection_fact_bytes(connection, TERCEL_FACT_PSK_IDENTITY, 0);
    for (size_t at = 0; at < test->psk_count && identity.data != NULL; at++) {
        if (same_as(test->psks[at].identity, identity)) {
            return test->psks[at].number;
        }
    }
    return test->has_selected ? test->selected : -1;
}

void check_handshake(test *test, tercel_connection *connection) {
    const options *options = test->checked;
    if (test->fault != NULL) {
        fail(test->fault);
    }
    bool of_request = options->expect_certificate_types.len > 0 || options->expect_peer_verify_prefs.count > 0 ||
                      options->expect_client_ca_list != NULL;
    require(!of_request || test->requested, "no credential was requested");
    uint64_t suite = tercel_connection_fact(connection, TERCEL_FACT_CIPHER_SUITE);
    bool resumed = tercel_connection_fact(connection, TERCEL_FACT_RESUMED);
    bool retried = tercel_connection_fact(connection, TERCEL_FACT_RETRIED);
    require(is(options->expect_version, tercel_connection_fact(connection, TERCEL_FACT_VERSION)), "unexpected version");
    require(is(options->expect_cipher, suite), "unexpected cipher suite");
    require(is(has_fast_aes() ? options->expect_cipher_aes : options->expect_cipher_no_aes, suite),
            "unexpected cipher suite");
    require(is(options->expect_curve_id, tercel_connection_fact(connection, TERCEL_FACT_GROUP)), "unexpected group");
    require(is(options->expect_peer_signature_algorithm,
               tercel_connection_fact(connection, TERCEL_FACT_PEER_SIGNATURE_SCHEME)),
            "unexpected signature scheme");
    require(!options->expect_hrr || retried, "no retry");
    require(!options->expect_no_hrr || !retried, "an unexpected retry");
    require(resumed == (test->resumes && !options->expect_session_miss), "unexpected resumption");
    require(!options->expect_extended_master_secret ||
                tercel_connection_fact(connection, TERCEL_FACT_EXTENDED_MAIN_SECRET),
            "no extended main secret");
    bool secure = tercel_connection_fact(connection, TERCEL_FACT_SECURE_RENEGOTIATION);
    require(!options->expect_secure_renegotiation || secure, "no secure renegotiation");
    require(!options->expect_no_secure_renegotiation || !secure, "unexpected secure renegotiation");
    require(options->expect_selected_credential == INT64_MIN ||
                options->expect_selected_credential == selected(test, connection),
            "unexpected credential");
    if (resumed && options->expect_ticket_age_skew != 0) {
        int64_t skew = (int64_t)tercel_connection_fact(connection, TERCEL_FACT_TICKET_AGE_SKEW);
        require(skew / 1000 == options->expect_ticket_age_skew, "unexpected age of the ticket");
    }
    check_early_data(test, connection);
    check_peer(test, connection);
    // The verifier is not called if the peer sent no certificate, which counts as verified. The certificate of a
    // resumed session is verified again only if the test requires it.
    bool has_chain = tercel_connection_fact_bytes(connection, TERCEL_FACT_CERTIFICATE, 0).data != NULL;
    bool unasked = resumed && !options->reverify_on_resume;
    if (options->expect_verify_result) {
        bool found = test->has_verified ? test->verified : !options->verify_fail && (!has_chain || unasked);
        require((test->has_verified || !has_chain || unasked) && (!test->has_verified || found == !options->verify_fail),
                "unexpected verification result");
    }
    // A client verifies the certificate of a session before it offers it. If the session is not resumed, it also
    // verifies the certificate of the full handshake.
    require(test->verifications <= (options->reverify_on_resume && !resumed ? 2u : 1u), "too many verifications");
}

void check_sessions(test *test, tercel_connection *connection, size_t new_before, size_t stored_before) {
    const options *options = test->checked;
    bool tls12 = tercel_connection_fact(connection, TERCEL_FACT_VERSION) == 0x0303;
    if (!options->server && tls12) {
        bool resumed = tercel_connection_fact(connection, TERCEL_FACT_RESUMED);
        bool renews = !resumed || options->expect_ticket_renewal;
        bool new_session = test->shared->new_sessions > new_before;
        require(new_session == (renews && !options->expect_no_session), "unexpected presence of a new session");
    }
    if (!test->resumes) {
        bool stored = test->shared->ever_stored > stored_before;
        require(!options->expect_session_id || stored, "the session is not stored");
        require(!options->expect_no_session_id || !stored, "the session is stored");
    }
}

void check_tickets(test *test, tercel_connection *connection, size_t new_before) {
    const options *options = test->checked;
    if (options->server || tercel_connection_fact(connection, TERCEL_FACT_VERSION) != 0x0304) {
        return;
    }
    bool came = test->shared->new_sessions > new_before;
    require(came == (!options->expect_no_session && !options->shim_shuts_down), "unexpected presence of a new session");
    if (!came || test->shared->session.len == 0) {
        return;
    }
    bytes session = test->shared->session;
    if (options->expect_across_names || options->expect_not_across_names) {
        require(offers_across_names(test, session) == options->expect_across_names, "unexpected use under another name");
    }
    require(allows_early_data(test, session) == options->expect_ticket_supports_early_data,
            "unexpected early data with the session");
}
