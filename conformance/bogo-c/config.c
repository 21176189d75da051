// Makes the library's credentials, keys and configurations from options.

#include <string.h>

#include "shim.h"

static const tercel_credential *changed(const tercel_credential *credential, tercel_status status,
                                        const tercel_credential *copy) {
    // BoringSSL accepts values for credentials that the library refuses.
    if (status != TERCEL_OK) {
        unimplemented(tercel_status_text(status));
    }
    tercel_credential_release(credential);
    return copy;
}

static const tercel_credential *load_credential(const credential_options *from, const options *options) {
    const tercel_credential *credential, *copy;
    tercel_status status;
    if (from->cert_file == NULL || from->key_file == NULL) {
        fail("a credential without its files");
    }
    bytes chain = read_file(from->cert_file), key = read_file(from->key_file);
    status = tercel_credential_from_pem(chain.data, chain.len, key.data, key.len, &credential);
    if (status != TERCEL_OK) {
        unimplemented(tercel_status_text(status));
    }
    if (from->ocsp_response.len > 0 && !(options->server && options->decline_ocsp_callback)) {
        bytes response = from->ocsp_response;
        status = tercel_credential_with_ocsp_response(credential, response.data, response.len, &copy);
        credential = changed(credential, status, copy);
    }
    if (from->timestamps.len > 0) {
        status = tercel_credential_with_timestamps(credential, from->timestamps.data, from->timestamps.len, &copy);
        credential = changed(credential, status, copy);
    }
    list schemes = signing_schemes(from, options);
    if (schemes.set) {
        status = tercel_credential_with_schemes(credential, schemes.codes, schemes.count, &copy);
        credential = changed(credential, status, copy);
    }
    if (from->must_match_issuer) {
        status = tercel_credential_with_matching_issuer(credential, &copy);
        credential = changed(credential, status, copy);
    }
    return credential;
}

void load(test *test) {
    const options *options = test->options;
    for (size_t at = 0; at < options->credential_count; at++) {
        const credential_options *from = &options->credentials[at];
        if (from->psk.set) {
            numbered_psk *psk = &test->psks[test->psk_count++];
            psk->number = (int)at;
            psk->identity = from->psk.identity;
            need(tercel_psk_import(from->psk.identity.data, from->psk.identity.len, from->psk.context.data,
                                   from->psk.context.len, from->psk.key.data, from->psk.key.len,
                                   from->psk.sha384 ? TERCEL_HASH_SHA384 : TERCEL_HASH_SHA256, &psk->psk),
                 "psk");
        } else {
            numbered_credential *credential = &test->credentials[test->credential_count++];
            credential->number = (int)at;
            credential->credential = load_credential(from, options);
        }
    }
    if (options->credential.cert_file != NULL) {
        numbered_credential *credential = &test->credentials[test->credential_count++];
        credential->number = -1;
        credential->credential = load_credential(&options->credential, options);
    }
}

static void set_option(tercel_config_builder *builder, tercel_option option, uint64_t value) {
    need(tercel_config_builder_set_option(builder, option, value), "option");
}

static void set_list(tercel_config_builder *builder, tercel_list which, list list) {
    if (list.set && (list.count > 0 || which == TERCEL_LIST_KEY_SHARES)) {
        need(tercel_config_builder_set_list(builder, which, list.codes, list.count), "list");
    }
}

static uint64_t now(void *context) {
    return ((shared *)context)->clock;
}

// The settings that both sides have.
static tercel_config_builder *common(test *test, tercel_side side, const list *groups_of_client,
                                     const list *suites_of_client) {
    const options *options = test->options;
    tercel_config_builder *builder = tercel_config_builder_new(side);
    list enabled = versions(options);
    if (enabled.count == 0) {
        fail(":NO_SUPPORTED_VERSIONS_ENABLED:");
    }
    set_list(builder, TERCEL_LIST_VERSIONS, enabled);
    set_list(builder, TERCEL_LIST_GROUPS, groups(options, groups_of_client));
    set_list(builder, TERCEL_LIST_CIPHER_SUITES, suites(options, suites_of_client));
    set_list(builder, TERCEL_LIST_SIGNATURE_SCHEMES, verified_schemes(options));
    set_option(builder, TERCEL_OPTION_TOLERATE_TRUNCATION, !options->check_close_notify);
    set_option(builder, TERCEL_OPTION_VERIFY_RESUMED, options->reverify_on_resume);
    if (options->max_send_fragment > 0) {
        set_option(builder, TERCEL_OPTION_MAX_FRAGMENT, options->max_send_fragment);
    }
    // The runner passes sessions from one configuration to another.
    need(tercel_config_builder_set_content(builder, TERCEL_CONTENT_SESSION_CONTEXT, (const uint8_t *)"bogo", 4), "context");
    need(tercel_config_builder_set_clock(builder, now, test->shared), "clock");
    return builder;
}

static const tercel_config *build(tercel_config_builder *builder) {
    const tercel_config *config;
    if (tercel_config_builder_build(builder, &config) != TERCEL_OK) {
        char text[300];
        tercel_config_builder_error(builder, text, sizeof text);
        unimplemented(text);
    }
    tercel_config_builder_free(builder);
    return config;
}

const tercel_config *client_config(test *test, bool for_inspection) {
    const options *options = test->options;
    tercel_config_builder *builder = common(test, TERCEL_CLIENT, NULL, NULL);
    tercel_questions questions = 0;
    if (options->advertise_alpn.len > 0) {
        need(tercel_config_builder_set_content(builder, TERCEL_CONTENT_ALPN, options->advertise_alpn.data,
                                               options->advertise_alpn.len),
             "alpn");
    }
    for (size_t at = 0; at < test->psk_count; at++) {
        need(tercel_config_builder_add_psk(builder, test->psks[at].psk), "psk");
    }
    set_list(builder, TERCEL_LIST_KEY_SHARES, key_shares(options));
    set_option(builder, TERCEL_OPTION_REQUEST_OCSP, options->enable_ocsp_stapling);
    set_option(builder, TERCEL_OPTION_REQUEST_TIMESTAMPS, options->enable_timestamps);
    set_option(builder, TERCEL_OPTION_FALLBACK_SCSV, options->fallback_scsv);
    set_option(builder, TERCEL_OPTION_SHUFFLE_EXTENSIONS, options->permute_extensions);
    set_option(builder, TERCEL_OPTION_GREASE, options->grease);
    set_option(builder, TERCEL_OPTION_REQUIRE_SECURE_RENEGOTIATION, options->require_secure_renegotiation);
    set_option(builder, TERCEL_OPTION_SEND_SERVER_NAME, options->host_name != NULL);
    set_option(builder, TERCEL_OPTION_EARLY_DATA, options->enable_early_data || for_inspection);
    if (for_inspection) {
        // Whether the server is still trusted does not matter here.
        set_option(builder, TERCEL_OPTION_VERIFY_RESUMED, 0);
    }
    bool resumes = !options->no_ticket || for_inspection;
    set_option(builder, TERCEL_OPTION_SESSIONS, resumes ? TERCEL_SESSIONS_GIVEN : TERCEL_SESSIONS_NONE);
    // A client with pre-shared keys accepts certificates as well only if it has to verify them.
    if (test->psk_count == 0 || options->verify_peer) {
        questions |= TERCEL_ASK_VERIFY_PEER;
    }
    if (test->credential_count > 0 || options->expect_certificate_types.len > 0) {
        questions |= TERCEL_ASK_SELECT_CREDENTIAL;
    }
    need(tercel_config_builder_set_questions(builder, questions), "questions");
    return build(builder);
}

const tercel_config *greeting(test *test) {
    // Errors of configurations must be found before the connection.
    tercel_config_release(server_config(test, false, NULL, NULL));
    tercel_config_release(server_config(test, true, NULL, NULL));
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_SERVER);
    need(tercel_config_builder_set_questions(builder, TERCEL_ASK_CHOOSE_CONFIG), "questions");
    return build(builder);
}

const tercel_config *server_config(test *test, bool stored, const list *groups, const list *suites) {
    const options *options = test->options;
    tercel_config_builder *builder = common(test, TERCEL_SERVER, groups, suites);
    tercel_questions questions = TERCEL_ASK_VERIFY_PEER;
    bytes protocol = options->select_alpn;
    if (options->reject_alpn) {
        // No protocol is acceptable, so this is one that the runner never offers.
        protocol = copy_bytes("no such protocol", 16);
    }
    if (protocol.len > 0) {
        uint8_t *names = allocate(protocol.len + 1);
        names[0] = (uint8_t)protocol.len;
        memcpy(names + 1, protocol.data, protocol.len);
        need(tercel_config_builder_set_content(builder, TERCEL_CONTENT_ALPN, names, protocol.len + 1), "alpn");
    }
    set_option(builder, TERCEL_OPTION_CLIENT_AUTH,
               options->verify_peer                  ? TERCEL_CLIENT_AUTH_OPTIONAL
               : options->require_client_certificate ? TERCEL_CLIENT_AUTH_REQUIRED
                                                     : TERCEL_CLIENT_AUTH_NONE);
    // BoringSSL uses the server's order if a flag sets one.
    bool own_order = options->server_preference || options->cipher != NULL || options->policy == CNSA_202407 ||
                     options->policy == CNSA_1 || options->policy == CNSA_2;
    set_option(builder, TERCEL_OPTION_PREFER_CLIENT_ORDER, !own_order);
    set_option(builder, TERCEL_OPTION_ACKNOWLEDGE_SERVER_NAME, !options->no_server_name_ack);
    set_option(builder, TERCEL_OPTION_RESUMPTION_ACROSS_NAMES, options->across_names);
    need(tercel_config_builder_set_tickets(builder, test->shared->tickets), "tickets");
    if (options->no_ticket) {
        set_option(builder, TERCEL_OPTION_TICKETS, 0);
    }
    if (test->psk_count == 0 || test->credential_count > 0) {
        questions |= TERCEL_ASK_SELECT_CREDENTIAL;
    }
    if (test->psk_count > 0) {
        questions |= TERCEL_ASK_FIND_PSK;
    }
    if (stored) {
        questions |= TERCEL_ASK_FIND_SESSION;
    }
    if (options->enable_early_data) {
        // The limit that the runner assumes for a server.
        set_option(builder, TERCEL_OPTION_EARLY_DATA, 14336);
        questions |= TERCEL_ASK_ADMIT_EARLY_DATA;
        const uint8_t guard[16] = "BoringSSL runner";
        need(tercel_config_builder_set_content(builder, TERCEL_CONTENT_REPLAY_GUARD_ID, guard, 16), "guard");
    }
    need(tercel_config_builder_set_questions(builder, questions), "questions");
    return build(builder);
}

tercel_handshake *client_handshake(test *test, const tercel_config *config, const char *name) {
    tercel_handshake *handshake;
    (void)test;
    need(tercel_handshake_client(config, name, strlen(name), 0, &handshake), "-host-name");
    return handshake;
}

// Begins a connection that offers this session, and ends it after the first flight, which is written to the output.
static tercel_handshake *begin(test *test, bytes session, const char *name, tercel_output *output) {
    const tercel_config *config = client_config(test, true);
    tercel_handshake *handshake = client_handshake(test, config, name);
    tercel_input *input = tercel_input_new(0);
    tercel_next next;
    need(tercel_handshake_offer_session(handshake, session.data, session.len), "session");
    // Under another name, the certificate of the session is verified before the session is offered.
    while (tercel_handshake_advance(handshake, input, output, &next) == TERCEL_OK && next == TERCEL_NEXT_ANSWER) {
        need(tercel_answer_peer(handshake, TERCEL_OK, NULL, 0), "peer");
    }
    tercel_input_free(input);
    tercel_config_release(config);
    return handshake;
}

bool allows_early_data(test *test, bytes session) {
    const char *name = test->options->host_name != NULL ? test->options->host_name : "unnamed.test";
    tercel_output *output = tercel_output_new();
    tercel_handshake *handshake = begin(test, session, name, output);
    bool allowed = tercel_handshake_early_data_left(handshake) > 0;
    tercel_handshake_free(handshake);
    tercel_output_free(output);
    return allowed;
}

// Whether a ClientHello in one record has an extension of this type.
static bool has_extension(tercel_bytes record, unsigned wanted) {
    const uint8_t *data = record.data;
    // The headers of record and message, version, random, then three vectors.
    size_t at = 5 + 4 + 2 + 32;
    at += 1 + data[at];
    at += 2 + (size_t)(data[at] << 8 | data[at + 1]);
    at += 1 + data[at] + 2;
    while (at + 4 <= record.len) {
        if ((unsigned)(data[at] << 8 | data[at + 1]) == wanted) {
            return true;
        }
        at += 4 + (size_t)(data[at + 2] << 8 | data[at + 3]);
    }
    return false;
}

bool offers_across_names(test *test, bytes session) {
    tercel_output *output = tercel_output_new();
    tercel_handshake *handshake = begin(test, session, "another.test", output);
    bool offers = has_extension(tercel_output_bytes(output), 41);
    tercel_handshake_free(handshake);
    tercel_output_free(output);
    return offers;
}
