// The values that the shim offers and accepts. If the runner sets no flag, they are BoringSSL's defaults, on which its
// tests rely.

#include <string.h>

#include "shim.h"

enum {
    AES_128 = 0x1301,
    AES_256 = 0x1302,
    CHACHA20 = 0x1303,
    ECDSA_AES_128 = 0xc02b,
    ECDSA_AES_256 = 0xc02c,
    RSA_AES_128 = 0xc02f,
    RSA_AES_256 = 0xc030,
    RSA_CHACHA20 = 0xcca8,
    ECDSA_CHACHA20 = 0xcca9,
};

enum { P256 = 23, P384 = 24, P521 = 25, X25519 = 29, MLKEM1024 = 0x0202 };
enum { SECP256R1_MLKEM768 = 0x11eb, X25519_MLKEM768 = 0x11ec, SECP384R1_MLKEM1024 = 0x11ed };

static void add(list *list, uint16_t code) {
    if (list->count < LIST) {
        list->codes[list->count++] = code;
    }
    list->set = true;
}

static bool contains(const list *list, uint16_t code) {
    for (size_t at = 0; at < list->count; at++) {
        if (list->codes[at] == code) {
            return true;
        }
    }
    return false;
}

static list of(const uint16_t *codes, size_t count) {
    list made = {.set = true, .count = count};
    memcpy(made.codes, codes, count * sizeof codes[0]);
    return made;
}

#define OF(...) of((const uint16_t[]){__VA_ARGS__}, sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))

bool has_fast_aes(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#else
    return true;
#endif
}

list versions(const options *options) {
    list made = {.set = true};
    uint64_t highest = options->max_version == 0 ? UINT16_MAX : options->max_version;
    for (uint16_t version = 0x0304; version >= 0x0303; version--) {
        bool off = version == 0x0304 ? options->no_tls13 : options->no_tls12;
        if (!off && version >= options->min_version && version <= highest) {
            add(&made, version);
        }
    }
    return made;
}

// Sorts the codes from `begin` on by their place in the client's list; unknown ones stay behind.
static void order(list *codes, size_t begin, const list *client) {
    for (size_t at = begin + 1; client != NULL && at < codes->count; at++) {
        for (size_t back = at; back > begin; back--) {
            size_t here = client->count, before = client->count;
            for (size_t place = client->count; place-- > 0;) {
                here = client->codes[place] == codes->codes[back] ? place : here;
                before = client->codes[place] == codes->codes[back - 1] ? place : before;
            }
            if (here >= before) {
                break;
            }
            uint16_t moved = codes->codes[back];
            codes->codes[back] = codes->codes[back - 1];
            codes->codes[back - 1] = moved;
        }
    }
}

static void known(const list *groups) {
    const list all = OF(X25519_MLKEM768, X25519, P256, P384, P521, SECP256R1_MLKEM768, SECP384R1_MLKEM1024, MLKEM1024);
    for (size_t at = 0; at < groups->count; at++) {
        if (!contains(&all, groups->codes[at])) {
            unimplemented("a group");
        }
    }
}

list groups(const options *options, const list *client) {
    list made = {.set = false};
    if (options->curves.count > 0) {
        known(&options->curves);
        size_t begin = 0;
        for (size_t at = 0; at < options->curves.count; at++) {
            bool joined = at > 0 && at - 1 < options->curves_flags.count && options->curves_flags.codes[at - 1] == 1;
            if (!joined) {
                order(&made, begin, client);
                begin = made.count;
            }
            add(&made, options->curves.codes[at]);
        }
        order(&made, begin, client);
        return made;
    }
    switch (options->policy) {
    case FIPS_202205:
        return OF(P256, P384);
    case WPA_202304:
        return OF(P384);
    case CNSA_1:
        return OF(MLKEM1024, P384);
    case CNSA_2:
        return OF(MLKEM1024);
    default:
        return made;
    }
}

// The groups of the key shares, if BoringSSL's choice differs from the library's: the best classic group and the best
// one with ML-KEM.
list key_shares(const options *options) {
    const list hybrids = OF(X25519_MLKEM768, SECP256R1_MLKEM768, SECP384R1_MLKEM1024);
    const list *curves = &options->curves;
    list made = {.set = false};
    if (options->key_shares.set) {
        known(&options->key_shares);
        return options->key_shares;
    }
    if (curves->count == 0 || contains(&hybrids, curves->codes[0])) {
        return made;
    }
    size_t best[2] = {curves->count, curves->count};
    for (size_t at = curves->count; at-- > 0;) {
        uint16_t code = curves->codes[at];
        best[contains(&hybrids, code) || code == MLKEM1024] = at;
    }
    if (best[0] < curves->count && best[1] < curves->count) {
        bool classic_first = best[0] < best[1];
        add(&made, curves->codes[best[classic_first ? 0 : 1]]);
        add(&made, curves->codes[best[classic_first ? 1 : 0]]);
    }
    return made;
}

static list all_tls12(void) {
    if (has_fast_aes()) {
        return OF(ECDSA_AES_128, RSA_AES_128, ECDSA_AES_256, RSA_AES_256, ECDSA_CHACHA20, RSA_CHACHA20);
    }
    return OF(ECDSA_CHACHA20, RSA_CHACHA20, ECDSA_AES_128, RSA_AES_128, ECDSA_AES_256, RSA_AES_256);
}

static const struct {
    const char *name;
    uint16_t code;
} SUITES[] = {
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", ECDSA_AES_128},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", ECDSA_AES_256},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", RSA_AES_128},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", RSA_AES_256},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", RSA_CHACHA20},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", ECDSA_CHACHA20},
};

// The suites of a keyword or a name in OpenSSL's notation. Names of suites that the library lacks have none.
static list matching(const char *word, size_t len) {
    list made = {.set = true}, all = all_tls12();
    bool is_name = len > 4 && strncmp(word, "TLS_", 4) == 0;
    for (size_t at = 0; at < all.count; at++) {
        const char *name = NULL;
        for (size_t suite = 0; suite < 6; suite++) {
            name = SUITES[suite].code == all.codes[at] ? SUITES[suite].name : name;
        }
#define IS(text) (len == strlen(text) && strncmp(word, text, len) == 0)
        bool fits = false;
        if (is_name) {
            fits = IS(name);
        } else if (IS("ALL") || IS("DEFAULT")) {
            fits = true;
        } else if (IS("AES")) {
            fits = strstr(name, "_AES_") != NULL;
        } else if (IS("AES128")) {
            fits = strstr(name, "_AES_128_") != NULL;
        } else if (IS("AES256")) {
            fits = strstr(name, "_AES_256_") != NULL;
        } else if (!IS("3DES")) {
            unimplemented("a keyword of cipher suites");
        }
        if (fits) {
            add(&made, all.codes[at]);
        }
    }
    return made;
}

// Appends the suites of a string: terms with colons between them, `[A|B]` for equal ones, `!A` to remove.
static void parse_suites(const char *string, const list *client, list *made) {
    size_t before = made->count;
    while (*string != 0) {
        size_t len = strcspn(string, ":");
        if (*string == '!') {
            list unwanted = matching(string + 1, len - 1);
            size_t kept = before;
            for (size_t at = before; at < made->count; at++) {
                if (!contains(&unwanted, made->codes[at])) {
                    made->codes[kept++] = made->codes[at];
                }
            }
            made->count = kept;
        } else if (*string == '[') {
            size_t begin = made->count;
            for (const char *word = string + 1; word < string + len;) {
                size_t part = strcspn(word, "|]:");
                list found = matching(word, part);
                for (size_t at = 0; at < found.count; at++) {
                    add(made, found.codes[at]);
                }
                word += part + 1;
            }
            order(made, begin, client);
        } else {
            list found = matching(string, len);
            for (size_t at = 0; at < found.count; at++) {
                add(made, found.codes[at]);
            }
        }
        string += len + (string[len] == ':');
    }
    if (made->count == before) {
        unimplemented("cipher suites");
    }
}

list suites(const options *options, const list *client) {
    switch (options->policy) {
    case FIPS_202205:
        return OF(AES_128, ECDSA_AES_128, RSA_AES_128, AES_256, ECDSA_AES_256, RSA_AES_256);
    case WPA_202304:
    case CNSA_1:
        return OF(AES_256, ECDSA_AES_256, RSA_AES_256);
    case CNSA_2:
        return OF(AES_256);
    case CNSA_202407: {
        list made = OF(AES_256, AES_128, CHACHA20), others = all_tls12();
        for (size_t at = 0; at < others.count; at++) {
            add(&made, others.codes[at]);
        }
        return made;
    }
    default:
        break;
    }
    list made = {.set = false};
    if (options->cipher != NULL) {
        // The string does not affect TLS 1.3.
        made = has_fast_aes() ? OF(AES_128, AES_256, CHACHA20) : OF(CHACHA20, AES_128, AES_256);
        parse_suites(options->cipher, client, &made);
    }
    return made;
}

// BoringSSL's schemes, without P-521 and Ed25519.
static list default_schemes(policy policy) {
    const list all = OF(0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601);
    list made = {.set = true};
    for (size_t at = 0; at < all.count; at++) {
        uint16_t code = all.codes[at];
        bool sha384 = code == 0x0503 || code == 0x0805 || code == 0x0501;
        bool sha256 = code == 0x0403 || code == 0x0804 || code == 0x0401;
        bool wanted = true;
        if (policy == CNSA_1 || policy == CNSA_2) {
            wanted = sha384;
        } else if (policy == WPA_202304) {
            wanted = !sha256;
        }
        if (wanted) {
            add(&made, code);
        }
    }
    return made;
}

list verified_schemes(const options *options) {
    return options->verify_prefs.count > 0 ? options->verify_prefs : default_schemes(options->policy);
}

list signing_schemes(const credential_options *credential, const options *options) {
    if (credential->signing_prefs.count > 0) {
        return credential->signing_prefs;
    }
    list none = {.set = false};
    return options->policy == NO_POLICY ? none : default_schemes(options->policy);
}
