// Tests of tercel.hpp: handshakes in memory, errors, and the life of handles.
//
// usage: test FOLDER      with root.pem, server.pem and server.key

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <tercel.hpp>

#define CHECK(condition) check((condition), #condition, __LINE__)

static void check(bool holds, const char *what, int line) {
    if (!holds) {
        std::fprintf(stderr, "line %d: %s\n", line, what);
        std::exit(1);
    }
}

static std::string folder;

static std::string read(const std::string &name) {
    std::ifstream file(folder + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

static tercel::config client_config() {
    auto roots = tercel::roots_from_pem(tercel::as_bytes(read("root.pem")));
    CHECK(bool(roots));
    tercel::config_builder builder(TERCEL_CLIENT);
    CHECK(bool(builder.trust(roots.value)));
    CHECK(bool(builder.content(TERCEL_CONTENT_ALPN, tercel::as_bytes("\x02h2"))));
    auto config = builder.build();
    CHECK(bool(config));
    return config.value;
}

static tercel::config server_config(tercel_questions questions = 0) {
    auto credential = tercel::credential_from_pem(tercel::as_bytes(read("server.pem")), tercel::as_bytes(read("server.key")));
    CHECK(bool(credential));
    tercel::config_builder builder(TERCEL_SERVER);
    if (questions == 0) {
        CHECK(bool(builder.add(credential.value)));
    } else {
        CHECK(bool(builder.ask(questions)));
    }
    CHECK(bool(builder.content(TERCEL_CONTENT_ALPN, tercel::as_bytes("\x02h2"))));
    auto config = builder.build();
    CHECK(bool(config));
    return config.value;
}

struct endpoint {
    tercel::handshake handshake;
    tercel::connection connection;
    tercel::input input;
    tercel::output output;
};

static void deliver(endpoint &from, endpoint &to) {
    CHECK(from.output.pending().empty() || bool(to.input.append(from.output.pending())));
    CHECK(bool(from.output.sent(from.output.pending().size())));
}

// Answers SELECT_CREDENTIAL with the credential for the requested name.
static void answer(endpoint &side) {
    CHECK(side.handshake.question() == TERCEL_QUESTION_SELECT_CREDENTIAL);
    std::string name(tercel::as_text(side.handshake.question_bytes(TERCEL_FIELD_SERVER_NAME)));
    CHECK(name == "server.test");
    auto credential = tercel::credential_from_pem(tercel::as_bytes(read("server.pem")), tercel::as_bytes(read("server.key")));
    CHECK(tercel_answer_credential(side.handshake.get(), credential.value.get()) == TERCEL_OK);
}

// Continues a handshake. Returns the status.
static tercel::status advance(endpoint &side) {
    while (side.handshake && !side.connection) {
        auto step = side.handshake.advance(side.input, side.output);
        if (!step || step.value == TERCEL_NEXT_RECEIVE) {
            return step.status;
        }
        if (step.value == TERCEL_NEXT_ANSWER) {
            answer(side);
            continue;
        }
        CHECK(step.value == TERCEL_NEXT_CONNECTED);
        auto taken = side.handshake.take_connection();
        CHECK(bool(taken));
        side.connection = std::move(taken.value);
        side.handshake.reset();
    }
    return TERCEL_OK;
}

static std::string received(endpoint &side) {
    std::string text;
    for (;;) {
        auto found = side.connection.open(side.input);
        CHECK(bool(found));
        if (found.value.event != TERCEL_EVENT_DATA) {
            return text + (found.value.event == TERCEL_EVENT_CLOSED ? "." : "");
        }
        text += tercel::as_text(found.value.data);
    }
}

static void connect(const tercel::config &client_config, const tercel::config &server_config) {
    endpoint client, server;
    client.handshake = std::move(tercel::handshake::client(client_config, "server.test").value);
    server.handshake = std::move(tercel::handshake::server(server_config).value);
    CHECK(client.handshake && server.handshake);
    for (int turn = 0; turn < 6 && !(client.connection && server.connection); turn++) {
        CHECK(bool(advance(client)));
        deliver(client, server);
        CHECK(bool(advance(server)));
        deliver(server, client);
    }
    CHECK(client.connection && server.connection);
    CHECK(client.connection.fact(TERCEL_FACT_VERSION) == 0x0304);
    CHECK(tercel::as_text(server.connection.fact_bytes(TERCEL_FACT_ALPN)) == "h2");
    CHECK(server.connection.fact_bytes(TERCEL_FACT_CERTIFICATE).empty());
    std::string text(100000, 'x');
    CHECK(bool(client.connection.seal(tercel::as_bytes(text), client.output)));
    CHECK(bool(client.connection.close(client.output)));
    deliver(client, server);
    CHECK(received(server) == text + ".");
    CHECK(bool(server.connection.end_of_input()));
    CHECK(client.connection.end_of_input().category() == TERCEL_CLASS_TRUNCATED);
    CHECK(!client.connection.error().empty());
    CHECK(!client.connection.seal(tercel::as_bytes("more"), client.output).ok());
}

static void errors() {
    auto none = tercel::roots_from_pem(tercel::as_bytes("nothing"));
    CHECK(!none && !none.value && none.status.code() == TERCEL_CONFIG_PEM_NOTHING_FOUND);
    CHECK(none.status.category() == TERCEL_CLASS_CONFIG && none.status.alert() == -1);
    CHECK(std::string(none.status.text()).size() > 10);
    tercel::config_builder builder(TERCEL_SERVER);
    CHECK(!builder.option(9999, 1));
    CHECK(!builder.build() && !builder.error().empty());
    CHECK(!tercel::config_builder(99));
    auto bad_name = tercel::handshake::client(client_config(), "not a name");
    CHECK(!bad_name && !bad_name.value);
    CHECK(bad_name.status.code() == TERCEL_CONFIG_BAD_SERVER_NAME);

    // A client that does not trust the server says so.
    endpoint client, server;
    client.handshake = std::move(tercel::handshake::client(client_config(), "other.test").value);
    server.handshake = std::move(tercel::handshake::server(server_config()).value);
    CHECK(bool(advance(client)));
    deliver(client, server);
    CHECK(bool(advance(server)));
    deliver(server, client);
    auto refused = advance(client);
    CHECK(refused.code() == TERCEL_REFUSED_NAME_MISMATCH && refused.alert() == 42);
    CHECK(client.handshake.error().find("other.test") != std::string::npos);
    deliver(client, server);
    CHECK(advance(server).code() == (TERCEL_CLASS_ALERT | 42));
    CHECK(!server.handshake.take_connection());
}

// Copies and moves of handles.
static void handles() {
    tercel::config first = client_config(), second = first, third;
    CHECK(first.get() == second.get() && !third);
    third = std::move(first);
    CHECK(!first && third.get() == second.get());
    second = second;
    second = tercel::config();
    CHECK(!second && bool(third));
    tercel::handshake made = std::move(tercel::handshake::client(third, "server.test").value);
    third = tercel::config();
    CHECK(bool(made));
    static_assert(!std::is_copy_constructible<tercel::handshake>::value, "owned handles have one owner");
    static_assert(std::is_nothrow_move_constructible<tercel::connection>::value, "handles move");
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    folder = arguments[1];
    tercel::config client = client_config(), server = server_config();
    connect(client, server);
    connect(client, server_config(TERCEL_ASK_SELECT_CREDENTIAL));
    errors();
    handles();
    std::vector<std::thread> threads;
    for (int at = 0; at < 4; at++) {
        threads.emplace_back([client, server] { connect(client, server); });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    std::puts("passed");
}
