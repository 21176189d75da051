// The runner's flags, parsed into options for each connection.

#include <stdlib.h>
#include <string.h>

#include "shim.h"

typedef enum {
    SET,        // a flag without a value
    NUMBER,     // an unsigned number
    SIGNED,     // a number that may be negative
    CODES,      // a number that is added to a list
    NO_CODES,   // a list that is empty
    TEXT,       // a string
    RAW,        // bytes as they are
    BASE64,     // bytes in base64
    POLICY,     // a compliance policy
    IGNORE,     // behaviour that the library always has, or that the shim cannot influence
    IGNORE_ONE, // the same, with a value
} kind;

typedef struct {
    const char *name;
    kind kind;
    size_t offset;
    int value;
} flag;

#define O(field) offsetof(options, field)

static const flag FLAGS[] = {
    {"-port", NUMBER, O(port), 0},
    {"-ipv6", SET, O(ipv6), 0},
    {"-shim-id", NUMBER, O(shim_id), 0},
    {"-server", SET, O(server), 0},
    {"-resume-count", NUMBER, O(resume_count), 0},
    {"-no-tls12", SET, O(no_tls12), 0},
    {"-no-tls13", SET, O(no_tls13), 0},
    {"-no-tls11", IGNORE, 0, 0},
    {"-no-tls1", IGNORE, 0, 0},
    {"-no-ssl3", IGNORE, 0, 0},
    {"-min-version", NUMBER, O(min_version), 0},
    {"-max-version", NUMBER, O(max_version), 0},
    {"-fallback-scsv", SET, O(fallback_scsv), 0},
    {"-curves", CODES, O(curves), 0},
    {"-curves-flags", CODES, O(curves_flags), 0},
    {"-key-shares", CODES, O(key_shares), 0},
    {"-no-key-shares", NO_CODES, O(key_shares), 0},
    {"-verify-prefs", CODES, O(verify_prefs), 0},
    {"-server-preference", SET, O(server_preference), 0},
    {"-fips-202205", POLICY, O(policy), FIPS_202205},
    {"-wpa-202304", POLICY, O(policy), WPA_202304},
    {"-cnsa-202407", POLICY, O(policy), CNSA_202407},
    {"-cnsa1-202603", POLICY, O(policy), CNSA_1},
    {"-cnsa2-202603", POLICY, O(policy), CNSA_2},
    {"-permute-extensions", SET, O(permute_extensions), 0},
    {"-enable-grease", SET, O(grease), 0},
    {"-cipher", TEXT, O(cipher), 0},
    {"-no-legacy-server-connect", SET, O(require_secure_renegotiation), 0},
    {"-max-send-fragment", NUMBER, O(max_send_fragment), 0},
    {"-host-name", TEXT, O(host_name), 0},
    {"-advertise-alpn", RAW, O(advertise_alpn), 0},
    {"-select-alpn", RAW, O(select_alpn), 0},
    {"-decline-alpn", IGNORE, 0, 0},
    {"-reject-alpn", SET, O(reject_alpn), 0},
    {"-no-server-name-ack", SET, O(no_server_name_ack), 0},
    {"-srtp-profiles", IGNORE_ONE, 0, 0},
    {"-enable-ocsp-stapling", SET, O(enable_ocsp_stapling), 0},
    {"-enable-signed-cert-timestamps", SET, O(enable_timestamps), 0},
    {"-no-ticket", SET, O(no_ticket), 0},
    {"-resumption-delay", NUMBER, O(resumption_delay), 0},
    {"-enable-early-data", SET, O(enable_early_data), 0},
    {"-reverify-on-resume", SET, O(reverify_on_resume), 0},
    {"-resumption-across-names-enabled", SET, O(across_names), 0},
    {"-trust-cert", IGNORE_ONE, 0, 0},
    {"-verify-peer", SET, O(verify_peer), 0},
    {"-require-any-client-certificate", SET, O(require_client_certificate), 0},
    {"-verify-fail", SET, O(verify_fail), 0},
    {"-use-custom-verify-callback", SET, O(custom_verify_callback), 0},
    {"-use-client-ca-list", TEXT, O(use_client_ca_list), 0},
    {"-use-ocsp-callback", SET, O(use_ocsp_callback), 0},
    {"-set-ocsp-in-callback", IGNORE, 0, 0},
    {"-decline-ocsp-callback", SET, O(decline_ocsp_callback), 0},
    {"-fail-ocsp-callback", SET, O(fail_ocsp_callback), 0},
    {"-use-old-client-cert-callback", IGNORE, 0, 0},
    {"-use-early-callback", IGNORE, 0, 0},
    {"-async", SET, O(async), 0},
    {"-implicit-handshake", IGNORE, 0, 0},
    {"-no-op-extra-handshake", IGNORE, 0, 0},
    {"-forbid-renegotiation-after-handshake", IGNORE, 0, 0},
    {"-shim-writes-first", SET, O(shim_writes_first), 0},
    {"-shim-initial-write", RAW, O(shim_initial_write), 0},
    {"-repeat-shim-initial-write", NUMBER, O(repeat_shim_initial_write), 0},
    {"-early-write-after-message", NUMBER, O(early_write_after_message), 0},
    {"-shim-shuts-down", SET, O(shim_shuts_down), 0},
    {"-check-close-notify", SET, O(check_close_notify), 0},
    {"-send-alert", SET, O(send_alert), 0},
    {"-key-update", SET, O(key_update), 0},
    {"-read-size", NUMBER, O(read_size), 0},
    {"-read-with-unfinished-write", SET, O(read_with_unfinished_write), 0},
    {"-export-keying-material", NUMBER, O(export_keying_material), 0},
    {"-export-label", RAW, O(export_label), 0},
    {"-export-context", RAW, O(export_context), 0},
    {"-use-export-context", SET, O(use_export_context), 0},
    {"-expect-version", SIGNED, O(expect_version), 0},
    {"-expect-cipher", SIGNED, O(expect_cipher), 0},
    {"-expect-cipher-aes", SIGNED, O(expect_cipher_aes), 0},
    {"-expect-cipher-no-aes", SIGNED, O(expect_cipher_no_aes), 0},
    {"-expect-curve-id", SIGNED, O(expect_curve_id), 0},
    {"-expect-peer-signature-algorithm", SIGNED, O(expect_peer_signature_algorithm), 0},
    {"-expect-peer-verify-pref", CODES, O(expect_peer_verify_prefs), 0},
    {"-expect-selected-credential", SIGNED, O(expect_selected_credential), 0},
    {"-expect-hrr", SET, O(expect_hrr), 0},
    {"-expect-no-hrr", SET, O(expect_no_hrr), 0},
    {"-expect-session-miss", SET, O(expect_session_miss), 0},
    {"-expect-early-data-reason", TEXT, O(expect_early_data_reason), 0},
    {"-expect-no-session", SET, O(expect_no_session), 0},
    {"-expect-ticket-renewal", SET, O(expect_ticket_renewal), 0},
    {"-expect-ticket-supports-early-data", SET, O(expect_ticket_supports_early_data), 0},
    {"-expect-session-id", SET, O(expect_session_id), 0},
    {"-expect-no-session-id", SET, O(expect_no_session_id), 0},
    {"-expect-accept-early-data", SET, O(expect_accept_early_data), 0},
    {"-expect-reject-early-data", SET, O(expect_reject_early_data), 0},
    {"-expect-no-offer-early-data", SET, O(expect_no_offer_early_data), 0},
    {"-expect-extended-master-secret", SET, O(expect_extended_master_secret), 0},
    {"-expect-secure-renegotiation", SET, O(expect_secure_renegotiation), 0},
    {"-expect-no-secure-renegotiation", SET, O(expect_no_secure_renegotiation), 0},
    {"-expect-ticket-age-skew", SIGNED, O(expect_ticket_age_skew), 0},
    {"-expect-resumable-across-names", SET, O(expect_across_names), 0},
    {"-expect-not-resumable-across-names", SET, O(expect_not_across_names), 0},
    {"-expect-alpn", RAW, O(expect_alpn), 0},
    {"-expect-advertised-alpn", RAW, O(expect_advertised_alpn), 0},
    {"-expect-server-name", TEXT, O(expect_server_name), 0},
    {"-expect-no-server-name", SET, O(expect_no_server_name), 0},
    {"-expect-ocsp-response", BASE64, O(expect_ocsp_response), 0},
    {"-expect-signed-cert-timestamps", BASE64, O(expect_timestamps), 0},
    {"-expect-peer-cert-file", TEXT, O(expect_peer_cert_file), 0},
    {"-expect-no-peer-cert", SET, O(expect_no_peer_cert), 0},
    {"-expect-verify-result", SET, O(expect_verify_result), 0},
    {"-expect-certificate-types", BASE64, O(expect_certificate_types), 0},
    {"-expect-client-ca-list", TEXT, O(expect_client_ca_list), 0},
};

#define C(field) offsetof(credential_options, field)

// The flags of the credential that was begun last.
static const flag CREDENTIAL_FLAGS[] = {
    {"-cert-file", TEXT, C(cert_file), 0},
    {"-key-file", TEXT, C(key_file), 0},
    {"-ocsp-response", BASE64, C(ocsp_response), 0},
    {"-signed-cert-timestamps", BASE64, C(timestamps), 0},
    {"-signing-prefs", CODES, C(signing_prefs), 0},
    {"-must-match-issuer", SET, C(must_match_issuer), 0},
    {"-psk-importer-key", BASE64, C(psk.key), 0},
    {"-psk-importer-identity", BASE64, C(psk.identity), 0},
    {"-psk-importer-context", BASE64, C(psk.context), 0},
    {"-psk-importer-sha256", IGNORE, 0, 0},
    {"-psk-importer-sha384", SET, C(psk.sha384), 0},
};

static bool has_value(kind kind) {
    return kind != SET && kind != NO_CODES && kind != POLICY && kind != IGNORE;
}

static void set(void *base, const flag *flag, const char *value) {
    uint8_t *place = (uint8_t *)base + flag->offset;
    list *codes = (list *)place;
    char *end = NULL;
    switch (flag->kind) {
    case SET:
        *(bool *)place = true;
        break;
    case NUMBER:
        *(uint64_t *)place = strtoull(value, &end, 10);
        break;
    case SIGNED:
        *(int64_t *)place = strtoll(value, &end, 10);
        break;
    case CODES:
        if (codes->count == LIST) {
            unimplemented("a long list");
        }
        codes->set = true;
        codes->codes[codes->count++] = (uint16_t)strtoul(value, &end, 10);
        break;
    case NO_CODES:
        codes->set = true;
        break;
    case TEXT:
        *(const char **)place = value;
        break;
    case RAW:
        *(bytes *)place = copy_bytes(value, strlen(value));
        break;
    case BASE64:
        *(bytes *)place = base64(value);
        break;
    case POLICY:
        *(policy *)place = (policy)flag->value;
        break;
    case IGNORE:
    case IGNORE_ONE:
        break;
    }
    if (end != NULL && (*end != 0 || end == value)) {
        fail("a flag with a malformed number");
    }
}

static const flag *find(const flag *flags, size_t count, const char *name) {
    for (size_t at = 0; at < count; at++) {
        if (strcmp(flags[at].name, name) == 0) {
            return &flags[at];
        }
    }
    return NULL;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// The credential to which flags apply at this place of the command line.
static credential_options *current(options *options) {
    return options->credential_count > 0 ? &options->credentials[options->credential_count - 1] : &options->credential;
}

static void apply(options *options, const char *name, const flag *flag, bool of_credential, const char *value) {
    if (flag == NULL) {
        if (options->credential_count == CREDENTIALS) {
            unimplemented("many credentials");
        }
        options->credential_count++;
        current(options)->psk.set = strcmp(name, "-new-psk-credential") == 0;
    } else {
        set(of_credential ? (void *)current(options) : (void *)options, flag, value);
    }
}

plan parse(int count, char **arguments) {
    static const char *const PREFIXES[] = {"-on-initial", "-on-resume", "-on-retry", "-on-shim", "-on-handshaker"};
    plan plan;
    memset(&plan, 0, sizeof plan);
    options *all[] = {&plan.initial, &plan.resume, &plan.retry};
    for (int at = 0; at < 3; at++) {
        options *o = all[at];
        o->expect_version = o->expect_cipher = o->expect_cipher_aes = o->expect_cipher_no_aes = -1;
        o->expect_curve_id = o->expect_peer_signature_algorithm = -1;
        o->expect_selected_credential = INT64_MIN;
    }
    for (int at = 1; at < count; at++) {
        const char *name = arguments[at];
        int only = 3;
        for (int prefix = 0; prefix < 5; prefix++) {
            size_t len = strlen(PREFIXES[prefix]);
            if (strncmp(name, PREFIXES[prefix], len) == 0 && name[len] == '-') {
                name += len;
                only = prefix;
                break;
            }
        }
        bool begins = strcmp(name, "-new-x509-credential") == 0 || strcmp(name, "-new-psk-credential") == 0;
        const flag *flag = find(FLAGS, COUNT(FLAGS), name);
        bool of_credential = flag == NULL;
        if (of_credential) {
            flag = find(CREDENTIAL_FLAGS, COUNT(CREDENTIAL_FLAGS), name);
        }
        if (flag == NULL && !begins) {
            unimplemented(arguments[at]);
        }
        const char *value = NULL;
        if (flag != NULL && has_value(flag->kind)) {
            if (++at == count) {
                fail("a flag without its value");
            }
            value = arguments[at];
        }
        for (int connection = 0; connection < 3; connection++) {
            if (only == 3 || only == connection) {
                apply(all[connection], name, flag, of_credential, value);
            }
        }
    }
    return plan;
}
