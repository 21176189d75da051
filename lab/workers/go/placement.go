// Where the process's memory lies: lab/scenario/src/placement.rs, for the allocator of the Go runtime.

package main

import "math/rand"

// What is kept so that the garbage collector does not give it back.
var kept []any

// Takes memory of all sizes, as many blocks of each as the number says. The runtime keeps objects with pointers and
// objects without apart, so there are blocks of both kinds.
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
