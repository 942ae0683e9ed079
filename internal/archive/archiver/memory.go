package archiver

import "context"

// Memory is what the archivers of a process share. What each of them always has is no part of it.
type Memory interface {
	// Take takes bytes at once, and returns false if there are none. Then the archiver does without them.
	Take(bytes int64) bool
	Return(bytes int64)
	// Encode waits for the memory in which the object of a segment is written. Its records have that many bytes. No store is asked in this time.
	Encode(ctx context.Context, bytes int64) (done func(), err error)
}

// alone is the memory of an archiver that shares it with no other one.
type alone struct{}

func (alone) Take(int64) bool { return true }
func (alone) Return(int64)    {}
func (alone) Encode(context.Context, int64) (func(), error) {
	return func() {}, nil
}
