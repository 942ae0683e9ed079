package archiver

import (
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// A server of a tenant sent changes, and did not say whether users had changed. In each of more than a hundred archives, the operator held 16 responses of half a MiB in
// the meantime, which no budget counts. With those of the other tenants, it had no memory left, and no namespace had backups.
func TestWhatIsReadAheadTakesABoundedPartOfTheMemory(t *testing.T) {
	for name, test := range map[string]struct{ events, size int }{
		"the smallest events":                 {1000, 1},
		"large events that need no admission": {2, 256<<10 - 100},
		"usual events":                        {10, 1000},
	} {
		i := inbox{memory: alone{}, full: func() bool { return false }, responses: make(chan received), wanted: make(chan struct{}, 1)}
		held := 0
		for i.readsAhead() {
			<-i.wanted
			response := Response{}
			for n := range test.events {
				response.Events = append(response.Events, &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: make([]byte, test.size), ModRevision: int64(n + 2)}})
			}
			i.read(received{Response: response})
			if held += test.events * (test.size + eventBytes); held > 3*aheadBytes {
				t.Fatalf("%s: %d responses are held, which take %d KiB", name, len(i.ahead), held>>10)
			}
		}
		for len(i.ahead) > 0 {
			i.next()
		}
		if i.bytes != 0 || !i.readsAhead() {
			t.Errorf("%s: %d bytes are counted after all was handled", name, i.bytes)
		}
	}
}
