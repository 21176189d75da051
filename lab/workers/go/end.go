// One end of a connection: a tls.Conn in a coroutine, over buffers of fixed size that outlive
// connections.

package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"time"
)

// worthAClock is the size of the shortest copy that is not timed. Shorter ones take less time than reading
// the clock.
const worthAClock = 1 << 10

// The buffers that a thread uses for one side of its connections.
type wire struct {
	received []byte
	sent     []byte
	opened   []byte
	out      *takenOut
}

func newWire(atOnce int, out *takenOut) *wire {
	return &wire{make([]byte, 0, atOnce), make([]byte, 0, atOnce), make([]byte, 16<<10), out}
}

// One end of a connection. As a net.Conn it is the transport of the library.
type end struct {
	conn    *tls.Conn
	wire    *wire
	at      int // The number of bytes of wire.received that were read.
	next    func() (struct{}, bool)
	stop    func()
	wait    func(struct{}) bool
	tickets *int
	sink    func([]byte)
	err     error
	done    bool
}

// Creates the coroutine. This is not timed, because a program has goroutines for other work too.
func (end *end) start() {
	end.next, end.stop = iter.Pull(func(wait func(struct{}) bool) {
		end.wait = wait
		if end.err = end.conn.Handshake(); end.err != nil {
			return
		}
		end.done = true
		for {
			count, err := end.conn.Read(end.wire.opened)
			if count > 0 {
				end.sink(end.wire.opened[:count])
			}
			if err != nil {
				end.err = err
				return
			}
		}
	})
}

// Continues until there is no more data to read.
func (end *end) advance() error {
	end.next()
	return end.err
}

func (end *end) Read(into []byte) (int, error) {
	for end.at == len(end.wire.received) {
		if !end.wait(struct{}{}) {
			return 0, io.EOF
		}
	}
	count := min(len(into), len(end.wire.received)-end.at)
	from := end.wire.received[end.at : end.at+count]
	end.wire.out.copy(count, func() { copy(into, from) })
	end.at += count
	return count, nil
}

func (end *end) Write(from []byte) (int, error) {
	wire := end.wire
	if len(wire.sent)+len(from) > cap(wire.sent) {
		return 0, errors.New("the send buffer is full")
	}
	wire.out.copy(len(from), func() { wire.sent = append(wire.sent, from...) })
	return len(from), nil
}

// Passes output to the peer. Returns whether there was any.
func (end *end) collect(peer *end) bool {
	peer.wire.received = append(peer.wire.received[:0], end.wire.sent...)
	peer.at = 0
	end.wire.sent = end.wire.sent[:0]
	return len(peer.wire.received) > 0
}

func (end *end) Close() error                     { return nil }
func (end *end) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (end *end) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (end *end) SetDeadline(time.Time) error      { return nil }
func (end *end) SetReadDeadline(time.Time) error  { return nil }
func (end *end) SetWriteDeadline(time.Time) error { return nil }

// Checks the negotiated parameters of a side and returns them: lab/scenario/src/check.rs
func (row *row) check(side string, end *end, resumed bool) (map[string]string, error) {
	if !end.done {
		return nil, errors.New(side + ": not connected")
	}
	state := end.conn.ConnectionState()
	version := map[uint16]string{tls.VersionTLS12: "1.2", tls.VersionTLS13: "1.3"}[state.Version]
	suite := tls.CipherSuiteName(state.CipherSuite)
	done := map[string]string{
		"version": version, "suite": suite, "group": "not stated", "scheme": "not stated",
		"kind": "full", "tickets": "not stated", "early data": "0",
	}
	if state.DidResume {
		done["kind"] = "resumed"
	}
	if version != row.Version || suite != row.Suite || state.DidResume != resumed {
		return nil, fmt.Errorf("%s: %v, expected %+v", side, done, *row)
	}
	if row.tls13() || !resumed {
		if state.CurveID != groups[row.Group] {
			return nil, fmt.Errorf("%s: the group is %v, expected %s", side, state.CurveID, row.Group)
		}
		done["group"] = row.Group
	}
	shown := side == "server" && len(state.PeerCertificates) > 0
	if asked := side == "server" && row.ClientChain != nil && !resumed; shown != asked {
		return nil, fmt.Errorf("%s: a client's certificate is %v, expected %v", side, shown, asked)
	}
	if side == "client" {
		if *end.tickets != row.Tickets {
			return nil, fmt.Errorf("%d tickets, expected %d", *end.tickets, row.Tickets)
		}
		done["tickets"] = fmt.Sprint(*end.tickets)
	}
	return done, nil
}
