package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// filling is a store that fills each header when it is read. 150 large ones in memory would let the collector of the test wait.
type filling struct {
	*objstoretest.Memory
	headers map[string]Header
	fill    func(*Header)
}

func (f filling) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	h, ok := f.headers[key]
	if !ok {
		return f.Memory.Get(ctx, key)
	}
	f.fill(&h)
	h.hash = ""
	return io.NopCloser(bytes.NewReader(h.Encode())), nil
}

// A writer of the bucket fills headers. Each has less than the bound of one, and a search holds 20,000.
func TestLargeHeadersTakeBoundedMemory(t *testing.T) {
	at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		fill func(*Header)
		want error
		most uint64 // MiB, with what the test encodes
	}{
		"a long reason": {func(h *Header) { h.Reason = strings.Repeat("x", MaxHeader-4096) }, ErrCorrupt, 128},
		"many points": {func(h *Header) {
			points := make(Points, 0, 15_000)
			for i := range 15_000 {
				points = append(points, Point{Revision: h.First, At: at.Add(time.Duration(i) * time.Millisecond)})
			}
			h.Points = append(points, Point{Revision: h.Last, At: at.Add(time.Hour)})
		}, ErrTooManyLinks, 256},
	} {
		t.Run(name, func(t *testing.T) {
			first := base(10, 10)
			h := newHistory(Timeline(1), first)
			for range 150 {
				h.segment(h.chain.Last+1, 1, 1)
			}
			store := filling{storing(h.History), map[string]Header{}, test.fill}
			for _, link := range h.Links {
				store.headers[link.Key] = link.Header
			}
			heaptest.Bound(t, test.most, func() {
				_, err := Find(t.Context(), store, root, []Base{first}, Progress{}, Target{Revision: h.chain.Last})
				if !errors.Is(err, test.want) || len(err.Error()) > 1000 {
					t.Errorf("error %.500v", err)
				}
			})
		})
	}
}

// Points without a text take more memory than the header has bytes.
func TestEmptyPointsTakeNoMemory(t *testing.T) {
	h := newHistory(Timeline(1), base(10, 10))
	h.segment(h.chain.Last+1, 1, 1)
	store := storing(h.History)
	for _, point := range []string{"{}", "null", `{"revision":1,"at":"` + strings.Repeat("x", 1000) + `"}`} {
		text := fmt.Sprintf(`{"formatVersion":1,"kind":"segment","points":[%s]}`, strings.TrimSuffix(strings.Repeat(point+",", (MaxHeader-1024)/(len(point)+1)), ","))
		object := fmt.Appendf([]byte(text), " %08x\n", crc32.Checksum([]byte(text), castagnoli))
		store.Place(h.Links[0].Key, object)
		heaptest.Bound(t, 24, func() {
			_, err := ReadHeader(t.Context(), store, root, h.Links[0].Key)
			if !errors.Is(err, ErrCorrupt) || len(err.Error()) > 1000 {
				t.Errorf("%.20s: error %.500v", point, err)
			}
		})
	}
}

// What an earlier version has written can be read: a segment may have been open for hours, while the last revision was not complete.
func TestAHeaderWithAsManyPointsAsFitIsRead(t *testing.T) {
	h := newHistory(Timeline(1), base(10, 10))
	h.segment(h.chain.Last+1, 1, 1)
	header := h.Links[0].Header
	begin := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	header.Points, header.hash = nil, ""
	for i := range (MaxHeader - 4096) / 46 {
		header.Points = append(header.Points, Point{Revision: header.First, At: begin.Add(time.Duration(i) * time.Second)})
	}
	header.Points[len(header.Points)-1].Revision = header.Last
	object := header.Encode()
	if len(object) > MaxHeader {
		t.Fatalf("the header has %d bytes", len(object))
	}
	store := storing(h.History)
	store.Place(h.Links[0].Key, object)
	got, err := ReadHeader(t.Context(), store, root, h.Links[0].Key)
	if err != nil || len(got.Points) != len(header.Points) || !bytes.Equal(got.Encode(), object) {
		t.Errorf("%d points of %d, error %v", len(got.Points), len(header.Points), err)
	}
}
