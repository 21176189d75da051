// A program on the library that tools/c-library.sh builds with --fips: tools/test-c-fips.sh.
//
// usage: fips ROOTS
// It makes configurations with and without TERCEL_OPTION_FIPS, and prints the module and the status of the first one.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tercel.h"

static void need(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

// A client's configuration; NULL if it is refused because it is not approved.
static const tercel_config *config_with(const tercel_roots *roots, uint64_t fips, const uint16_t *group) {
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_CLIENT);
    need(tercel_config_builder_set_roots(builder, roots) == TERCEL_OK, "roots");
    need(tercel_config_builder_set_option(builder, TERCEL_OPTION_FIPS, fips) == TERCEL_OK, "option");
    if (group != NULL) {
        need(tercel_config_builder_set_list(builder, TERCEL_LIST_GROUPS, group, 1) == TERCEL_OK, "groups");
    }
    const tercel_config *config = NULL;
    tercel_status status = tercel_config_builder_build(builder, &config);
    need(status == TERCEL_OK || status == TERCEL_CONFIG_NOT_FIPS, "build");
    tercel_config_builder_free(builder);
    return config;
}

int main(int count, char **arguments) {
    need(count == 2, "usage: fips ROOTS");
    static uint8_t pem[65536];
    FILE *file = fopen(arguments[1], "rb");
    need(file != NULL, "the file of roots");
    size_t len = fread(pem, 1, sizeof pem, file);
    fclose(file);
    const tercel_roots *roots;
    need(tercel_roots_from_pem(pem, len, &roots) == TERCEL_OK, "roots");

    const char *module = tercel_fips_module();
    need(module != NULL, "the library has no FIPS module");
    const tercel_config *approved = config_with(roots, 1, NULL);
    need(approved != NULL, "the option refuses the default configuration");
    tercel_fips status = tercel_config_fips(approved);
    need(status == TERCEL_FIPS_CERTIFIED || status == TERCEL_FIPS_IN_PROCESS, "the configuration is not approved");

    // Without the option, the first rule that the configuration breaks is that of ChaCha20.
    const tercel_config *plain = config_with(roots, 0, NULL);
    need(plain != NULL && tercel_config_fips(plain) == TERCEL_FIPS_CIPHER_SUITE, "the reason without the option");
    const uint16_t x25519 = 29;
    need(config_with(roots, 1, &x25519) == NULL, "X25519 alone is accepted");

    printf("module %s, status %" PRIu64 "\n", module, status);
    tercel_config_release(approved);
    tercel_config_release(plain);
    tercel_roots_release(roots);
    return 0;
}
