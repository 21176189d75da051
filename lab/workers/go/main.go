// The lab's worker for crypto/tls of Go's standard library.
//
// A [tls.Conn] blocks where it waits for its peer. Here each end runs in a coroutine of its own (iter.Pull) over a
// net.Conn in memory, and hands over to the loop that drives both when there is nothing to read: one of
// them runs at a time, and a side's span is from the hand-over to it until the one from it. So in the spans are the
// handshake, what the runtime does for it meanwhile (growing the stack, and collecting garbage when it is due),
// and two switches between coroutines, some tens of nanoseconds; not in them are the making of coroutines
// and the copies for the transport, unless they are too short to time. Sending is called directly, without a switch.
//
// Rows of one thread run with GOMAXPROCS=1, so that garbage is not collected on another processor for nothing;
// rows of threads with as many as there are threads. What is dropped is collected later, which is part of the
// spans that it falls into.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"
)

// The version of the protocol that is spoken: lab/scenario/src/protocol.rs.
const protocol = 1

// Limits of a line: a row is far shorter.
const longestLine = 1 << 20

type request struct {
	Do           string  `json:"do"`
	Row          *row    `json:"row"`
	Files        string  `json:"files"`
	Placement    *uint64 `json:"placement"`
	Milliseconds int64   `json:"milliseconds"`
}

type about struct {
	Reply     string `json:"reply"`
	Protocol  int    `json:"protocol"`
	Library   string `json:"library"`
	Version   string `json:"version"`
	Crypto    string `json:"crypto"`
	Interface string `json:"interface"`
	Build     string `json:"build"`
}

type verdict struct {
	Reply string `json:"reply"`
	Why   string `json:"why,omitempty"`
}

// A row that cannot be done, which is no failure.
type cannot string

func (why cannot) Error() string { return string(why) }

// A row made ready.
type prepared interface {
	measure(budget time.Duration) (*measurement, error)
	slices() int
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	out := json.NewEncoder(os.Stdout)
	var ready prepared
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if asked.Do == "quit" {
			return
		}
		var reply any
		reply, ready = answer(&asked, ready)
		if err := out.Encode(reply); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func answer(asked *request, ready prepared) (any, prepared) {
	switch asked.Do {
	case "hello":
		return about{
			Reply:     "about",
			Protocol:  protocol,
			Library:   "Go crypto/tls",
			Version:   runtime.Version(),
			Crypto:    "its own",
			Interface: "tls.Conn over a net.Conn in memory",
			Build:     "go build",
		}, ready
	case "prepare":
		if asked.Placement != nil {
			place(*asked.Placement)
		}
		made, err := prepare(asked.Row, asked.Files)
		switch err := err.(type) {
		case nil:
			return verdict{Reply: "ready"}, made
		case cannot:
			return verdict{"cannot", err.Error()}, nil
		default:
			return verdict{"failed", err.Error()}, nil
		}
	case "measure":
		if ready == nil {
			return verdict{"failed", "no row is prepared"}, nil
		}
		measured, err := inSlices(ready, time.Duration(asked.Milliseconds)*time.Millisecond)
		if err != nil {
			return verdict{"failed", err.Error()}, ready
		}
		return measured, ready
	default:
		return verdict{"failed", "unknown request " + asked.Do}, ready
	}
}

func prepare(row *row, files string) (prepared, error) {
	if row == nil {
		return nil, fmt.Errorf("no row")
	}
	runtime.GOMAXPROCS(1)
	library, err := configure(row, files)
	if err != nil {
		return nil, err
	}
	switch row.Task {
	case "handshake":
		return newHandshakes(library, false)
	case "set-up":
		return newSetUps(library)
	case "bulk":
		return newBulk(library)
	case "threads", "latency":
		return newThreads(library)
	case "loading":
		return newLoading(library)
	case "memory":
		return nil, cannot("its memory is the garbage collector's")
	default:
		return nil, cannot("this worker has no rows of " + row.Task)
	}
}
