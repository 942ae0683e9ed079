// Package sweep selects the points of tests that repeat an operation for each of its points: each call at which an operator
// is killed, each request that a store breaks. make long tries all points, which takes long. make test tries a random part.
//
// Two environment variables choose the points:
//   - SWEEP_ONE_IN=n tries one in n points. The default is 1: all of them.
//   - SWEEP_SEED repeats the choice of an earlier run. The default is a random seed, which the first selection prints.
package sweep

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
)

// selection is a choice of points.
type selection struct {
	oneIn int
	seed  uint64
}

// Selected reports whether this run tries a point. Equal points of a run have the same answer.
func Selected(point string) bool { return chosen().has(point) }

// All reports whether this run tries every point.
func All() bool { return chosen().oneIn == 1 }

var chosen = sync.OnceValue(func() selection {
	s, err := read(os.Getenv)
	if err != nil {
		panic(err) // a test that tries nothing must not pass
	}
	if s.oneIn > 1 {
		fmt.Fprintf(os.Stderr, "this run tries one in %d points of each sweep; SWEEP_SEED=%d repeats the choice\n", s.oneIn, s.seed)
	}
	return s
})

func read(getenv func(string) string) (selection, error) {
	s := selection{oneIn: 1, seed: rand.Uint64()} // a test
	if value := getenv("SWEEP_ONE_IN"); value != "" {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return selection{}, fmt.Errorf("SWEEP_ONE_IN is %q, and must be a number of at least 1", value)
		}
		s.oneIn = n
	}
	if value := getenv("SWEEP_SEED"); value != "" {
		seed, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return selection{}, fmt.Errorf("SWEEP_SEED is %q, and must be a number: %w", value, err)
		}
		s.seed = seed
	}
	return s, nil
}

func (s selection) has(point string) bool {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(point))
	return rand.New(rand.NewPCG(s.seed, hash.Sum64())).IntN(s.oneIn) == 0 // a test
}
