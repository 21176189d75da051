// Worker for crypto/tls of Go's standard library.
//
// A [tls.Conn] blocks while it waits for its peer. Here each end runs in a coroutine (iter.Pull)
// over a net.Conn in memory and yields to the loop that drives both ends when there is no data to
// read. One end runs at a time, and its span is the time from resumption to yield. So spans include
// the handshake, the work of the runtime (stack growth, garbage collection when due) and two
// coroutine switches of some tens of nanoseconds. They exclude the creation of coroutines, and
// transport copies unless these are too short to time. Sending is called directly, without a
// switch.
//
// Rows with one thread run with GOMAXPROCS=1, so that garbage is not collected on another CPU for
// free. Multi-threaded rows use as many CPUs as threads. Garbage of dropped connections is
// collected later, in the spans that are active then.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"
)

// The protocol version: lab/scenario/src/protocol.rs.
const protocol = 1

// The maximum length of a line. Rows are much shorter.
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

// A row that is not supported, which is not a failure.
type cannot string

func (why cannot) Error() string { return string(why) }

// A prepared row.
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
		return nil, cannot("memory of a garbage-collected library is not counted")
	default:
		return nil, cannot("the task is not supported: " + row.Task)
	}
}
