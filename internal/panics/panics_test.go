package panics_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/etcd-suite/etcd-operator/internal/panics"
)

func TestAPanicIsAnError(t *testing.T) {
	value, err := panics.Try(func() (int, error) { panic("oops") })
	var caught *panics.Error
	if value != 0 || !errors.As(err, &caught) || caught.Value != "oops" || !strings.Contains(string(caught.Stack), "panics_test.go") {
		t.Errorf("%d, %v: want an error with the stack", value, err)
	}
	failed := errors.New("failed")
	if got, err := panics.Try(func() (int, error) { return 3, failed }); got != 3 || !errors.Is(err, failed) {
		t.Errorf("%d, %v: want what the function returned", got, err)
	}
}

func TestAGoroutineThatPanicsEndsAloneWithAnError(t *testing.T) {
	var group sync.WaitGroup
	var got error
	released := false
	group.Go(panics.Caught(func() {
		defer func() { released = true }()
		var none *struct{ field int }
		none.field++
	}, func(err error) { got = err }))
	group.Go(panics.Caught(func() {}, func(err error) { t.Errorf("%v of a goroutine that did not panic", err) }))
	group.Wait()
	if got == nil || !strings.Contains(got.Error(), "nil pointer") || !released {
		t.Errorf("%v, released: %t", got, released)
	}
	var errs errgroup.Group
	errs.Go(panics.InGroup(func() error { panic("oops") }))
	if err := errs.Wait(); err == nil {
		t.Error("the group has no error")
	}
}
