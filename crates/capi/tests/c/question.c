// Questions and answers.

#include "test.h"

static const tercel_credential *own_credential, *other_credential;
static const tercel_roots *trusted;
static const tercel_config *chosen;
static const tercel_psk *known_psk;
static tercel_status verdict;
static unsigned asked;
static int name_is_unknown;

static int is_text(tercel_bytes bytes, const char *text) {
    return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

static uint64_t number(endpoint *endpoint, tercel_field field, size_t index) {
    uint64_t value;
    EXPECT(TERCEL_OK, tercel_question_number(endpoint->handshake, field, index, &value));
    return value;
}

static tercel_bytes field(endpoint *endpoint, tercel_field field, size_t index) {
    return tercel_question_bytes(endpoint->handshake, field, index);
}

// Answers that are for other questions than the open one are refused, and the question remains open.
static void wrong_answers(endpoint *endpoint, tercel_question kind) {
    tercel_handshake *handshake = endpoint->handshake;
    tercel_status wrong = TERCEL_MISUSE_NO_SUCH_QUESTION;
    if (kind != TERCEL_QUESTION_CHOOSE_CONFIG) {
        EXPECT(wrong, tercel_answer_config(handshake, NULL));
    }
    if (kind != TERCEL_QUESTION_FIND_SESSION) {
        EXPECT(wrong, tercel_answer_session(handshake, NULL, 0));
        EXPECT(wrong, tercel_answer_claim(handshake, 0));
    }
    if (kind != TERCEL_QUESTION_FIND_PSK) {
        EXPECT(wrong, tercel_answer_psk(handshake, NULL));
    }
    if (kind != TERCEL_QUESTION_ADMIT_EARLY_DATA) {
        EXPECT(wrong, tercel_answer_early_data(handshake, 1));
    }
    if (kind != TERCEL_QUESTION_SELECT_CREDENTIAL) {
        EXPECT(wrong, tercel_answer_credential(handshake, NULL));
        EXPECT(wrong, tercel_answer_unknown_name(handshake));
    }
    if (kind != TERCEL_QUESTION_SIGN) {
        EXPECT(wrong, tercel_answer_signature(handshake, NULL, 0));
    }
    if (kind != TERCEL_QUESTION_VERIFY_PEER) {
        EXPECT(wrong, tercel_answer_peer(handshake, TERCEL_OK, NULL, 0));
        if (trusted != NULL) {
            EXPECT(wrong, tercel_question_verify_chain(handshake, trusted));
        }
    }
    EXPECT(TERCEL_MISUSE_QUESTION_OPEN,
           tercel_handshake_advance(handshake, endpoint->input, endpoint->output, &endpoint->next));
    CHECK(tercel_handshake_question(handshake) == kind);
    CHECK(field(endpoint, 9999, 0).data == NULL);
    uint64_t value = 7;
    EXPECT(TERCEL_MISUSE_INVALID_ARGUMENT, tercel_question_number(handshake, 9999, 0, &value));
    CHECK(value == 0);
}

static void answer(endpoint *endpoint) {
    tercel_handshake *handshake = endpoint->handshake;
    tercel_question kind = tercel_handshake_question(handshake);
    size_t index;
    asked |= 1u << kind;
    wrong_answers(endpoint, kind);
    if (kind == TERCEL_QUESTION_CHOOSE_CONFIG) {
        CHECK(field(endpoint, TERCEL_FIELD_CLIENT_HELLO, 0).len > 100);
        CHECK(is_text(field(endpoint, TERCEL_FIELD_SERVER_NAME, 0), "server.test"));
        CHECK(is_text(field(endpoint, TERCEL_FIELD_ALPN, 0), "a") && is_text(field(endpoint, TERCEL_FIELD_ALPN, 1), "bc"));
        CHECK(field(endpoint, TERCEL_FIELD_ALPN, 2).data == NULL);
        CHECK(number(endpoint, TERCEL_FIELD_VERSION, 0) == 0x0304);
        CHECK(number(endpoint, TERCEL_FIELD_CIPHER_SUITE, 0) != 0 && number(endpoint, TERCEL_FIELD_GROUP, 0) != 0);
        CHECK(number(endpoint, TERCEL_FIELD_SIGNATURE_SCHEME, 0) != 0);
        EXPECT(TERCEL_OK, tercel_answer_config(handshake, chosen));
    } else if (kind == TERCEL_QUESTION_SELECT_CREDENTIAL) {
        const tercel_credential *list[] = {other_credential, own_credential};
        EXPECT(TERCEL_OK, tercel_question_find_credential(handshake, list, 2, &index));
        CHECK(index == 0);
        CHECK(number(endpoint, TERCEL_FIELD_VERSION, 0) == 0x0304);
        if (field(endpoint, TERCEL_FIELD_SERVER_NAME, 0).data != NULL) {
            CHECK(is_text(field(endpoint, TERCEL_FIELD_ALPN, 0), "a") && is_text(field(endpoint, TERCEL_FIELD_ALPN, 1), "bc"));
            CHECK(number(endpoint, TERCEL_FIELD_CIPHER_SUITE, 0) != 0);
        } else {
            CHECK(field(endpoint, TERCEL_FIELD_ALPN, 0).data == NULL);
        }
        EXPECT(TERCEL_OK, name_is_unknown ? tercel_answer_unknown_name(handshake)
                                          : tercel_answer_credential(handshake, own_credential));
    } else if (kind == TERCEL_QUESTION_VERIFY_PEER) {
        CHECK(field(endpoint, TERCEL_FIELD_CERTIFICATE, 0).len > 100);
        CHECK(field(endpoint, TERCEL_FIELD_CERTIFICATE, 1).data == NULL);
        CHECK(number(endpoint, TERCEL_FIELD_TIME, 0) > 1700000000);
        if (trusted != NULL) {
            verdict = tercel_question_verify_chain(handshake, trusted);
        }
        EXPECT(TERCEL_MISUSE_INVALID_ARGUMENT, tercel_answer_peer(handshake, 1, NULL, 0));
        EXPECT(TERCEL_OK, tercel_answer_peer(handshake, verdict, "the list says no", 16));
    } else if (kind == TERCEL_QUESTION_FIND_PSK) {
        CHECK(field(endpoint, TERCEL_FIELD_IDENTITY, 0).len > 0);
        EXPECT(TERCEL_OK, tercel_question_find_psk(handshake, &known_psk, 1, &index));
        EXPECT(TERCEL_OK, tercel_answer_psk(handshake, index == 0 ? known_psk : NULL));
    } else if (kind == TERCEL_QUESTION_SIGN) {
        // The key is in another program.
        tercel_bytes content = field(endpoint, TERCEL_FIELD_CONTENT, 0);
        CHECK(number(endpoint, TERCEL_FIELD_SIGNATURE_SCHEME, 0) == 0x0403);
        CHECK(field(endpoint, TERCEL_FIELD_CERTIFICATE, 0).len > 100);
        char command[8192], path[4096];
        snprintf(path, sizeof path, "%s/content", getenv("MATERIAL"));
        FILE *file = fopen(path, "wb");
        CHECK(file != NULL && fwrite(content.data, 1, content.len, file) == content.len && fclose(file) == 0);
        snprintf(command, sizeof command, "openssl dgst -sha256 -sign %s/server.key -out %s/signature %s",
                 getenv("MATERIAL"), getenv("MATERIAL"), path);
        CHECK(system(command) == 0);
        memory signature = material("signature");
        EXPECT(TERCEL_OK, tercel_answer_signature(handshake, signature.data, signature.len));
        drop(&signature);
    } else {
        CHECK(0);
    }
    CHECK(tercel_handshake_question(handshake) == TERCEL_QUESTION_NONE);
    EXPECT(TERCEL_MISUSE_NO_SUCH_QUESTION, tercel_answer_peer(handshake, TERCEL_OK, NULL, 0));
    CHECK(field(endpoint, TERCEL_FIELD_CERTIFICATE, 0).data == NULL);
}

static void ask(tercel_config_builder *builder, tercel_questions questions) {
    EXPECT(TERCEL_OK, tercel_config_builder_set_questions(builder, questions));
}

static pair asking_pair(tercel_questions of_client, tercel_questions of_server) {
    const uint8_t protocols[] = {1, 'a', 2, 'b', 'c'};
    tercel_config_builder *builder = test_builder(TERCEL_CLIENT);
    ask(builder, of_client);
    EXPECT(TERCEL_OK, tercel_config_builder_set_content(builder, TERCEL_CONTENT_ALPN, protocols, sizeof protocols));
    const tercel_config *client = built(builder);
    builder = tercel_config_builder_new(TERCEL_SERVER);
    ask(builder, of_server);
    const tercel_config *server = built(builder);
    pair pair = new_pair(client, server);
    pair.answer = answer;
    tercel_config_release(client);
    tercel_config_release(server);
    return pair;
}

// The server's caller chooses a configuration, then a credential; both sides verify the other's certificate.
static void decisions(void) {
    asked = 0;
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_SERVER);
    set_option(builder, TERCEL_OPTION_CLIENT_AUTH, TERCEL_CLIENT_AUTH_REQUIRED);
    ask(builder, TERCEL_ASK_SELECT_CREDENTIAL | TERCEL_ASK_VERIFY_PEER);
    chosen = built(builder);
    own_credential = test_credential("server");
    other_credential = test_credential("second");
    trusted = test_roots();
    pair pair = asking_pair(TERCEL_ASK_VERIFY_PEER | TERCEL_ASK_SELECT_CREDENTIAL, TERCEL_ASK_CHOOSE_CONFIG);
    run_connected(&pair);
    CHECK(asked == ((1u << TERCEL_QUESTION_CHOOSE_CONFIG) | (1u << TERCEL_QUESTION_SELECT_CREDENTIAL) |
                    (1u << TERCEL_QUESTION_VERIFY_PEER)));
    CHECK(tercel_connection_fact_bytes(pair.server.connection, TERCEL_FACT_CERTIFICATE, 0).len > 100);
    free_pair(&pair);

    // No credential for the name. RFC 6066 3
    name_is_unknown = 1;
    pair = asking_pair(0, TERCEL_ASK_CHOOSE_CONFIG);
    CHECK(!run(&pair));
    EXPECT(TERCEL_INTERNAL_NO_CREDENTIAL_FOR_NAME, pair.server.status);
    EXPECT(TERCEL_CLASS_ALERT | 112, pair.client.status);
    free_pair(&pair);
    name_is_unknown = 0;

    // No configuration: the connection is refused.
    tercel_config_release(chosen);
    chosen = NULL;
    pair = asking_pair(0, TERCEL_ASK_CHOOSE_CONFIG);
    CHECK(!run(&pair));
    EXPECT(TERCEL_INTERNAL_REFUSED_BY_APPLICATION, pair.server.status);
    EXPECT(TERCEL_CLASS_ALERT | 49, pair.client.status);
    free_pair(&pair);

    // A configuration of the other side cannot be chosen.
    pair = asking_pair(0, TERCEL_ASK_CHOOSE_CONFIG);
    pair.answer = NULL;
    pair.server.status = TERCEL_OK;
    step(&pair, &pair.client, &pair.server);
    EXPECT(TERCEL_OK, tercel_handshake_advance(pair.server.handshake, pair.server.input, pair.server.output, &pair.server.next));
    CHECK(pair.server.next == TERCEL_NEXT_ANSWER);
    const tercel_config *client = test_config(TERCEL_CLIENT);
    EXPECT(TERCEL_MISUSE_WRONG_SIDE, tercel_answer_config(pair.server.handshake, client));
    tercel_config_release(client);
    free_pair(&pair);

    // Roots that are not those of the chain.
    tercel_roots_release(trusted);
    memory pem = material("other-root.pem");
    EXPECT(TERCEL_OK, tercel_roots_from_pem(pem.data, pem.len, &trusted));
    drop(&pem);
    chosen = test_config(TERCEL_SERVER);
    pair = asking_pair(TERCEL_ASK_VERIFY_PEER, TERCEL_ASK_CHOOSE_CONFIG);
    CHECK(!run(&pair));
    EXPECT(TERCEL_REFUSED_UNKNOWN_ISSUER, pair.client.status);
    free_pair(&pair);
    tercel_roots_release(trusted);
    trusted = NULL;

    // A verdict of the caller's own, with its alert and explanation.
    verdict = TERCEL_REFUSED_BY_VERIFIER | 49 << 16;
    pair = asking_pair(TERCEL_ASK_VERIFY_PEER, TERCEL_ASK_CHOOSE_CONFIG);
    CHECK(!run(&pair));
    EXPECT(verdict, pair.client.status);
    EXPECT(TERCEL_CLASS_ALERT | 49, pair.server.status);
    CHECK(tercel_status_alert(pair.client.status) == 49);
    char text[200];
    tercel_handshake_error(pair.client.handshake, text, sizeof text);
    CHECK(strstr(text, "the list says no") != NULL);
    free_pair(&pair);
    verdict = TERCEL_OK;
    tercel_config_release(chosen);
    tercel_credential_release(own_credential);
    tercel_credential_release(other_credential);
}

static void external_key(void) {
    asked = 0;
    memory chain = material("server.pem");
    const tercel_credential *credential;
    EXPECT(TERCEL_OK, tercel_credential_external(chain.data, chain.len, &credential));
    drop(&chain);
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_SERVER);
    EXPECT(TERCEL_OK, tercel_config_builder_add_credential(builder, credential));
    tercel_credential_release(credential);
    const tercel_config *server = built(builder), *client = test_config(TERCEL_CLIENT);
    pair pair = new_pair(client, server);
    pair.answer = answer;
    run_connected(&pair);
    CHECK(asked == 1u << TERCEL_QUESTION_SIGN);
    free_pair(&pair);

    // No signature.
    pair = new_pair(client, server);
    step(&pair, &pair.client, &pair.server);
    EXPECT(TERCEL_OK, tercel_handshake_advance(pair.server.handshake, pair.server.input, pair.server.output, &pair.server.next));
    CHECK(tercel_handshake_question(pair.server.handshake) == TERCEL_QUESTION_SIGN);
    EXPECT(TERCEL_OK, tercel_answer_signature(pair.server.handshake, NULL, 0));
    EXPECT(TERCEL_INTERNAL_SIGNING_FAILED,
           tercel_handshake_advance(pair.server.handshake, pair.server.input, pair.server.output, &pair.server.next));
    free_pair(&pair);
    tercel_config_release(server);
    tercel_config_release(client);
}

static const tercel_psk *psk(int imported, const char *identity) {
    const uint8_t key[32] = {1, 2, 3};
    const tercel_psk *psk;
    if (imported) {
        EXPECT(TERCEL_OK, tercel_psk_import((const uint8_t *)identity, strlen(identity), NULL, 0, key, sizeof key,
                                            TERCEL_HASH_SHA384, &psk));
    } else {
        EXPECT(TERCEL_OK, tercel_psk_external((const uint8_t *)identity, strlen(identity), key, sizeof key,
                                              TERCEL_HASH_SHA256, &psk));
    }
    return psk;
}

static void pre_shared_keys(int imported, tercel_questions questions, const char *of_server) {
    asked = 0;
    const tercel_psk *ours = psk(imported, "sensor 17");
    known_psk = psk(imported, of_server);
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_CLIENT);
    EXPECT(TERCEL_OK, tercel_config_builder_add_psk(builder, ours));
    const tercel_config *client = built(builder);
    builder = tercel_config_builder_new(TERCEL_SERVER);
    if (questions == 0) {
        EXPECT(TERCEL_OK, tercel_config_builder_add_psk(builder, known_psk));
    }
    ask(builder, questions);
    const tercel_config *server = built(builder);
    pair pair = new_pair(client, server);
    pair.answer = answer;
    if (strcmp(of_server, "sensor 17") == 0) {
        run_connected(&pair);
        CHECK(is_text(tercel_connection_fact_bytes(pair.server.connection, TERCEL_FACT_PSK_IDENTITY, 0), "sensor 17"));
        CHECK(tercel_connection_fact_bytes(pair.client.connection, TERCEL_FACT_CERTIFICATE, 0).data == NULL);
    } else {
        CHECK(!run(&pair));
        EXPECT(TERCEL_PEER_UNKNOWN_PRE_SHARED_KEY, pair.server.status);
    }
    CHECK(asked == (questions == 0 ? 0 : 1u << TERCEL_QUESTION_FIND_PSK));
    free_pair(&pair);
    tercel_config_release(client);
    tercel_config_release(server);
    tercel_psk_release(ours);
    tercel_psk_release(known_psk);
}

// Copies of a credential that differ in what they send.
static void credentials(void) {
    const tercel_credential *credential = test_credential("server"), *copy, *last;
    const uint8_t response[] = "not an OCSP response";
    const uint8_t timestamps[] = {0, 3, 0, 1, 7};
    const uint16_t scheme = 0x0403;
    EXPECT(TERCEL_OK, tercel_credential_with_ocsp_response(credential, response, sizeof response, &copy));
    EXPECT(TERCEL_OK, tercel_credential_with_timestamps(copy, timestamps, sizeof timestamps, &last));
    tercel_credential_release(copy);
    EXPECT(TERCEL_CONFIG_BAD_TIMESTAMPS, tercel_credential_with_timestamps(last, response, sizeof response, &copy));
    CHECK(copy == NULL);
    EXPECT(TERCEL_OK, tercel_credential_with_schemes(last, &scheme, 1, &copy));
    tercel_credential_release(last);
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_SERVER);
    EXPECT(TERCEL_OK, tercel_config_builder_add_credential(builder, copy));
    const tercel_config *server = built(builder);
    builder = test_builder(TERCEL_CLIENT);
    set_option(builder, TERCEL_OPTION_REQUEST_TIMESTAMPS, 1);
    ask(builder, TERCEL_ASK_VERIFY_PEER);
    const tercel_config *client = built(builder);
    verdict = TERCEL_OK;
    pair pair = new_pair(client, server);
    pair.answer = answer;
    run_connected(&pair);
    CHECK(tercel_connection_fact_bytes(pair.client.connection, TERCEL_FACT_OCSP_RESPONSE, 0).len == sizeof response);
    CHECK(tercel_connection_fact_bytes(pair.client.connection, TERCEL_FACT_TIMESTAMPS, 0).len == sizeof timestamps);
    CHECK(tercel_connection_fact(pair.server.connection, TERCEL_FACT_OWN_SIGNATURE_SCHEME) == scheme);
    free_pair(&pair);
    tercel_config_release(server);
    EXPECT(TERCEL_OK, tercel_credential_with_matching_issuer(copy, &last));
    builder = tercel_config_builder_new(TERCEL_SERVER);
    EXPECT(TERCEL_OK, tercel_config_builder_add_credential(builder, last));
    server = built(builder);
    pair = new_pair(client, server);
    CHECK(!run(&pair));
    EXPECT(TERCEL_PEER_NO_COMMON_SIGNATURE_SCHEME, pair.server.status);
    free_pair(&pair);
    tercel_config_release(server);
    tercel_config_release(client);
    tercel_credential_release(credential);
    tercel_credential_release(copy);
    tercel_credential_release(last);
}

// A server requests the client's certificate after the handshake.
static void later_certificates(void) {
    tercel_config_builder *builder = test_builder(TERCEL_CLIENT);
    set_option(builder, TERCEL_OPTION_POST_HANDSHAKE_AUTH, 1);
    const tercel_config *client = built(builder);
    builder = test_builder(TERCEL_SERVER);
    const tercel_roots *roots = test_roots();
    EXPECT(TERCEL_OK, tercel_config_builder_set_roots(builder, roots));
    tercel_roots_release(roots);
    const tercel_config *server = built(builder);
    pair pair = new_pair(client, server);
    run_connected(&pair);
    const tercel_credential *credential = test_credential("client");
    uint8_t out[100];
    size_t filled;
    tercel_event event;
    EXPECT(TERCEL_MISUSE_NO_CERTIFICATE_REQUEST,
           tercel_connection_authenticate(pair.client.connection, credential, pair.client.output));
    EXPECT(TERCEL_MISUSE_UNKNOWN_NUMBER,
           tercel_connection_request_certificate(pair.server.connection, 7, pair.server.output));
    const tercel_credential *external;
    memory chain = material("client.pem");
    EXPECT(TERCEL_OK, tercel_credential_external(chain.data, chain.len, &external));
    drop(&chain);
    tercel_connection *receiving = pair.client.connection;
    for (int declines = 0; declines < 2; declines++) {
        if (declines) {
            // One half receives the request, the other one answers it.
            EXPECT(TERCEL_OK, tercel_connection_split(pair.client.connection, &receiving));
        }
        EXPECT(TERCEL_OK, tercel_connection_request_certificate(pair.server.connection, TERCEL_CLIENT_AUTH_OPTIONAL,
                                                                pair.server.output));
        deliver(pair.server.output, pair.client.input);
        EXPECT(TERCEL_OK,
               tercel_connection_open(receiving, pair.client.input, out, sizeof out, &filled, &event));
        CHECK(event == TERCEL_EVENT_CERTIFICATE_REQUESTED);
        // The request remains after each misuse.
        EXPECT(TERCEL_MISUSE_KEY_NOT_LOCAL,
               tercel_connection_authenticate(pair.client.connection, external, pair.client.output));
        EXPECT(TERCEL_MISUSE_NULL_POINTER, tercel_connection_authenticate(pair.client.connection, credential, NULL));
        if (declines) {
            EXPECT(TERCEL_MISUSE_WRONG_HALF, tercel_connection_authenticate(receiving, NULL, pair.client.output));
        }
        EXPECT(TERCEL_OK, tercel_connection_authenticate(pair.client.connection, declines ? NULL : credential,
                                                         pair.client.output));
        deliver(pair.client.output, pair.server.input);
        EXPECT(TERCEL_OK,
               tercel_connection_open(pair.server.connection, pair.server.input, out, sizeof out, &filled, &event));
        CHECK(event == TERCEL_EVENT_CLIENT_CERTIFICATE);
        CHECK((tercel_connection_client_certificate(pair.server.connection, 0).len > 100) == !declines);
        CHECK(tercel_connection_client_certificate(pair.server.connection, 1).data == NULL);
    }
    tercel_connection_free(receiving);
    tercel_credential_release(external);
    tercel_credential_release(credential);
    free_pair(&pair);
    tercel_config_release(client);
    tercel_config_release(server);
}

// A program that verifies clients itself is asked in handshakes only, so that no certificate is reported as verified.
static void later_certificates_without_roots(void) {
    tercel_config_builder *builder = test_builder(TERCEL_CLIENT);
    set_option(builder, TERCEL_OPTION_POST_HANDSHAKE_AUTH, 1);
    const tercel_config *client = built(builder);
    builder = test_builder(TERCEL_SERVER);
    ask(builder, TERCEL_ASK_VERIFY_PEER);
    const tercel_config *server = built(builder);
    pair pair = new_pair(client, server);
    run_connected(&pair);
    EXPECT(TERCEL_MISUSE_NO_POST_HANDSHAKE_AUTH,
           tercel_connection_request_certificate(pair.server.connection, TERCEL_CLIENT_AUTH_REQUIRED, pair.server.output));
    free_pair(&pair);
    tercel_config_release(client);
    tercel_config_release(server);
}

void question_tests(void) {
    decisions();
    external_key();
    for (int imported = 0; imported < 2; imported++) {
        pre_shared_keys(imported, 0, "sensor 17");
        pre_shared_keys(imported, TERCEL_ASK_FIND_PSK, "sensor 17");
        pre_shared_keys(imported, TERCEL_ASK_FIND_PSK, "sensor 18");
    }
    credentials();
    later_certificates();
    later_certificates_without_roots();
}
