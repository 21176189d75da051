// The loops that drive both ends: see lab/scenario/src/handshake.rs, bulk.rs and threads.rs

package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

const (
	warmUp       = 20 * time.Millisecond
	maxTurns     = 16       // More exchanges than any handshake needs.
	flight       = 32 << 10 // The largest flight that a buffer has to hold.
	maxFallbacks = 16       // How often a thread may find all tickets taken by others.
	batch        = 256 << 10
	maxWrites    = 1024
)

// Connections between the library and itself, in one thread.
type pair struct {
	*library
	shared             bool
	meter              *meter
	toClient, toServer *wire
	clientConfig       *tls.Config
	tickets            int
}

func newPair(library *library, atOnce int) *pair {
	meter := &meter{clock: costOfClock()}
	atOnce = max(atOnce, flight)
	pair := &pair{library: library, meter: meter, clientConfig: library.client}
	pair.toClient, pair.toServer = newWire(atOnce, &meter.out), newWire(atOnce, &meter.out)
	if library.row.Resumption != nil {
		// The library's cache has one session per server, too few for several threads.
		pair.clientConfig = library.client.Clone()
		pair.clientConfig.ClientSessionCache = counting{tls.NewLRUClientSessionCache(1), &pair.tickets}
	}
	return pair
}

// The library's client session cache, with a count of received tickets.
type counting struct {
	tls.ClientSessionCache
	arrived *int
}

func (cache counting) Put(name string, session *tls.ClientSessionState) {
	if session != nil {
		*cache.arrived++
	}
	cache.ClientSessionCache.Put(name, session)
}

// Creates both ends.
func (pair *pair) create() (*end, *end) {
	pair.tickets = 0
	atClient := &end{wire: pair.toClient, tickets: &pair.tickets}
	atServer := &end{wire: pair.toServer}
	for _, each := range []*end{atClient, atServer} {
		each.sink = func([]byte) { each.err = errors.New("data after a handshake") }
		each.wire.received, each.wire.sent = each.wire.received[:0], each.wire.sent[:0]
	}
	pair.meter.time(createClient, func() error {
		atClient.conn = tls.Client(atClient, pair.clientConfig)
		return nil
	})
	pair.meter.time(createServer, func() error {
		atServer.conn = tls.Server(atServer, pair.library.server)
		return nil
	})
	return atClient, atServer
}

// Makes one handshake of the requested kind and checks it on both sides.
func (pair *pair) connect(resumed bool) (*end, *end, map[string]string, error) {
	for range maxFallbacks {
		before := *pair.meter
		atClient, atServer, err := pair.handshake(resumed)
		if err != nil {
			return nil, nil, nil, err
		}
		full := atClient.done && atServer.done && !atClient.conn.ConnectionState().DidResume
		if pair.shared && resumed && full {
			drop(atClient, atServer)
			*pair.meter = before
			continue
		}
		done, err := pair.row.check("client", atClient, resumed)
		if err == nil {
			_, err = pair.row.check("server", atServer, resumed)
		}
		return atClient, atServer, done, err
	}
	return nil, nil, nil, errors.New("no session was resumed")
}

func (pair *pair) handshake(resumed bool) (*end, *end, error) {
	atClient, atServer := pair.create()
	atClient.start()
	atServer.start()
	if err := pair.meter.time(client, atClient.advance); err != nil {
		return nil, nil, err
	}
	for range maxTurns {
		quiet := true
		if atClient.collect(atServer) {
			quiet = false
			if err := pair.meter.time(server, atServer.advance); err != nil {
				return nil, nil, err
			}
		}
		if atServer.collect(atClient) {
			quiet = false
			if err := pair.meter.time(client, atClient.advance); err != nil {
				return nil, nil, err
			}
		}
		if quiet {
			return atClient, atServer, nil
		}
	}
	return nil, nil, errors.New("the handshake does not complete")
}

// Ends the coroutines. The garbage collector frees the rest.
func drop(ends ...*end) {
	for _, each := range ends {
		each.stop()
	}
}

func (pair *pair) sides(repetitions uint64) map[string]float64 {
	return map[string]float64{
		"client": pair.meter.nanoseconds(repetitions, createClient, client),
		"server": pair.meter.nanoseconds(repetitions, createServer, server),
	}
}

func (pair *pair) parts(repetitions uint64) map[string]float64 {
	return map[string]float64{
		"client creation": pair.meter.nanoseconds(repetitions, createClient),
		"server creation": pair.meter.nanoseconds(repetitions, createServer),
	}
}

// The handshakes of a row.
type handshakes struct {
	*pair
	done map[string]string
}

func newHandshakes(library *library, shared bool) (*handshakes, error) {
	made := &handshakes{pair: newPair(library, 0)}
	made.shared = shared
	resumed := library.row.Resumption != nil
	if resumed && !shared {
		atClient, atServer, _, err := made.connect(false)
		if err != nil {
			return nil, err
		}
		drop(atClient, atServer)
	}
	for start := time.Now(); made.done == nil || time.Since(start) < warmUp; {
		atClient, atServer, done, err := made.connect(resumed)
		if err != nil {
			return nil, err
		}
		drop(atClient, atServer)
		made.done = done
	}
	return made, nil
}

func (made *handshakes) slices() int { return 8 }

func (made *handshakes) measure(budget time.Duration) (*measurement, error) {
	measured := newMeasurement(made.done)
	made.meter.parts = [parts]part{}
	start := time.Now()
	for measured.Repetitions == 0 || time.Since(start) < budget {
		before := made.sides(1)
		atClient, atServer, _, err := made.connect(made.row.Resumption != nil)
		if err != nil {
			return nil, err
		}
		drop(atClient, atServer)
		measured.Repetitions++
		if made.row.Task == "latency" {
			for side, after := range made.sides(1) {
				one := &distribution{}
				one.count(after - before[side])
				measured.add(side, one)
			}
		}
	}
	measured.Sides = made.sides(measured.Repetitions)
	measured.Parts = made.parts(measured.Repetitions)
	return measured, nil
}

// Creation of connections that are not used. They are not dropped explicitly.
type setUps struct{ *handshakes }

func newSetUps(library *library) (prepared, error) {
	made, err := newHandshakes(library, false)
	return setUps{made}, err
}

func (made setUps) measure(budget time.Duration) (*measurement, error) {
	measured := newMeasurement(made.done)
	made.meter.parts = [parts]part{}
	start := time.Now()
	for measured.Repetitions == 0 || time.Since(start) < budget {
		made.create()
		measured.Repetitions++
	}
	measured.Sides = made.sides(measured.Repetitions)
	measured.Parts = made.parts(measured.Repetitions)
	return measured, nil
}

// A connection that transfers data.
type bulk struct {
	*pair
	atClient, atServer *end
	data               []byte
	writes             int
	done               map[string]string
}

func newBulk(library *library) (prepared, error) {
	size := library.row.WriteSize
	if size == 0 {
		return nil, errors.New("the write size is zero")
	}
	writes := min(max(batch/size, 1), maxWrites)
	records := writes * (size + 16<<10 - 1) / (16 << 10)
	made := &bulk{writes: writes, data: make([]byte, size)}
	made.pair = newPair(library, writes*size+(records+writes)*64)
	for at := range made.data {
		made.data[at] = byte(at % 251)
	}
	var err error
	var done map[string]string
	if made.atClient, made.atServer, done, err = made.connect(false); err != nil {
		return nil, err
	}
	made.done = map[string]string{
		"version": done["version"], "suite": done["suite"], "writes timed at once": fmt.Sprint(writes),
	}
	var arrived []byte
	if err := made.transfer(func(data []byte) { arrived = append(arrived, data...) }); err != nil {
		return nil, err
	}
	if !bytes.Equal(arrived, bytes.Repeat(made.data, writes)) {
		return nil, errors.New("received data differs from sent data")
	}
	for range 3 {
		if err := made.count(); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// Transfers one batch and times it.
func (made *bulk) count() error {
	arrived := 0
	if err := made.transfer(func(data []byte) { arrived += len(data) }); err != nil {
		return err
	}
	if arrived != len(made.data)*made.writes {
		return fmt.Errorf("received %d bytes", arrived)
	}
	return nil
}

func (made *bulk) transfer(sink func([]byte)) error {
	made.atClient.sink = sink
	err := made.meter.time(server, func() error {
		for range made.writes {
			if _, err := made.atServer.conn.Write(made.data); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	made.atServer.collect(made.atClient)
	return made.meter.time(client, made.atClient.advance)
}

func (made *bulk) slices() int { return 8 }

func (made *bulk) measure(budget time.Duration) (*measurement, error) {
	measured := newMeasurement(made.done)
	made.meter.parts = [parts]part{}
	for start := time.Now(); measured.Repetitions == 0 || time.Since(start) < budget; {
		if err := made.count(); err != nil {
			return nil, err
		}
		measured.Repetitions += uint64(made.writes)
	}
	measured.Sides["send"] = made.meter.nanoseconds(measured.Repetitions, server)
	measured.Sides["receive"] = made.meter.nanoseconds(measured.Repetitions, client)
	return measured, nil
}

// The same handshakes in several threads that share configurations.
type threads struct{ *library }

func newThreads(library *library) (prepared, error) {
	_, err := newHandshakes(library, true)
	return threads{library}, err
}

func (made threads) slices() int { return 1 }

func (made threads) measure(budget time.Duration) (*measurement, error) {
	whole := newMeasurement(nil)
	for _, count := range made.row.Threads {
		runtime.GOMAXPROCS(count)
		parts, err := made.atOnce(count, budget)
		runtime.GOMAXPROCS(1)
		if err != nil {
			return nil, err
		}
		var spent, handshakes float64
		for _, part := range parts {
			whole.Repetitions += part.Repetitions
			whole.Done = part.Done
			spent += part.Sides["server"] * float64(part.Repetitions)
			handshakes += float64(part.Repetitions)
			for side, times := range part.Distributions {
				whole.add(side, times)
			}
		}
		if made.row.Task == "latency" {
			for side, times := range whole.Distributions {
				whole.Sides[side+" P50"] = times.percentile(0.5)
				whole.Sides[side+" P99"] = times.percentile(0.99)
			}
			continue
		}
		name := fmt.Sprintf("%d threads", count)
		if count == 1 {
			name = "1 thread"
		}
		whole.Sides[name] = spent / handshakes / float64(count)
	}
	return whole, nil
}

func (made threads) atOnce(count int, budget time.Duration) ([]*measurement, error) {
	all, failures := make([]*measurement, count), make([]error, count)
	var ready, ended sync.WaitGroup
	ready.Add(count)
	for index := range count {
		ended.Go(func() {
			one, err := newHandshakes(made.library, true)
			// A thread that failed is also ready; the others would block otherwise.
			ready.Done()
			ready.Wait()
			if err == nil {
				all[index], err = one.measure(budget)
			}
			failures[index] = err
		})
	}
	ended.Wait()
	return all, errors.Join(failures...)
}
