// Package panics turns a panic into an error, so that one answer that no code expects does not end a process which serves all namespaces.
// Go ends the process after a panic in any goroutine, so each one that reads what others send needs it. A test lists all goroutines.
package panics

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
)

// Error is the error of a function that panicked.
type Error struct {
	Value any
	Stack []byte
}

func (e *Error) Error() string { return fmt.Sprintf("internal error: panic: %v", e.Value) }

// Try calls run and turns a panic into an Error.
func Try[T any](run func() (T, error)) (value T, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = &Error{Value: caught, Stack: debug.Stack()}
		}
	}()
	return run()
}

// Do is Try for a function without a value.
func Do(run func() error) error {
	_, err := Try(func() (struct{}, error) { return struct{}{}, run() })
	return err
}

// Caught returns what a goroutine runs: run and, if that panicked, caught with the Error. Deferred calls of run come before it. The stack is
// logged, because what waits for the goroutine may have no use for an error.
func Caught(run func(), caught func(error)) func() {
	return func() {
		if err := Do(func() error { run(); return nil }); err != nil {
			logged(err)
			caught(err)
		}
	}
}

// InGroup returns what a goroutine of an errgroup runs.
func InGroup(run func() error) func() error { return func() error { return Do(run) } }

var logger atomic.Pointer[slog.Logger]

// LogTo sets where stacks are logged. By default, that is slog.Default.
func LogTo(to *slog.Logger) { logger.Store(to) }

func logged(err error) {
	to := logger.Load()
	if to == nil {
		to = slog.Default()
	}
	if caught := (*Error)(nil); errors.As(err, &caught) {
		to.Error("A goroutine panicked", "error", caught.Error(), "stack", string(caught.Stack))
	}
}
