package proof

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

func FuzzDecode(f *testing.F) {
	alice, err := age.GenerateX25519Identity()
	if err != nil {
		f.Fatal(err)
	}
	recipients := []string{alice.Recipient().String()}
	for _, encoder := range []codec.Encoder{{Compression: codec.Zstd}, {Recipients: recipients}, {Compression: codec.Zstd, Recipients: recipients}} {
		encoded, err := encoder.Encode(strings.NewReader(strings.Repeat("etcd", 1000)))
		if err != nil {
			f.Fatal(err)
		}
		content, err := io.ReadAll(encoded)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, object []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		plain, encoding, err := decode(t.Context(), bytes.NewReader(object), "", []byte(alice.String()+"\n"), nil)
		if err == nil {
			_, err = io.Copy(io.Discard, &io.LimitedReader{R: plain, N: 64 << 20})
		}
		if err != nil && encoding.Plain() {
			t.Errorf("plain bytes failed to decode: %v", err)
		}
		if err != nil && !errors.Is(err, dbfile.ErrCorrupt) && !errors.Is(err, codec.ErrIdentity) {
			t.Errorf("error %v has no known kind", err)
		}
		if ctx.Err() != nil {
			t.Error("took a minute")
		}
	})
}
