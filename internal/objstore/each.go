package objstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// faults is how many objects in a row may fail for an unknown reason. After that many, the store has failed. One object may fail
// for good, for example because a disk of the store lost a part of it.
const faults = 3

// ContentError is an error about what is in one object. The store works.
type ContentError string

// Error returns the text.
func (e ContentError) Error() string { return string(e) }

// OfObject tells the function of the same name that the error concerns one object.
func (ContentError) OfObject() bool { return true }

// OfObject reports whether an error concerns one object only: the store refuses it, it exists already, it does not exist, or its
// content is damaged. A loop over objects records such an error and continues with the next object. All other errors may be errors
// of the store.
func OfObject(err error) bool {
	var content interface{ OfObject() bool }
	switch {
	case errors.Is(err, ErrNoBucket):
		return false
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
		return true
	}
	return errors.As(err, &content) && content.OfObject()
}

// Errors collects the errors of a loop over objects. The zero value is ready to use. It is safe for concurrent use.
type Errors struct {
	// Refusals is after how many refused objects the loop ends; 0 means that no refusal ends it. It is meant for objects that do no
	// harm if they are kept.
	Refusals int

	mu            sync.Mutex
	first, ended  error
	count, unsure int
	refused       int
}

// Add records the result of one object, and returns whether the loop continues with the next one. Only an error of the store ends
// the loop: there is no bucket, ctx has ended, or several objects in a row failed for an unknown reason.
func (e *Errors) Add(ctx context.Context, err error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		e.unsure = 0
		return e.ended == nil
	}
	if e.count++; e.first == nil {
		e.first = err
	}
	if errors.Is(err, fs.ErrPermission) {
		e.refused++
	}
	if e.unsure++; OfObject(err) {
		e.unsure = 0
	}
	gone := errors.Is(err, ErrNoBucket) || ctx.Err() != nil
	if e.ended == nil && (gone || e.unsure == faults || e.Refusals > 0 && e.refused == e.Refusals) {
		e.ended = err
	}
	return e.ended == nil
}

// Ended returns the error that has ended the loop, and nil if the loop could try every object.
func (e *Errors) Ended() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended
}

// Err returns an error if an object failed. It is the error that has ended the loop, or else the first one.
func (e *Errors) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.first == nil:
		return nil
	case e.ended != nil && !OfObject(e.ended):
		return e.ended
	case e.count == 1:
		return e.first
	}
	return fmt.Errorf("%w (%d other objects failed, too)", e.first, e.count-1)
}

// Each calls do for every object, one after the other, and returns the errors.
func Each[T any](ctx context.Context, objects []T, do func(T) error) *Errors {
	var errs Errors
	for _, object := range objects {
		if !errs.Add(ctx, do(object)) {
			break
		}
	}
	return &errs
}

// EachOf is Each for several objects at the same time.
func EachOf[T any](ctx context.Context, parallel int, objects []T, do func(T) error) *Errors {
	var errs Errors
	eachOf(ctx, parallel, objects, &errs, do)
	return &errs
}

func eachOf[T any](ctx context.Context, parallel int, objects []T, errs *Errors, do func(T) error) {
	var group sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, object := range objects {
		slots <- struct{}{}
		if errs.Ended() != nil {
			<-slots
			break
		}
		group.Go(panics.Caught(func() {
			defer func() { <-slots }()
			errs.Add(ctx, do(object))
		}, func(err error) { errs.Add(ctx, err) }))
	}
	group.Wait()
}

// Matching yields the names of a listing for which match returns true, and the errors.
func Matching[T any](names iter.Seq2[T, error], match func(T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for name, err := range names {
			if (err != nil || match(name)) && !yield(name, err) {
				return
			}
		}
	}
}

// batch is how many names EachListed holds.
const batch = 1000

// EachListed calls do for every name of a listing while it lists, so that it holds few names. errs collects the errors of do, and ends the
// loop as in Each. EachListed returns the error of the listing. What was listed before it is done.
func EachListed[T any](ctx context.Context, parallel int, names iter.Seq2[T, error], errs *Errors, do func(T) error) error {
	some := make([]T, 0, batch)
	for name, err := range names {
		if err != nil {
			eachOf(ctx, parallel, some, errs, do)
			return err
		}
		if some = append(some, name); len(some) < batch {
			continue
		}
		if eachOf(ctx, parallel, some, errs, do); errs.Ended() != nil {
			return nil
		}
		some = some[:0]
	}
	eachOf(ctx, parallel, some, errs, do)
	return nil
}

// Gone reports whether an object does not exist. Only the store's answer about that very object proves it: a listing may omit an
// object, and a refusal says nothing. Any other answer than "it exists" and "it does not exist" is an error.
func Gone(ctx context.Context, store Getter, key string) (bool, error) {
	body, err := store.Get(ctx, key)
	switch {
	case err == nil:
		return false, body.Close()
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, ErrNoBucket):
		return true, nil
	}
	return false, err
}
