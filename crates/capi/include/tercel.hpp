// C++ over the C interface of Tercel: handles that free themselves, spans of bytes, and results without exceptions.
//
// C++17 or newer; with C++20, spans are std::span. What is not here is called as in C, with get(). The texts of
// tercel.h apply: which function may be called when, and from which thread.

#ifndef TERCEL_HPP
#define TERCEL_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#if __cplusplus >= 202002L
#include <span>
#endif

#include "tercel.h"

namespace tercel {

#if __cplusplus >= 202002L
template <class T>
using span = std::span<T>;
#else
// As much of std::span as this header needs.
template <class T>
class span {
public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class Container, class = decltype(std::declval<Container &>().data())>
    constexpr span(Container &&from) noexcept : data_(from.data()), size_(from.size()) {}
    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t at) const noexcept { return data_[at]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};
#endif

using bytes = span<const std::uint8_t>;
using room = span<std::uint8_t>;

// The bytes of a text.
inline bytes as_bytes(std::string_view text) noexcept {
    return {reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}
inline std::string_view as_text(bytes data) noexcept {
    return {reinterpret_cast<const char *>(data.data()), data.size()};
}
inline bytes from_c(tercel_bytes data) noexcept { return {data.data, data.len}; }

// The result of a function: success, or a reason.
class [[nodiscard]] status {
public:
    constexpr status(tercel_status code = TERCEL_OK) noexcept : code_(code) {}
    constexpr bool ok() const noexcept { return code_ == TERCEL_OK; }
    constexpr explicit operator bool() const noexcept { return ok(); }
    constexpr tercel_status code() const noexcept { return code_; }
    // One of the constants TERCEL_CLASS_...
    tercel_status category() const noexcept { return tercel_status_class(code_); }
    const char *text() const noexcept { return tercel_status_text(code_); }
    // The alert that the peer gets because of this status, -1 if none.
    std::int32_t alert() const noexcept { return tercel_status_alert(code_); }

private:
    tercel_status code_;
};

// A status and a value; the value is empty or 0 after an error.
template <class T>
struct [[nodiscard]] result {
    tercel::status status;
    T value{};
    explicit operator bool() const noexcept { return status.ok(); }
};

namespace detail {
// Frees handles with a function of the interface.
template <auto Free>
struct free_with {
    template <class T>
    void operator()(T *handle) const noexcept { Free(handle); }
};
template <class T, auto Free>
using owned = std::unique_ptr<T, free_with<Free>>;

// A shared handle, whose copies are references to the same object.
template <class T, auto Retain, auto Release>
class shared {
public:
    shared() noexcept = default;
    explicit shared(const T *handle) noexcept : handle_(handle) {}
    shared(const shared &other) noexcept : handle_(other.handle_ ? Retain(other.handle_) : nullptr) {}
    shared(shared &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    shared &operator=(shared other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~shared() { Release(handle_); }
    const T *get() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

private:
    const T *handle_ = nullptr;
};

// Calls a function whose last argument is the place of a new handle.
template <class Handle, class Raw, class Function, class... Arguments>
result<Handle> make(Function function, Arguments... arguments) {
    Raw *raw = nullptr;
    status made = function(arguments..., &raw);
    return {made, Handle(raw)};
}

// The text that a function writes to memory of the caller.
template <class Handle, class Function>
std::string text(Function function, const Handle *handle) {
    std::string text(function(handle, nullptr, 0), '\0');
    if (!text.empty()) {
        function(handle, text.data(), text.size() + 1);
    }
    return text;
}
}  // namespace detail

using roots = detail::shared<tercel_roots, tercel_roots_retain, tercel_roots_release>;
using credential = detail::shared<tercel_credential, tercel_credential_retain, tercel_credential_release>;
using tickets = detail::shared<tercel_tickets, tercel_tickets_retain, tercel_tickets_release>;
using psk = detail::shared<tercel_psk, tercel_psk_retain, tercel_psk_release>;
using config = detail::shared<tercel_config, tercel_config_retain, tercel_config_release>;

inline result<roots> system_roots() { return detail::make<roots, const tercel_roots>(tercel_roots_system); }
inline result<roots> roots_from_pem(bytes pem) {
    return detail::make<roots, const tercel_roots>(tercel_roots_from_pem, pem.data(), pem.size());
}
inline result<credential> credential_from_pem(bytes chain, bytes key) {
    return detail::make<credential, const tercel_credential>(tercel_credential_from_pem, chain.data(), chain.size(),
                                                             key.data(), key.size());
}

// A builder of configurations. The functions for settings return their status.
class config_builder : public detail::owned<tercel_config_builder, tercel_config_builder_free> {
public:
    explicit config_builder(tercel_side side) noexcept : unique_ptr(tercel_config_builder_new(side)) {}
    status option(tercel_option option, std::uint64_t value) { return tercel_config_builder_set_option(get(), option, value); }
    status list(tercel_list list, span<const std::uint16_t> codes) {
        return tercel_config_builder_set_list(get(), list, codes.data(), codes.size());
    }
    status content(tercel_content content, bytes data) {
        return tercel_config_builder_set_content(get(), content, data.data(), data.size());
    }
    status trust(const roots &roots) { return tercel_config_builder_set_roots(get(), roots.get()); }
    status add(const credential &credential) { return tercel_config_builder_add_credential(get(), credential.get()); }
    status add(const psk &psk) { return tercel_config_builder_add_psk(get(), psk.get()); }
    status seal_tickets(const tickets &tickets) { return tercel_config_builder_set_tickets(get(), tickets.get()); }
    status ask(tercel_questions questions) { return tercel_config_builder_set_questions(get(), questions); }
    result<config> build() { return detail::make<config, const tercel_config>(tercel_config_builder_build, get()); }
    std::string error() const { return detail::text(tercel_config_builder_error, get()); }
};

// Received bytes.
class input : public detail::owned<tercel_input, tercel_input_free> {
public:
    explicit input(std::size_t capacity = 0) noexcept : unique_ptr(tercel_input_new(capacity)) {}
    room space() {
        std::size_t len = 0;
        std::uint8_t *data = tercel_input_space(get(), &len);
        return {data, len};
    }
    status filled(std::size_t count) { return tercel_input_filled(get(), count); }
    status append(bytes data) { return tercel_input_append(get(), data.data(), data.size()); }
    bytes unread() const { return from_c(tercel_input_unread(get())); }
};

// Bytes to send.
class output : public detail::owned<tercel_output, tercel_output_free> {
public:
    output() noexcept : unique_ptr(tercel_output_new()) {}
    bytes pending() const { return from_c(tercel_output_bytes(get())); }
    status sent(std::size_t count) { return tercel_output_sent(get(), count); }
};

// An established connection.
class connection : public detail::owned<tercel_connection, tercel_connection_free> {
public:
    // What open found; data is valid until the next function with the input.
    struct opened {
        tercel_event event = TERCEL_EVENT_RECEIVE;
        bytes data;
    };
    connection() noexcept = default;
    explicit connection(tercel_connection *handle) noexcept : unique_ptr(handle) {}
    status seal(bytes data, output &output) {
        return tercel_connection_seal_to(get(), data.data(), data.size(), output.get());
    }
    result<opened> open(input &input) {
        tercel_bytes data{};
        tercel_event event = TERCEL_EVENT_RECEIVE;
        status found = tercel_connection_open_in_place(get(), input.get(), &data, &event);
        return {found, {event, from_c(data)}};
    }
    status flush(output &output) { return tercel_connection_flush(get(), output.get()); }
    status close(output &output) { return tercel_connection_close(get(), output.get()); }
    status end_of_input() { return tercel_connection_end_of_input(get()); }
    std::uint64_t fact(tercel_fact fact) const { return tercel_connection_fact(get(), fact); }
    bytes fact_bytes(tercel_fact fact, std::size_t index = 0) const {
        return from_c(tercel_connection_fact_bytes(get(), fact, index));
    }
    std::string error() const { return detail::text(tercel_connection_error, get()); }
};

// A handshake in progress.
class handshake : public detail::owned<tercel_handshake, tercel_handshake_free> {
public:
    handshake() noexcept = default;
    explicit handshake(tercel_handshake *handle) noexcept : unique_ptr(handle) {}
    static result<handshake> client(const config &config, std::string_view name, std::uint16_t port = 0) {
        return detail::make<handshake, tercel_handshake>(tercel_handshake_client, config.get(), name.data(), name.size(), port);
    }
    static result<handshake> server(const config &config) {
        return detail::make<handshake, tercel_handshake>(tercel_handshake_server, config.get());
    }
    result<tercel_next> advance(input &input, output &output) {
        tercel_next next = TERCEL_NEXT_RECEIVE;
        status step = tercel_handshake_advance(get(), input.get(), output.get(), &next);
        return {step, next};
    }
    status end_of_input() { return tercel_handshake_end_of_input(get()); }
    tercel_question question() const { return tercel_handshake_question(get()); }
    bytes question_bytes(tercel_field field, std::size_t index = 0) const {
        return from_c(tercel_question_bytes(get(), field, index));
    }
    result<connection> take_connection() {
        return detail::make<connection, tercel_connection>(tercel_handshake_take_connection, get());
    }
    std::string error() const { return detail::text(tercel_handshake_error, get()); }
};

}  // namespace tercel

#endif  // TERCEL_HPP
