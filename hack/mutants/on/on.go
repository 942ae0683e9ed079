// Package on turns on one of the mutants that hack/mutants has woven into the planners. No file of the project imports it but hack/mutants: the woven
// files exist only as an overlay of the compiler.
package on

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
)

// Number is the variable of the environment that turns a mutant on. Reached is the one with the file to which the numbers of the mutants are written that a
// test reaches.
const (
	Number  = "MUTANT_NUMBER"
	Reached = "MUTANTS_REACHED"
)

type number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

var (
	active, _ = strconv.Atoi(os.Getenv(Number))
	reached   = os.Getenv(Reached)
	seen      sync.Map
)

// On reports if the mutant is turned on.
func On(n int) bool {
	if reached != "" {
		record(n)
	}
	return n == active
}

func record(n int) {
	if _, again := seen.LoadOrStore(n, true); again {
		return
	}
	file, err := os.OpenFile(reached, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(file, n)
	}
	if err != nil {
		panic(fmt.Sprintf("record that mutant %d is reached: %v", n, err))
	}
	_ = file.Close()
}

// Not returns the opposite of is.
func Not(n int, is bool) bool { return On(n) != is }

// And is a && b, and a || b as a mutant.
func And(n int, a bool, b func() bool) bool {
	if On(n) {
		return a || b()
	}
	return a && b()
}

// Or is a || b, and a && b as a mutant.
func Or(n int, a bool, b func() bool) bool {
	if On(n) {
		return a && b()
	}
	return a || b()
}

// Less is a < b, and a <= b as a mutant.
func Less[T cmp.Ordered](n int, a, b T) bool { return a < b || On(n) && a == b }

// AtMost is a <= b, and a < b as a mutant.
func AtMost[T cmp.Ordered](n int, a, b T) bool { return a < b || !On(n) && a == b }

// More is a > b, and a >= b as a mutant.
func More[T cmp.Ordered](n int, a, b T) bool { return a > b || On(n) && a == b }

// AtLeast is a >= b, and a > b as a mutant.
func AtLeast[T cmp.Ordered](n int, a, b T) bool { return a > b || !On(n) && a == b }

// Plus is a + b, and a - b as a mutant.
func Plus[T number](n int, a, b T) T {
	if On(n) {
		return a - b
	}
	return a + b
}

// Minus is a - b, and a + b as a mutant.
func Minus[T number](n int, a, b T) T {
	if On(n) {
		return a + b
	}
	return a - b
}

// Without returns a list of rules, of which one is missing as a mutant.
func Without[T any](n, i int, rules []T) []T {
	if On(n) {
		return slices.Delete(slices.Clone(rules), i, i+1)
	}
	return rules
}

// Swapped returns a list of rules, of which one stands behind the next one as a mutant.
func Swapped[T any](n, i int, rules []T) []T {
	if On(n) {
		rules = slices.Clone(rules)
		rules[i], rules[i+1] = rules[i+1], rules[i]
	}
	return rules
}
