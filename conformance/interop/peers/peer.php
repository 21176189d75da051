<?php
// A TLS echo server and a stdin/stdout TLS client over PHP's streams. The command line is described in
// src/programs/driver.rs.

const WORDS = "0123\n";
const CURVES = ["x25519" => "X25519", "secp256r1" => "prime256v1", "secp384r1" => "secp384r1", "secp521r1" => "secp521r1"];

set_error_handler(function (int $level, string $message) {
    fwrite(STDERR, "$message\n");
    return true;
});

$options = ["connections" => "1"];
for ($at = 2; $at + 1 < $argc; $at += 2) {
    $options[substr($argv[$at], 2)] = $argv[$at + 1];
}
match ($argv[1] ?? "") {
    "abilities" => abilities(),
    "serve" => serve($options),
    "connect" => connectAll($options),
    default => fail("say abilities, serve or connect"),
};

function abilities(): void
{
    echo "keys rsa2048 p256 p384 p521 ed25519\n";
    echo "groups ", implode(" ", array_keys(CURVES)), "\n";
    echo "limits suite1.2\n";
    // PHP's streams have no sessions: the client gets none, and the server does not keep its ticket keys.
    echo "resumes\ngives\n";
    // PHP's server can request a certificate but not require it; the server below closes without an alert.
    echo "lacks alerts\n";
}

function serve(array $options): void
{
    $ssl = shared($options);
    if (isset($options["client-ca"])) {
        $ssl += [
            "verify_peer" => true, "verify_peer_name" => false, "capture_peer_cert" => true,
            "cafile" => $options["client-ca"],
        ];
    }
    $method = match ($options["version"] ?? "") {
        "1.2" => STREAM_CRYPTO_METHOD_TLSv1_2_SERVER,
        "1.3" => STREAM_CRYPTO_METHOD_TLSv1_3_SERVER,
        default => STREAM_CRYPTO_METHOD_TLSv1_2_SERVER | STREAM_CRYPTO_METHOD_TLSv1_3_SERVER,
    };
    $context = stream_context_create(["ssl" => $ssl]);
    $flags = STREAM_SERVER_BIND | STREAM_SERVER_LISTEN;
    $listener = stream_socket_server("tcp://127.0.0.1:{$options["port"]}", $code, $message, $flags, $context)
        or fail($message);
    while (true) {
        $connection = stream_socket_accept($listener, -1) or fail("cannot accept");
        $good = stream_socket_enable_crypto($connection, true, $method) === true;
        $shown = isset(stream_context_get_options($connection)["ssl"]["peer_certificate"]);
        if ($good && ($shown || !isset($options["client-ca"]))) {
            while (($data = fread($connection, 16384)) !== false && $data !== "") {
                writeAll($connection, $data);
            }
        }
        fclose($connection);
    }
}

function connectAll(array $options): void
{
    $context = stream_context_create(["ssl" => shared($options) + [
        "cafile" => $options["ca"], "peer_name" => $options["name"], "verify_peer" => true,
        "SNI_enabled" => $options["name"] !== "127.0.0.1",
        "crypto_method" => match ($options["version"] ?? "") {
            "1.2" => STREAM_CRYPTO_METHOD_TLSv1_2_CLIENT,
            "1.3" => STREAM_CRYPTO_METHOD_TLSv1_3_CLIENT,
            default => STREAM_CRYPTO_METHOD_TLSv1_2_CLIENT | STREAM_CRYPTO_METHOD_TLSv1_3_CLIENT,
        },
    ]]);
    for ($left = (int) $options["connections"]; $left > 1; $left--) {
        $connection = connected($options, $context);
        writeAll($connection, WORDS);
        $heard = "";
        while (strlen($heard) < strlen(WORDS)) {
            $data = fread($connection, 64);
            $data !== false && $data !== "" or fail("the server ended first");
            $heard .= $data;
        }
        fwrite(STDOUT, $heard);
        fclose($connection);
    }
    carry(connected($options, $context));
}

function connected(array $options, mixed $context): mixed
{
    $address = "tls://127.0.0.1:{$options["port"]}";
    $connection = stream_socket_client($address, $code, $message, 15, STREAM_CLIENT_CONNECT, $context);
    return $connection ?: fail("cannot connect: $message");
}

function carry(mixed $connection): void
{
    stream_set_blocking($connection, false);
    stream_set_blocking(STDIN, false);
    while (true) {
        $data = fread($connection, 16384);
        if ($data !== false && $data !== "") {
            writeAll(STDOUT, $data);
            continue;
        }
        feof($connection) and fail("the server ended first");
        $data = fread(STDIN, 16384);
        if ($data !== false && $data !== "") {
            writeAll($connection, $data);
            continue;
        }
        if (feof(STDIN)) {
            fclose($connection);
            return;
        }
        $readers = [$connection, STDIN];
        $none = null;
        stream_select($readers, $none, $none, 0, 5000);
    }
}

function writeAll(mixed $stream, string $data): void
{
    while ($data !== "") {
        $count = fwrite($stream, $data);
        if ($count === false) {
            return;
        }
        $data = substr($data, $count);
        if ($count === 0) {
            usleep(1000);
        }
    }
}

function shared(array $options): array
{
    $ssl = [];
    if (isset($options["cert"])) {
        $ssl += ["local_cert" => $options["cert"], "local_pk" => $options["key"]];
    }
    if (isset($options["suite"])) {
        // TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 -> ECDHE-RSA-AES128-GCM-SHA256
        $names = ["TLS_" => "", "_WITH_" => "-", "AES_" => "AES", "POLY1305_SHA256" => "POLY1305", "_" => "-"];
        $ssl["ciphers"] = strtr($options["suite"], $names);
    }
    return $ssl;
}

function fail(string $message): never
{
    fwrite(STDERR, "$message\n");
    exit(1);
}
