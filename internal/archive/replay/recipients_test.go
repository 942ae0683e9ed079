package replay

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
)

// A segment of 100 KiB for 1024 recipients, and a Secret with as many identities as fit, kept the one process of all replays for half an hour. The
// restores of others to a point in time waited.
func TestASegmentForManyRecipientsDelaysNoRestoreOfOthers(t *testing.T) {
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	mine, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	o := newOriginal(t)
	s := store{}
	start := archive.NewStart(1, 1, archive.Base{Point: archive.Point{Revision: baseRevision, At: noon}}, "test")
	var records, object bytes.Buffer
	w := archive.NewWriter(&records, start.Chain(), auth.State{})
	for _, e := range o.events {
		if err := w.Add(e, noon); err != nil {
			t.Fatal(err)
		}
	}
	h, err := w.Seal(nil, auth.State{}, 0)
	if err == nil {
		h, err = archive.WriteObject(&object, codec.Encoder{Recipients: slices.Repeat([]string{other.Recipient().String()}, 1024)}, h, &records)
	}
	if err != nil {
		t.Fatal(err)
	}
	key := archive.LinkKey(root, 1, start.Chain().At, h.First)
	s[key] = object.Bytes()
	line := mine.String() + "\n"
	order := Order{
		Options: Options{Path: copyOf(t, o.base), Revision: 97, Chain: start.Chain(), FallbackTTL: 5, Identities: []byte(strings.Repeat(line, 1<<20/len(line)))},
		Store:   s, Root: root, Links: []archive.Link{{Key: key, Header: h}},
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 40*time.Second, errors.New("ended by the test after 40 s"))
	defer cancel()
	began := time.Now()
	_, err = Process{Memory: 512 << 20}.Replay(ctx, order)
	t.Logf("one segment of %d KiB took %s: %v", len(object.Bytes())>>10, time.Since(began), err)
	if !errors.Is(err, codec.ErrIdentity) {
		t.Errorf("error %v", err)
	}
}
