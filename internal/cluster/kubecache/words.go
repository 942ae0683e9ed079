package kubecache

import (
	"sync"
)

const (
	// wordLimit is how many strings are shared. It bounds what the table holds: a few kinds of objects have some dozens of words.
	wordLimit = 2048
	// wordLength is the longest string that is shared.
	wordLength = 256
)

// Words are the strings that many objects in the cache have in common: keys of labels, images, types of conditions.
var Words wordTable

// wordTable shares equal strings. Each object from the API server has its own copy of every string. When the table is full, it
// returns what it is given.
type wordTable struct {
	mu    sync.Mutex
	known map[string]*string
}

func (w *wordTable) Share(s string) string { return *w.pointer(s) }

func (w *wordTable) pointer(s string) *string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if have := w.known[s]; have != nil {
		return have
	}
	if len(w.known) < wordLimit && len(s) <= wordLength {
		if w.known == nil {
			w.known = map[string]*string{}
		}
		w.known[s] = &s
	}
	return &s
}
