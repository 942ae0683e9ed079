package watch

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// Each of a hundred archives holds what its member has sent while it waits for its store. An archive had 512 KiB of it and a response of 800 KiB, so that all of them
// did not fit into the memory of backup-operator beside the other budgets.
func TestAWatchThatIsNotReadHoldsHalfAMiB(t *testing.T) {
	event := smallest(t)
	piece := bytes.Repeat(event, (1<<20)/len(event))
	client := writing(t, func(w http.ResponseWriter) {
		_, _ = w.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(64*len(piece))))
		for range 64 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	const watches = 40
	heaptest.Holds(t, watches*640, func() any {
		var all []archiver.Response
		for range watches {
			s, err := client.Watch(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Receive()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		<-time.After(2 * time.Second) // the windows fill
		return all
	})
}
