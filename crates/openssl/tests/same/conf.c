/* SSL_CONF: which commands exist on command lines and in files, and what they set. */
#include "../c/test.h"
#include <openssl/conf.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* All commands of OpenSSL 3.0 except strict, which is an error here, by their names in files and on command lines, and
   some that it does not have. */
static const char *const names[] = {
    "no_ssl3", "no_tls1", "no_tls1_1", "no_tls1_2", "no_tls1_3", "bugs", "no_comp", "comp", "ecdh_single", "no_ticket",
    "serverpref", "legacy_renegotiation", "client_renegotiation", "legacy_server_connect", "no_renegotiation",
    "no_resumption_on_reneg", "no_legacy_server_connect", "allow_no_dhe_kex", "prioritize_chacha",
    "no_middlebox", "anti_replay", "no_anti_replay", "no_etm", "SignatureAlgorithms", "sigalgs",
    "ClientSignatureAlgorithms", "client_sigalgs", "Curves", "curves", "Groups", "groups", "ECDHParameters",
    "named_curve", "CipherString", "cipher", "Ciphersuites", "ciphersuites", "Protocol", "MinProtocol", "min_protocol",
    "MaxProtocol", "max_protocol", "Options", "VerifyMode", "Certificate", "cert", "PrivateKey", "key",
    "ServerInfoFile", "ChainCAPath", "chainCApath", "ChainCAFile", "chainCAfile", "ChainCAStore", "chainCAstore",
    "VerifyCAPath", "verifyCApath", "VerifyCAFile", "verifyCAfile", "VerifyCAStore", "verifyCAstore", "RequestCAFile",
    "requestCAFile", "ClientCAFile", "RequestCAPath", "ClientCAPath", "RequestCAStore", "requestCAStore",
    "ClientCAStore", "DHParameters", "dhparam", "RecordPadding", "record_padding", "NumTickets", "num_tickets",
    /* Unknown ones. */
    "requestCAfile", "IgnoreUnexpectedEOF", "NO_TLS1_3", "", "Protocols", "protocol", "options", "verifymode",
};

static void print_errors(void) {
    for (unsigned long error; (error = ERR_get_error()) != 0;)
        if (ERR_GET_LIB(error) == ERR_LIB_SSL)
            switch (ERR_GET_REASON(error)) {
            case SSL_R_BAD_VALUE:
            case SSL_R_UNKNOWN_CMD_NAME:
            case SSL_R_INVALID_NULL_CMD_NAME:
            case SSL_R_NO_CIPHER_MATCH:
            case SSL_R_INVALID_COMMAND:
            case SSL_R_INVALID_CONFIGURATION_NAME:
                printf(", %s", ERR_reason_error_string(error));
            }
    printf("\n");
}

/* Whether a command exists, by the type of its value, with all flags that OpenSSL has. */
static void types(void) {
    for (unsigned flags = 0; flags < 0x40; flags++) {
        SSL_CONF_CTX *conf = SSL_CONF_CTX_new();
        SSL_CONF_CTX_set_flags(conf, flags & ~16u);
        for (unsigned i = 0; i < COUNT(names); i++) {
            char dashed[64];
            snprintf(dashed, sizeof dashed, "-%s", names[i]);
            printf("%x %s: %d, %d\n", flags, names[i], SSL_CONF_cmd_value_type(conf, names[i]),
                   SSL_CONF_cmd_value_type(conf, dashed));
        }
        SSL_CONF_CTX_free(conf);
    }
}

/* What a context has before a command. */
struct before {
    uint64_t options;
    long min, max;
};

static struct before state_of(SSL_CTX *ctx) {
    return (struct before){SSL_CTX_get_options(ctx), (long)SSL_CTX_get_min_proto_version(ctx),
                           (long)SSL_CTX_get_max_proto_version(ctx)};
}

static void print_state(SSL_CTX *ctx, SSL *ssl, struct before before) {
    const STACK_OF(X509_NAME) *authorities = ssl != NULL ? SSL_get0_CA_list(ssl) : SSL_CTX_get0_CA_list(ctx);
    X509_STORE *verify = NULL, *chain = NULL;
    if (ssl != NULL) {
        printf(", options %llx, versions %lx %lx, verify %d, tickets %zu, ciphers %s",
               (unsigned long long)(SSL_get_options(ssl) ^ before.options), (long)SSL_get_min_proto_version(ssl) ^ before.min,
               (long)SSL_get_max_proto_version(ssl) ^ before.max, SSL_get_verify_mode(ssl), SSL_get_num_tickets(ssl),
               SSL_get_cipher_list(ssl, 0));
        SSL_get0_verify_cert_store(ssl, &verify);
        SSL_get0_chain_cert_store(ssl, &chain);
        printf(", certificate %d, key %d", SSL_get_certificate(ssl) != NULL, SSL_get_privatekey(ssl) != NULL);
    } else {
        printf(", options %llx, versions %lx %lx, verify %d, tickets %zu",
               (unsigned long long)(SSL_CTX_get_options(ctx) ^ before.options),
               (long)SSL_CTX_get_min_proto_version(ctx) ^ before.min,
               (long)SSL_CTX_get_max_proto_version(ctx) ^ before.max, SSL_CTX_get_verify_mode(ctx), SSL_CTX_get_num_tickets(ctx));
        SSL_CTX_get0_verify_cert_store(ctx, &verify);
        SSL_CTX_get0_chain_cert_store(ctx, &chain);
        printf(", certificate %d, key %d", SSL_CTX_get0_certificate(ctx) != NULL, SSL_CTX_get0_privatekey(ctx) != NULL);
    }
    printf(", level %d, flags %lx", ssl != NULL ? SSL_get_security_level(ssl) : SSL_CTX_get_security_level(ctx),
           ssl != NULL ? SSL_set_cert_flags(ssl, 0) : SSL_CTX_set_cert_flags(ctx, 0));
    printf(", stores %d %d, names %d", verify != NULL, chain != NULL,
           authorities == NULL ? 0 : sk_X509_NAME_num(authorities));
}

enum target { NOTHING, CONTEXT, CONNECTION, TARGETS };

/* The methods: of both sides, of each one, and of one version. */
static const SSL_METHOD *method(int kind) {
    return kind == 0 ? TLS_method() : kind == 1 ? TLS_server_method() : kind == 2 ? TLS_client_method() : TLSv1_2_method();
}

static void command(unsigned flags, const char *prefix, int kind, enum target target, const char *name,
                    const char *value) {
    SSL_CTX *ctx = SSL_CTX_new(method(kind));
    SSL *ssl = target == CONNECTION ? SSL_new(ctx) : NULL;
    SSL_CONF_CTX *conf = SSL_CONF_CTX_new();
    struct before before = state_of(ctx);
    ERR_clear_error();
    SSL_CONF_CTX_set_flags(conf, flags);
    SSL_CONF_CTX_set1_prefix(conf, prefix);
    if (target == CONTEXT)
        SSL_CONF_CTX_set_ssl_ctx(conf, ctx);
    if (target == CONNECTION)
        SSL_CONF_CTX_set_ssl(conf, ssl);
    const char *shown = value != NULL && strstr(value, getenv("MATERIAL")) != NULL ? value + strlen(getenv("MATERIAL")) : value;
    printf("%x, %s, method %d, target %d, %s=%s: %d", flags, prefix == NULL ? "no prefix" : prefix, kind, target,
           name == NULL ? "NULL" : name, shown == NULL ? "NULL" : shown, SSL_CONF_cmd(conf, name, value));
    printf(", finish %d", SSL_CONF_CTX_finish(conf));
    print_state(ctx, ssl, before);
    print_errors();
    SSL_CONF_CTX_free(conf);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

#define ALL (SSL_CONF_FLAG_CLIENT | SSL_CONF_FLAG_SERVER | SSL_CONF_FLAG_CERTIFICATE | SSL_CONF_FLAG_SHOW_ERRORS)
#define IN_FILE (ALL | SSL_CONF_FLAG_FILE)
#define ON_LINE (ALL | SSL_CONF_FLAG_CMDLINE)

static void commands(void) {
    static const char *const pairs[][2] = {
        {"VerifyMode", "Peer"}, {"VerifyMode", "require"}, {"VERIFYMODE", "REQUEST,once"}, {"VerifyMode", "Require,-Peer"},
        {"VerifyMode", "RequestPostHandshake"}, {"VerifyMode", "RequirePostHandshake"}, {"VerifyMode", "-Require"},
        {"VerifyMode", "Bogus"}, {"VerifyMode", ""}, {"VerifyMode", NULL}, {"VerifyMode", "Peer,"}, {"VerifyMode", ",Peer"},
        {"VerifyMode", " Peer , Require "}, {"VerifyMode", "- Peer"}, {"VerifyMode", "Peer,Bogus"},
        {"Protocol", "-tlsv1.2"}, {"Protocol", "-ALL,TLSv1.3"}, {"Protocol", "-TLSv1"}, {"Protocol", "-TLSv1.1,+TLSv1.1"},
        {"Protocol", "-DTLSv1"}, {"Protocol", "-DTLSv1.2"}, {"Protocol", "-SSLv2,-SSLv3"}, {"Protocol", "TLSv1.4"},
        {"Protocol", "ALL,-TLSv1.3"}, {"Protocol", "-"}, {"Protocol", "+"}, {"protocol", "-TLSv1.3"},
        {"Options", "-sessionticket"}, {"Options", "SessionTicket"}, {"Options", "-SessionTicket,SessionTicket"},
        {"Options", "ServerPreference,-SessionTicket"}, {"Options", "Bugs"}, {"Options", "-Compression"},
        {"Options", "Compression"}, {"Options", "UnsafeLegacyRenegotiation,UnsafeLegacyServerConnect"},
        {"Options", "NoResumptionOnRenegotiation"}, {"Options", "-MiddleboxCompat"}, {"Options", "AntiReplay"},
        {"Options", "-AntiReplay"}, {"Options", "-ExtendedMasterSecret,-EncryptThenMac,-CANames"}, {"Options", "KTLS"},
        {"Options", "ClientRenegotiation,NoRenegotiation,AllowNoDHEKEX,PrioritizeChaCha,DHSingle,ECDHSingle"},
        {"Options", "-EmptyFragments"}, {"Options", "IgnoreUnexpectedEOF"}, {"Options", "NoTickets"}, {"Options", NULL},
        {"MinProtocol", "TLSv1.3"}, {"MinProtocol", "tlsv1.3"}, {"MinProtocol", "None"}, {"MinProtocol", "SSLv3"},
        {"MinProtocol", "TLSv1"}, {"MinProtocol", "DTLSv1.2"}, {"MinProtocol", "TLSv1.4"}, {"MinProtocol", " TLSv1.3"},
        {"MaxProtocol", "TLSv1.2"}, {"MaxProtocol", "DTLSv1"}, {"MaxProtocol", ""}, {"minprotocol", "TLSv1.3"},
        {"CipherString", "ECDHE-ECDSA-AES128-GCM-SHA256"}, {"CipherString", "RC4"}, {"CipherString", "ALL:!ALL"},
        {"CipherString", "DEFAULT@SECLEVEL=1"}, {"CipherString", "ALL:@SECLEVEL=9"}, {"CipherString", ""},
        {"CipherString", "SUITEB192"}, {"Ciphersuites", "TLS_AES_128_GCM_SHA256"}, {"Ciphersuites", "Bogus"},
        {"Ciphersuites", ""}, {"Groups", "P-256:X25519"}, {"Groups", "Bogus"}, {"Groups", ""},
        {"Groups", "P-256:Bogus"}, {"Curves", "secp384r1"}, {"ECDHParameters", "P-256"}, {"ECDHParameters", "P-256:P-384"},
        {"ECDHParameters", "Automatic"}, {"ECDHParameters", "+automatic"}, {"ECDHParameters", "auto"},
        {"SignatureAlgorithms", "ECDSA+SHA256"}, {"SignatureAlgorithms", "Bogus"}, {"SignatureAlgorithms", ""},
        {"ClientSignatureAlgorithms", "RSA+SHA256:ed25519"}, {"NumTickets", "5"}, {"NumTickets", "-1"}, {"NumTickets", "x"},
        {"NumTickets", " 3x"}, {"NumTickets", "4294967297"}, {"NumTickets", "2147483648"},
        {"NumTickets", "99999999999999999999"}, {"NumTickets", "-99999999999999999999"},
        {"RecordPadding", "99999999999999999999"}, {"RecordPadding", "0"}, {"RecordPadding", "-5"},
        {"RecordPadding", "512"}, {"RecordPadding", "16385"}, {"Bogus", "value"}, {NULL, "value"},
        {"", "value"}, {"no_tls1_3", NULL}, {"serverpref", "value"},
    };
    static const char *const files[][2] = {
        {"Certificate", "server.pem"}, {"Certificate", "missing.pem"}, {"PrivateKey", "server.key"},
        {"PrivateKey", "server.pem"}, {"ChainCAFile", "root.pem"}, {"ChainCAFile", "missing.pem"}, {"ChainCAPath", ""},
        {"VerifyCAFile", "root.pem"}, {"VerifyCAPath", ""}, {"VerifyCAFile", "missing.pem"}, {"RequestCAFile", "root.pem"},
        {"ClientCAFile", "root.pem"}, {"ClientCAFile", "missing.pem"},
        {"ClientCAPath", "missing"}, {"DHParameters", "missing.pem"}, {"DHParameters", "root.pem"},
        {"VerifyCAStore", "root.pem"}, {"ChainCAStore", "missing.pem"},
    };
    /* Without a context or a connection, the syntax is checked. */
    command(IN_FILE, NULL, 0, NOTHING, "Options", "-SessionTicket");
    command(IN_FILE, NULL, 0, NOTHING, "VerifyMode", "Bogus");
    command(IN_FILE, NULL, 0, NOTHING, "MinProtocol", "TLSv1.3");
    command(IN_FILE, NULL, 0, NOTHING, "NumTickets", "3");
    command(IN_FILE, NULL, 0, NOTHING, "RecordPadding", "0");
    command(IN_FILE, NULL, 0, NOTHING, "CipherString", "RC4");
    command(IN_FILE, NULL, 0, NOTHING, "VerifyCAFile", "missing.pem");
    for (int target = CONTEXT; target < TARGETS; target++) {
        for (int kind = 0; kind < 4; kind++)
            for (unsigned i = 0; i < COUNT(pairs); i++)
                command(IN_FILE, NULL, kind, target, pairs[i][0], pairs[i][1]);
        for (unsigned i = 0; i < COUNT(files); i++) {
            command(IN_FILE, NULL, 0, target, files[i][0], material(files[i][1]));
            command(IN_FILE | SSL_CONF_FLAG_REQUIRE_PRIVATE, NULL, 0, target, files[i][0], material(files[i][1]));
            command(IN_FILE & ~SSL_CONF_FLAG_CERTIFICATE, NULL, 0, target, files[i][0], material(files[i][1]));
            command(IN_FILE & ~SSL_CONF_FLAG_SERVER, NULL, 0, target, files[i][0], material(files[i][1]));
        }
        for (unsigned i = 0; i < COUNT(names); i++) {
            char dashed[64];
            snprintf(dashed, sizeof dashed, "-%s", names[i]);
            command(ON_LINE, NULL, 0, target, dashed, NULL);
            command(ON_LINE, NULL, 0, target, names[i], NULL);
            command(ON_LINE & ~SSL_CONF_FLAG_SERVER, NULL, 0, target, dashed, NULL);
            command(ON_LINE & ~SSL_CONF_FLAG_CLIENT, NULL, 0, target, dashed, NULL);
            command(IN_FILE, NULL, 0, target, names[i], NULL);
        }
        /* Without a side, no option has an effect; VerifyMode depends on the side. */
        for (unsigned sides = 0; sides < 16; sides += 4) {
            unsigned flags = SSL_CONF_FLAG_FILE | SSL_CONF_FLAG_SHOW_ERRORS | sides;
            command(flags, NULL, 0, target, "Options", "-SessionTicket");
            command(flags, NULL, 0, target, "Options", "ServerPreference");
            command(flags, NULL, 0, target, "VerifyMode", "Peer");
            command(flags, NULL, 0, target, "VerifyMode", "Require");
            command(flags, NULL, 0, target, "NumTickets", "1");
            command(flags & ~SSL_CONF_FLAG_SHOW_ERRORS, NULL, 0, target, "VerifyMode", "Bogus");
        }
        static const char *const prefixes[] = {"", "ssl", "-", "--ssl-", "PreFix"};
        static const char *const prefixed[] = {"sslMinProtocol", "SSLMinProtocol", "--ssl-min_protocol", "-min_protocol",
                                               "prefixminprotocol", "ssl", "MinProtocol", "min_protocol"};
        for (unsigned i = 0; i < COUNT(prefixes); i++)
            for (unsigned j = 0; j < COUNT(prefixed); j++) {
                command(IN_FILE, prefixes[i], 0, target, prefixed[j], "TLSv1.3");
                command(ON_LINE, prefixes[i], 0, target, prefixed[j], "TLSv1.3");
                command(IN_FILE | ON_LINE, prefixes[i], 0, target, prefixed[j], "TLSv1.3");
            }
    }
}

static void arguments(void) {
    static char *const lines[][4] = {
        {"-no_tls1_3", "rest", NULL, NULL}, {"-min_protocol", "TLSv1.3", "rest", NULL}, {"-min_protocol", NULL, NULL, NULL},
        {"-min_protocol", "Bogus", NULL, NULL}, {"-unknown", "value", NULL, NULL}, {"word", NULL, NULL, NULL},
        {NULL, NULL, NULL, NULL}, {"MinProtocol", "TLSv1.3", NULL, NULL},
    };
    for (unsigned i = 0; i < COUNT(lines); i++)
        for (int count = -1; count < 4; count++) {
            SSL_CTX *ctx = SSL_CTX_new(TLS_method());
            SSL_CONF_CTX *conf = SSL_CONF_CTX_new();
            char *line[4];
            memcpy(line, lines[i], sizeof line);
            char **place = line;
            int left = count;
            SSL_CONF_CTX_set_flags(conf, IN_FILE);
            SSL_CONF_CTX_set_ssl_ctx(conf, ctx);
            printf("arguments %u, count %d: %d", i, count, SSL_CONF_cmd_argv(conf, count < 0 ? NULL : &left, &place));
            printf(", left %d, used %d, flags %x, least %lx", left, (int)(place - line), SSL_CONF_CTX_set_flags(conf, 0),
                   (long)SSL_CTX_get_min_proto_version(ctx));
            print_errors();
            SSL_CONF_CTX_free(conf);
            SSL_CTX_free(ctx);
        }
}

/* Loads a file in the place of openssl.cnf. */
static void load(const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/conf-%ld.cnf", getenv("MATERIAL"), (long)getpid());
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fprintf(file, "openssl_conf = main\n[main]\nssl_conf = all\n[all]\n%s\n", text);
    fclose(file);
    CHECK(CONF_modules_load_file(path, NULL, 0) == 1);
    unlink(path);
}

/* The section of the system is for contexts of both sides: what only the other side has is no error. */
static void system_section(void) {
    static const char *const lines[] = {"Options = ServerPreference", "Options = -SessionTicket,NoResumptionOnRenegotiation",
                                        "VerifyMode = Require", "VerifyMode = Peer", "VerifyMode = RequestPostHandshake",
                                        "NumTickets = 5", "MinProtocol = TLSv1.3"};
    for (unsigned i = 0; i < COUNT(lines); i++) {
        char text[256];
        snprintf(text, sizeof text, "system_default = section\n[section]\n%s", lines[i]);
        load("other = section\n[section]\nBogus = 1");
        for (int kind = 0; kind < 4; kind++) {
            SSL_CTX *plain = SSL_CTX_new(method(kind));
            struct before before = state_of(plain);
            SSL_CTX_free(plain);
            load(text);
            SSL_CTX *ctx = SSL_CTX_new(method(kind));
            CHECK(ctx != NULL);
            printf("system %s, method %d", lines[i], kind);
            print_state(ctx, NULL, before);
            print_errors();
            SSL_CTX_free(ctx);
            load("other = section\n[section]\nBogus = 1");
        }
    }
}

/* Sections of a file in the place of openssl.cnf. */
static void sections(void) {
    static const char *const lines[] = {"MinProtocol = TLSv1.3", "VerifyMode = require", "Bogus = 1", "VerifyMode = bogus",
                                        "Options = -sessionticket", "CipherString = RC4"};
    for (unsigned i = 0; i < COUNT(lines); i++) {
        char text[256];
        snprintf(text, sizeof text, "name%u = section\n[section]\n%s", i, lines[i]);
        load(text);
        for (int target = CONTEXT; target < TARGETS; target++) {
            char name[16];
            snprintf(name, sizeof name, "name%u", i);
            SSL_CTX *ctx = SSL_CTX_new(TLS_method());
            SSL *ssl = target == CONNECTION ? SSL_new(ctx) : NULL;
            struct before before = state_of(ctx);
            printf("section %s, target %d: %d", lines[i], target,
                   ssl != NULL ? SSL_config(ssl, name) : SSL_CTX_config(ctx, name));
            print_state(ctx, ssl, before);
            print_errors();
            printf("missing section: %d", ssl != NULL ? SSL_config(ssl, "missing") : SSL_CTX_config(ctx, "missing"));
            print_errors();
            SSL_free(ssl);
            SSL_CTX_free(ctx);
        }
    }
}

int main(void) {
    types();
    commands();
    arguments();
    sections();
    system_section();
    /* Nothing is accepted without effect. */
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    SSL_CONF_CTX *conf = SSL_CONF_CTX_new();
    SSL_CONF_CTX_set_flags(conf, IN_FILE);
    SSL_CONF_CTX_set_ssl_ctx(conf, ctx);
    CHECK(SSL_CONF_cmd(conf, "VerifyMode", "require") == 2 && SSL_CTX_get_verify_mode(ctx) == 3);
    CHECK(SSL_CONF_cmd(conf, "Bogus", "value") == -2);
    SSL_CONF_CTX_free(conf);
    SSL_CTX_free(ctx);
    return 0;
}
