// A stopwatch that adds up spans by part: lab/scenario/src/meter.rs

package main

import "time"

const (
	createClient = iota
	client
	createServer
	server
	load
	use
	parts
)

type part struct {
	total time.Duration
	spans int
}

// The time excluded since the current span started.
type takenOut struct{ part }

// Excludes a transport copy from the current span, unless it is shorter than reading the clock.
func (out *takenOut) copy(count int, action func()) {
	if count < worthAClock {
		action()
		return
	}
	start := time.Now()
	action()
	out.total += time.Since(start)
	out.spans++
}

type meter struct {
	parts [parts]part
	clock time.Duration
	out   takenOut
}

// Times an action as a span of a part.
func (meter *meter) time(part int, action func() error) error {
	meter.out = takenOut{}
	start := time.Now()
	err := action()
	taken := time.Since(start)
	sum := &meter.parts[part]
	sum.total += max(taken-meter.out.total, 0)
	// Half of the time of the two clock readings around excluded work is in that work, the other half
	// in the span.
	sum.spans += 1 + meter.out.spans
	return err
}

// Nanoseconds of parts per repetition, without the time to read the clock.
func (meter *meter) nanoseconds(repetitions uint64, which ...int) float64 {
	var sum time.Duration
	for _, each := range which {
		part := meter.parts[each]
		sum += max(part.total-time.Duration(part.spans)*meter.clock, 0)
	}
	return float64(sum) / float64(max(repetitions, 1))
}

// The apparent duration of an empty span: the lowest mean of several batches.
func costOfClock() time.Duration {
	const spans = 1000
	least := time.Hour
	for range 9 {
		var sum time.Duration
		for range spans {
			start := time.Now()
			sum += time.Since(start)
		}
		least = min(least, sum/spans)
	}
	return least
}
