// The shim as an application: answers the library's questions, and records what a test expects.

#include <string.h>

#include "shim.h"

static void fault(test *test, const char *what) {
    if (test->fault == NULL) {
        test->fault = what;
    }
}

static list numbers(tercel_handshake *handshake, tercel_field field) {
    list made = {.set = true};
    uint64_t code;
    while (made.count < LIST && tercel_question_number(handshake, field, made.count, &code) == TERCEL_OK) {
        made.codes[made.count++] = (uint16_t)code;
    }
    return made;
}

static bool contains(const list *list, uint16_t code) {
    for (size_t at = 0; at < list->count; at++) {
        if (list->codes[at] == code) {
            return true;
        }
    }
    return false;
}

static void choose_config(test *test, tercel_handshake *handshake) {
    const options *options = test->checked;
    if (options->expect_advertised_alpn.len > 0) {
        uint8_t offered[512];
        size_t len = 0;
        tercel_bytes name;
        for (size_t at = 0; (name = tercel_question_bytes(handshake, TERCEL_FIELD_ALPN, at)).data != NULL; at++) {
            if (len + 1 + name.len > sizeof offered) {
                break;
            }
            offered[len++] = (uint8_t)name.len;
            memcpy(offered + len, name.data, name.len);
            len += name.len;
        }
        if (!same(options->expect_advertised_alpn, (bytes){offered, len})) {
            fault(test, "the client offered other protocols");
        }
    }
    // Only host names are checked, as the runner sends no others.
    if (options->expect_no_server_name &&
        tercel_question_bytes(handshake, TERCEL_FIELD_SERVER_NAME, 0).data != NULL) {
        fault(test, "the client named a server");
    }
    // Sessions of TLS 1.3 must not be stored, and a store gets all sessions of its configuration.
    list ours = versions(test->options), theirs = numbers(handshake, TERCEL_FIELD_VERSION);
    list groups = numbers(handshake, TERCEL_FIELD_GROUP), suites = numbers(handshake, TERCEL_FIELD_CIPHER_SUITE);
    bool stored = !(contains(&ours, 0x0304) && contains(&theirs, 0x0304));
    const tercel_config *config = server_config(test, stored, &groups, &suites);
    need(tercel_answer_config(handshake, config), "config");
    tercel_config_release(config);
}

static void find_session(test *test, tercel_handshake *handshake) {
    uint64_t single_use = 0;
    shared *shared = test->shared;
    tercel_bytes identity = tercel_question_bytes(handshake, TERCEL_FIELD_IDENTITY, 0);
    need(tercel_question_number(handshake, TERCEL_FIELD_SINGLE_USE, 0, &single_use), "single use");
    bytes found = {NULL, 0};
    for (size_t at = 0; at < shared->stored_count; at++) {
        if (same_as(shared->stored[at].identity, identity)) {
            found = shared->stored[at].session;
            if (single_use) {
                shared->stored[at] = shared->stored[--shared->stored_count];
            }
            break;
        }
    }
    need(tercel_answer_session(handshake, found.data, found.len), "session");
}

// The first key of the client in the order of the flags. A certificate that precedes a key is selected instead if the
// client can verify certificates.
static void find_psk(test *test, tercel_handshake *handshake) {
    uint64_t scheme;
    bool verifies = tercel_question_number(handshake, TERCEL_FIELD_SIGNATURE_SCHEME, 0, &scheme) == TERCEL_OK;
    int certificate = INT32_MAX;
    for (size_t at = 0; at < test->credential_count; at++) {
        int number = test->credentials[at].number;
        certificate = verifies && number >= 0 && number < certificate ? number : certificate;
    }
    const tercel_psk *found = NULL;
    for (size_t at = 0; at < test->psk_count && found == NULL && test->psks[at].number < certificate; at++) {
        size_t index;
        need(tercel_question_find_psk(handshake, &test->psks[at].psk, 1, &index), "find psk");
        found = index == 0 ? test->psks[at].psk : NULL;
    }
    need(tercel_answer_psk(handshake, found), "psk");
}

static void admit_early_data(test *test, tercel_handshake *handshake) {
    shared *shared = test->shared;
    tercel_bytes unique = tercel_question_bytes(handshake, TERCEL_FIELD_UNIQUE, 0);
    bool known = shared->admitted_count == STORED;
    for (size_t at = 0; at < shared->admitted_count; at++) {
        known = known || same_as(shared->admitted[at], unique);
    }
    if (!known) {
        shared->admitted[shared->admitted_count++] = copy(unique);
    }
    need(tercel_answer_early_data(handshake, !known), "early data");
}

// Checks what a peer requires of the certificate.
static void check_request(test *test, tercel_handshake *handshake) {
    const options *options = test->checked;
    test->requested = true;
    if (options->expect_certificate_types.len > 0) {
        list types = numbers(handshake, TERCEL_FIELD_CERTIFICATE_TYPE);
        bool differ = types.count != options->expect_certificate_types.len;
        for (size_t at = 0; at < types.count && !differ; at++) {
            differ = types.codes[at] != options->expect_certificate_types.data[at];
        }
        if (differ) {
            fault(test, "the peer accepts other certificate types");
        }
    }
    if (options->expect_peer_verify_prefs.count > 0) {
        list schemes = numbers(handshake, TERCEL_FIELD_SIGNATURE_SCHEME);
        const list *wanted = &options->expect_peer_verify_prefs;
        if (schemes.count != wanted->count ||
            memcmp(schemes.codes, wanted->codes, schemes.count * sizeof schemes.codes[0]) != 0) {
            fault(test, "the peer verifies other schemes");
        }
    }
    bytes names[LIST];
    int count = options->expect_client_ca_list == NULL ? -1 : hex_list(options->expect_client_ca_list, names, LIST);
    for (int at = 0; at <= count; at++) {
        tercel_bytes name = tercel_question_bytes(handshake, TERCEL_FIELD_AUTHORITY, (size_t)at);
        if (at < count ? !same_as(names[at], name) : name.data != NULL) {
            fault(test, "the peer names other authorities");
        }
    }
}

static void select_credential(test *test, tercel_handshake *handshake) {
    check_request(test, handshake);
    if (test->options->server && test->checked->fail_ocsp_callback) {
        test->token = ":OCSP_CB_ERROR:";
        need(tercel_answer_credential(handshake, NULL), "credential");
        return;
    }
    const tercel_credential *all[CREDENTIALS + 1];
    size_t index = 0;
    for (size_t at = 0; at < test->credential_count; at++) {
        all[at] = test->credentials[at].credential;
    }
    if (test->credential_count > 0) {
        need(tercel_question_find_credential(handshake, all, test->credential_count, &index), "find credential");
    }
    // A client that has certificates but no suitable one must not continue without a certificate: it passes an
    // unsuitable one, which the library refuses.
    if (index == test->credential_count && !test->options->server) {
        index = 0;
    }
    bool found = index < test->credential_count;
    if (found) {
        test->selected = test->credentials[index].number;
        test->has_selected = true;
    }
    need(tercel_answer_credential(handshake, found ? all[index] : NULL), "credential");
}

static void verify_peer(test *test, tercel_handshake *handshake) {
    const options *options = test->checked;
    bool of_server = !test->options->server;
    tercel_status verdict = TERCEL_OK;
    uint64_t resumed = 0;
    need(tercel_question_number(handshake, TERCEL_FIELD_RESUMED, 0, &resumed), "resumption");
    // The library asks about the peer of each resumption, because an answer has no fingerprint.
    if (resumed && !options->reverify_on_resume) {
        need(tercel_answer_peer(handshake, TERCEL_OK, NULL, 0), "peer");
        return;
    }
    if (options->expect_ocsp_response.len > 0 &&
        tercel_question_bytes(handshake, TERCEL_FIELD_OCSP_RESPONSE, 0).data == NULL) {
        fault(test, "the OCSP response is missing when the peer is verified");
    }
    if (options->verify_fail && options->custom_verify_callback) {
        verdict = TERCEL_REFUSED_OTHER;
    } else if (options->verify_fail) {
        // BoringSSL's alert for an application that refuses without a reason is handshake_failure.
        verdict = TERCEL_REFUSED_BY_VERIFIER | 40u << 16;
    } else if (of_server && options->fail_ocsp_callback) {
        verdict = TERCEL_REFUSED_STAPLE_REJECTED;
    }
    test->verifications++;
    test->has_verified = true;
    test->verified = verdict == TERCEL_OK;
    // BoringSSL can inspect a chain without verifying it.
    bool counts = !of_server || options->verify_peer || options->require_client_certificate || options->use_ocsp_callback;
    need(tercel_answer_peer(handshake, counts ? verdict : TERCEL_OK, NULL, 0), "peer");
}

void answer(test *test, tercel_handshake *handshake) {
    switch (tercel_handshake_question(handshake)) {
    case TERCEL_QUESTION_CHOOSE_CONFIG:
        choose_config(test, handshake);
        break;
    case TERCEL_QUESTION_FIND_SESSION:
        find_session(test, handshake);
        break;
    case TERCEL_QUESTION_FIND_PSK:
        find_psk(test, handshake);
        break;
    case TERCEL_QUESTION_ADMIT_EARLY_DATA:
        admit_early_data(test, handshake);
        break;
    case TERCEL_QUESTION_SELECT_CREDENTIAL:
        select_credential(test, handshake);
        break;
    case TERCEL_QUESTION_VERIFY_PEER:
        verify_peer(test, handshake);
        break;
    default:
        fail("an unexpected question");
    }
}
