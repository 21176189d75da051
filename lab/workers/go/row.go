// Requests and replies: lab/scenario/src/row.rs and protocol.rs.

package main

import (
	"crypto/tls"
	"math"
	"sort"
	"time"
)

type row struct {
	ID          string  `json:"id"`
	Accounting  string  `json:"accounting"`
	Transport   string  `json:"transport"`
	Ech         string  `json:"ech"`
	Task        string  `json:"task"`
	Version     string  `json:"version"`
	Suite       string  `json:"suite"`
	Group       string  `json:"group"`
	Chain       string  `json:"chain"`
	ClientChain *string `json:"client_chain"`
	Resumption  *string `json:"resumption"`
	Tickets     int     `json:"tickets"`
	EarlyData   int     `json:"early_data"`
	WriteSize   int     `json:"write_size"`
	Threads     []int   `json:"threads"`
	Load        *string `json:"load"`
}

func (row *row) resumes(how string) bool {
	return row.Resumption != nil && *row.Resumption == how
}

func (row *row) tls13() bool { return row.Version == "1.3" }

var groups = map[string]tls.CurveID{
	"X25519":         tls.X25519,
	"X25519MLKEM768": tls.X25519MLKEM768,
	"secp256r1":      tls.CurveP256,
}

// The signature scheme that is pinned for a leaf of this chain.
func scheme(chain string) tls.SignatureScheme {
	switch chain {
	case "ecdsa-p256":
		return tls.ECDSAWithP256AndSHA256
	case "ed25519":
		return tls.Ed25519
	default:
		return tls.PSSWithSHA256
	}
}

type measurement struct {
	Reply         string                   `json:"reply"`
	Repetitions   uint64                   `json:"repetitions"`
	Sides         map[string]float64       `json:"sides"`
	Parts         map[string]float64       `json:"parts"`
	Distributions map[string]*distribution `json:"distributions"`
	Done          map[string]string        `json:"done"`
}

func newMeasurement(done map[string]string) *measurement {
	return &measurement{
		Reply:         "measured",
		Sides:         map[string]float64{},
		Parts:         map[string]float64{},
		Distributions: map[string]*distribution{},
		Done:          done,
	}
}

// Measures a row as the median of several slices. A short interruption affects one or two of them.
func inSlices(ready prepared, budget time.Duration) (*measurement, error) {
	count := ready.slices()
	var all []*measurement
	for range count {
		one, err := ready.measure(budget / time.Duration(count))
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	whole := newMeasurement(all[0].Done)
	for _, one := range all {
		whole.Repetitions += one.Repetitions
		for side, times := range one.Distributions {
			whole.add(side, times)
		}
	}
	medians := func(of func(*measurement) map[string]float64, into map[string]float64) {
		for name := range of(all[0]) {
			var values []float64
			for _, one := range all {
				values = append(values, of(one)[name])
			}
			sort.Float64s(values)
			into[name] = (values[(len(values)-1)/2] + values[len(values)/2]) / 2
		}
	}
	medians(func(one *measurement) map[string]float64 { return one.Sides }, whole.Sides)
	medians(func(one *measurement) map[string]float64 { return one.Parts }, whole.Parts)
	return whole, nil
}

func (whole *measurement) add(side string, times *distribution) {
	into := whole.Distributions[side]
	if into == nil {
		into = &distribution{}
		whole.Distributions[side] = into
	}
	into.add(times)
}

// A distribution of times: class c begins at 2^(c/64) nanoseconds. lab/scenario/src/distribution.rs
type distribution struct {
	Classes [][2]uint64 `json:"classes"`
	Max     float64     `json:"max"`
}

const classes = 64

func (times *distribution) count(nanoseconds float64) {
	class := math.Floor(math.Log2(math.Max(nanoseconds, 1)) * classes)
	times.put(uint64(class), 1)
	times.Max = math.Max(times.Max, nanoseconds)
}

func (times *distribution) put(class, count uint64) {
	all := times.Classes
	at := sort.Search(len(all), func(at int) bool { return all[at][0] >= class })
	if at == len(all) || all[at][0] != class {
		all = append(all, [2]uint64{})
		copy(all[at+1:], all[at:])
		all[at] = [2]uint64{class, 0}
	}
	all[at][1] += count
	times.Classes = all
}

func (times *distribution) add(other *distribution) {
	for _, each := range other.Classes {
		times.put(each[0], each[1])
	}
	times.Max = math.Max(times.Max, other.Max)
}

// A percentile in nanoseconds, accurate to half a class.
func (times *distribution) percentile(part float64) float64 {
	var total, seen uint64
	for _, each := range times.Classes {
		total += each[1]
	}
	for _, each := range times.Classes {
		seen += each[1]
		if float64(seen) >= part*float64(total) {
			middle := math.Exp2((float64(each[0]) + 0.5) / classes)
			return math.Min(middle, times.Max)
		}
	}
	return times.Max
}
