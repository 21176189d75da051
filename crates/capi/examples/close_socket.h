// Closing a blocking socket so that nothing that was sent is lost.

#ifndef CLOSE_SOCKET_H
#define CLOSE_SOCKET_H

#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// The limits of the wait for the peer's end.
enum { MAX_DRAINED_BYTES = 1 << 20, MAX_DRAIN_MILLISECONDS = 2000 };

static inline long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000L + now.tv_nsec / 1000000L;
}

// Closes a socket so that the peer receives all that was sent. Closing it with unread bytes, such as the peer's tickets
// or requests, would reset the connection: so the writing side ends first, and the rest is read within limits.
static inline void close_socket(int socket) {
    uint8_t rest[4096];
    size_t drained = 0;
    long end = milliseconds() + MAX_DRAIN_MILLISECONDS;
    shutdown(socket, SHUT_WR);
    for (long left; drained < MAX_DRAINED_BYTES && (left = end - milliseconds()) > 0;) {
        struct pollfd ready = {.fd = socket, .events = POLLIN};
        ssize_t count = poll(&ready, 1, (int)left) > 0 ? recv(socket, rest, sizeof rest, 0) : 0;
        if (count <= 0) {
            break;
        }
        drained += (size_t)count;
    }
    close(socket);
}

#endif
