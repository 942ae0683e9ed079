package archiver

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/panics"
)

const (
	// maxAhead is how many small responses of the watch are read while the session waits for the state of authentication.
	maxAhead = 16
	// aheadBytes is how much memory these responses take, and one more. A small response may have half a MiB, and etcd decides how long its answer takes. So
	// without it, a hundred archives of a tenant would hold a gigabyte.
	aheadBytes = 512 << 10
	// eventBytes is what a decoded event takes beside its key and its value.
	eventBytes = 300
	// mostOfResponse is more than a small response takes. One that is read ahead takes as much of the shared memory until its size is known.
	mostOfResponse = 512 << 10
)

// inbox has the responses of a watch that were read and not handled yet.
type inbox struct {
	full      func() bool     // the store has to catch up first
	memory    Memory          // for what is read ahead
	responses <-chan received // of the watch; nil after the session has ended
	wanted    chan struct{}   // has an element for each response that is requested
	reading   bool            // one is requested
	taken     int64           // of the memory, for the one that is requested
	ahead     []received      // for example while the session waited for the state of authentication
	bytes     int64           // that they take
	ended     bool            // the watch has ended, as the last one of them says
}

type received struct {
	Response
	err   error
	bytes int64
	taken int64 // of the memory
}

// size returns about how much memory the events of a response take.
func (r Response) size() (bytes int64) {
	for _, event := range r.Events {
		bytes += int64(proto.Size(event)) + eventBytes
	}
	return bytes
}

// reader reads a stream in the background, one response for each element of wanted. What the session has no place for is not read.
func reader(ctx context.Context, stream Stream, wanted <-chan struct{}) <-chan received {
	responses := make(chan received)
	go panics.Caught(func() {
		for {
			select {
			case <-wanted:
			case <-ctx.Done():
				return
			}
			response, err := stream.Receive()
			select {
			case responses <- received{Response: response, err: err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}, func(err error) {
		select {
		case responses <- received{err: err}:
		case <-ctx.Done():
		}
	})()
	return responses
}

// next returns the first response that was read and not handled yet.
func (i *inbox) next() received {
	first := i.ahead[0]
	i.ahead[0] = received{} // the array holds no events of it any more
	i.ahead, i.bytes = i.ahead[1:], i.bytes-first.bytes
	i.memory.Return(first.taken)
	return first
}

// readsAhead returns whether a response of the watch may be read now, and requests one. A large one counts in the memory of all archives until it was
// handled, so no other follows it. Without memory, it is not read ahead.
func (i *inbox) readsAhead() bool {
	n := len(i.ahead)
	if i.responses == nil || i.ended || n == maxAhead || i.bytes >= aheadBytes || n > 0 && i.ahead[n-1].Release != nil {
		return false
	}
	if i.reading || i.full() {
		return i.reading
	}
	if !i.memory.Take(mostOfResponse) {
		return false
	}
	i.taken = mostOfResponse
	return i.request()
}

// read notes a response. It is handled after those before it, and when the store has room for it.
func (i *inbox) read(r received) {
	i.reading, i.ended = false, r.err != nil
	r.bytes = r.size()
	if r.taken = i.taken; r.taken > 0 {
		r.taken = min(r.bytes, mostOfResponse)
		if r.Release != nil {
			r.taken = 0 // it counts elsewhere
		}
		i.memory.Return(i.taken - r.taken)
		i.taken = 0
	}
	i.ahead, i.bytes = append(i.ahead, r), i.bytes+r.bytes
}

// request requests a response of the watch, unless the store has to catch up first. It returns whether one is requested.
func (i *inbox) request() bool {
	if !i.reading && !i.full() {
		i.wanted <- struct{}{}
		i.reading = true
	}
	return i.reading
}

// drop returns the memory of what was read ahead and is not handled any more. The next session reads it again.
func (i *inbox) drop() {
	for _, r := range i.ahead {
		r.release()
		i.memory.Return(r.taken)
	}
	i.memory.Return(i.taken)
	i.ahead, i.bytes, i.taken, i.responses = nil, 0, 0, nil
}
