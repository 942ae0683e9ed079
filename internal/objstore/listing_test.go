package objstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slowly lists names, and takes a time for each.
type slowly struct {
	Store
	names int
	each  time.Duration
}

func (s slowly) List(ctx context.Context, _ string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for i := range s.names {
			select {
			case <-time.After(s.each):
			case <-ctx.Done():
				yield(Object{}, ctx.Err())
				return
			}
			if !yield(Object{Key: fmt.Sprint(i)}, nil) {
				return
			}
		}
	}
}

func TestTheTimeOfAListingIsThatOfTheStore(t *testing.T) {
	limits := Limits{Names: 1000, Requests: 1000, Silence: time.Minute, Total: time.Hour}
	for name, test := range map[string]struct {
		store slowly
		hold  time.Duration // of the caller, for each name
		want  int
		text  string
	}{
		"a store that answers":               {slowly{names: 100, each: time.Second}, 0, 100, ""},
		"a caller that needs longer":         {slowly{names: 100, each: time.Second}, time.Hour, 100, ""},
		"a store that is silent":             {slowly{names: 100, each: 2 * time.Minute}, 0, 0, "no name for 1m0s"},
		"a store that is slow for each name": {slowly{names: 100, each: 50 * time.Second}, 0, 72, "more than 1h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, failed := 0, error(nil)
				for _, err := range Bounded(test.store, limits).List(t.Context(), "") {
					if failed = err; err == nil {
						got++
						<-time.After(test.hold)
					}
				}
				if got != test.want || errors.Is(failed, ErrListing) != (test.text != "") || !strings.Contains(fmt.Sprint(failed), test.text) && failed != nil {
					t.Errorf("%d names, expected %d; error %v", got, test.want, failed)
				}
			})
		})
	}
}

func TestACancelledListingReportsTheCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range Bounded(slowly{names: 1, each: time.Hour}, DefaultLimits).List(ctx, "") {
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrListing) {
			t.Errorf("error %v", err)
		}
	}
}

// sized lists objects of sizes that no object has.
type sized struct {
	Store
	sizes []int64
}

func (s sized) List(context.Context, string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for i, size := range s.sizes {
			if !yield(Object{Key: fmt.Sprint(i), Size: size}, nil) {
				return
			}
		}
	}
}

// Sums and products of listed sizes overflowed, and the spool reserved nothing for a large object.
func TestListedSizesAreThoseOfObjects(t *testing.T) {
	store := Bounded(sized{sizes: []int64{-1, math.MinInt64, math.MaxInt64, 4096}}, Limits{Names: 10, Requests: 10, Silence: time.Minute, Total: time.Hour})
	var got []int64
	for o, err := range store.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, o.Size)
	}
	if want := []int64{0, 0, mostBytes, 4096}; !slices.Equal(got, want) {
		t.Errorf("sizes %d, want %d", got, want)
	}
}
