// One end of a connection: a tls.Conn in a coroutine, over buffers of fixed size that outlive connections.

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

// Shorter copies take less time than reading the clock around them.
const worthAClock = 1 << 10

// The buffers that a thread keeps for one side of its connections.
type wire struct {
	received []byte
	sent     []byte
	opened   []byte
	out      *takenOut
}

func newWire(atOnce int, out *takenOut) *wire {
	return &wire{make([]byte, 0, atOnce), make([]byte, 0, atOnce), make([]byte, 16<<10), out}
}

// One end. As a net.Conn it is what the library reads from and writes to.
type end struct {
	conn    *tls.Conn
	wire    *wire
	at      int // How far wire.received is read.
	next    func() (struct{}, bool)
	stop    func()
	wait    func(struct{}) bool
	tickets *int
	sink    func([]byte)
	err     error
	done    bool
}

// Makes the coroutine. Not timed: a program has its goroutines for other ends, too.
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

// Goes on until there is nothing more to read.
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
		return 0, errors.New("no room for what is to be sent")
	}
	wire.out.copy(len(from), func() { wire.sent = append(wire.sent, from...) })
	return len(from), nil
}

// What the end has to send goes to its peer. Whether there was anything.
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

// Whether a side did what the row asks, and what that is: lab/scenario/src/check.rs
func (row *row) check(side string, end *end, resumed bool) (map[string]string, error) {
	if !end.done {
		return nil, errors.New(side + ": not connected")
	}
	state := end.conn.ConnectionState()
	version := map[uint16]string{tls.VersionTLS12: "1.2", tls.VersionTLS13: "1.3"}[state.Version]
	suite := tls.CipherSuiteName(state.CipherSuite)
	done := map[string]string{
		"version": version, "suite": suite, "group": "not told", "scheme": "not told",
		"kind": "full", "tickets": "not told", "early data": "0",
	}
	if state.DidResume {
		done["kind"] = "resumed"
	}
	if version != row.Version || suite != row.Suite || state.DidResume != resumed {
		return nil, fmt.Errorf("%s: %v, asked was %+v", side, done, *row)
	}
	if row.tls13() || !resumed {
		if state.CurveID != groups[row.Group] {
			return nil, fmt.Errorf("%s: the group is %v, asked was %s", side, state.CurveID, row.Group)
		}
		done["group"] = row.Group
	}
	shown := side == "server" && len(state.PeerCertificates) > 0
	if asked := side == "server" && row.ClientChain != nil && !resumed; shown != asked {
		return nil, fmt.Errorf("%s: a client's certificate is %v, asked was %v", side, shown, asked)
	}
	if side == "client" {
		if *end.tickets != row.Tickets {
			return nil, fmt.Errorf("%d tickets, asked was %d", *end.tickets, row.Tickets)
		}
		done["tickets"] = fmt.Sprint(*end.tickets)
	}
	return done, nil
}
