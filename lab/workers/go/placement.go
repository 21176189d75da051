// Memory placement, as in lab/scenario/src/placement.rs, for the allocator of the Go runtime.

package main

import "math/rand"

// References that keep the blocks from being collected.
var kept []any

// Allocates blocks of all sizes in numbers derived from the placement number. The runtime separates
// objects with and without pointers, so both kinds are allocated.
func place(number uint64) {
	random := rand.New(rand.NewSource(int64(number)))
	const page, few = 4096, 4
	for power := 4; power <= 14; power++ {
		for quarter := 4; quarter < 8; quarter++ {
			size := (1 << power) * quarter / 4
			for range random.Intn(max(page/size, few)) {
				kept = append(kept, make([]byte, size))
			}
			for range random.Intn(max(page/size, few)) {
				kept = append(kept, make([]*byte, (size+7)/8))
			}
		}
	}
}
