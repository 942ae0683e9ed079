package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// How objects begin that are encrypted with age, or compressed with zstd.
const (
	ageStart  = "age-encryption.org/v1\n"
	zstdStart = "\x28\xb5\x2f\xfd"
)

// keyPair returns a new recipient and its identity.
func keyPair(t testing.TB) (recipient string, identity []byte) {
	t.Helper()
	pair, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return pair.Recipient().String(), []byte("# made by a test\n" + pair.String() + "\n")
}

func TestEncodedSnapshotsAreFetchedUnchanged(t *testing.T) {
	content := database(t, member, 300)
	plain := sha256.Sum256(content)
	alice, aliceKey := keyPair(t)
	bob, bobKey := keyPair(t)
	for name, encoder := range map[string]codec.Encoder{
		"compressed":               {Compression: codec.Zstd},
		"encrypted":                {Recipients: []string{alice, bob}},
		"compressed and encrypted": {Compression: codec.Zstd, Recipients: []string{alice, bob}},
	} {
		t.Run(name, func(t *testing.T) {
			store := newBucket(t)
			saved, err := Save(t.Context(), request(t, store, content, func(r *Request) { r.Encoder = encoder }))
			if err != nil {
				t.Fatal(err)
			}
			object, m := store.get(key), saved.Manifest
			if sum := sha256.Sum256(object); m.SHA256 != hex.EncodeToString(sum[:]) || m.Size != int64(len(object)) {
				t.Errorf("the manifest does not describe the object: %+v", m)
			}
			if m.PlainSHA256 != hex.EncodeToString(plain[:]) || m.PlainSize != int64(len(content)) || m.Encoding() != encoder.Encoding() {
				t.Errorf("the manifest does not describe the snapshot: %+v", m)
			}
			if bytes.Contains(object, content[:4096]) || encoder.Compression != "" && len(object) > len(content)/2 {
				t.Errorf("the object has %d bytes of %d, or is not encoded", len(object), len(content))
			}
			if got := byOtherTools(t, object, bobKey); !bytes.Equal(got, content) {
				t.Error("age and zstd decode it differently")
			}
			wantFetched(t, store, content, append(bobKey, aliceKey...), m)
			store.remove(key + ".json")
			wantFetched(t, store, content, aliceKey, m)
		})
	}
}

func wantFetched(t *testing.T, store objstore.Store, content, identities []byte, m Manifest) {
	t.Helper()
	fetched, err := Fetch(t.Context(), store, key, Alone(t.TempDir()), identities, Anyone)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(fetched.Path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, content) || fetched.SHA256 != m.SHA256 || fetched.Size != m.Size || fetched.Encoding != m.Encoding() || fetched.Info.Revision != m.Revision {
		t.Errorf("fetched %d bytes, %+v, want %d and %+v", len(got), fetched, len(content), m)
	}
}

// byOtherTools decodes as the tools age and zstd do.
func byOtherTools(t *testing.T, object, identities []byte) []byte {
	t.Helper()
	var body io.Reader = bytes.NewReader(object)
	if bytes.HasPrefix(object, []byte(ageStart)) {
		parsed, err := age.ParseIdentities(bytes.NewReader(identities))
		if err != nil {
			t.Fatal(err)
		}
		if body, err = age.Decrypt(body, parsed...); err != nil {
			t.Fatal(err)
		}
	}
	content, err := io.ReadAll(body)
	if err == nil && bytes.HasPrefix(content, []byte(zstdStart)) {
		var reader *zstd.Decoder
		if reader, err = zstd.NewReader(bytes.NewReader(content)); err == nil {
			content, err = io.ReadAll(reader)
			reader.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestFetchRejectsDamagedEncodedObjects(t *testing.T) {
	alice, aliceKey := keyPair(t)
	_, mallory := keyPair(t)
	content := database(t, member, 300)
	cut := func(b []byte) []byte { return b[:len(b)-100] }
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	more := func(b []byte) []byte { return append(b, b...) }
	for name, test := range map[string]struct {
		encoder    codec.Encoder
		identities []byte
		change     func([]byte) []byte
		headless   bool
		want       error
	}{
		"no identity":                                      {encoder: codec.Encoder{Recipients: []string{alice}}, want: codec.ErrIdentity},
		"the identity of another recipient":                {encoder: codec.Encoder{Recipients: []string{alice}}, identities: mallory, want: codec.ErrIdentity},
		"an invalid identity":                              {encoder: codec.Encoder{Recipients: []string{alice}}, identities: []byte("hunter2"), want: codec.ErrIdentity},
		"a truncated ciphertext":                           {encoder: codec.Encoder{Recipients: []string{alice}}, identities: aliceKey, change: cut, want: dbfile.ErrCorrupt},
		"a flipped bit in a ciphertext":                    {encoder: codec.Encoder{Recipients: []string{alice}}, identities: aliceKey, change: flip, want: dbfile.ErrCorrupt},
		"a flipped bit in a ciphertext without a manifest": {encoder: codec.Encoder{Recipients: []string{alice}}, identities: aliceKey, change: flip, headless: true, want: dbfile.ErrCorrupt},
		"two concatenated ciphertexts without a manifest":  {encoder: codec.Encoder{Recipients: []string{alice}}, identities: aliceKey, change: more, headless: true, want: dbfile.ErrCorrupt},
		"a truncated zstd stream":                          {encoder: codec.Encoder{Compression: codec.Zstd}, change: cut, want: dbfile.ErrCorrupt},
		"a flipped bit in a zstd stream":                   {encoder: codec.Encoder{Compression: codec.Zstd}, change: flip, want: dbfile.ErrCorrupt},
		"a truncated zstd stream without a manifest":       {encoder: codec.Encoder{Compression: codec.Zstd}, change: cut, headless: true, want: dbfile.ErrCorrupt},
		"a plain object in place of an encoded one":        {encoder: codec.Encoder{Compression: codec.Zstd}, change: func([]byte) []byte { return content }, want: dbfile.ErrCorrupt},
		"two concatenated zstd streams without a manifest": {encoder: codec.Encoder{Compression: codec.Zstd}, change: more, headless: true, want: dbfile.ErrNoTrailer},
		"invalid data after the magic number of zstd":      {encoder: codec.Encoder{Compression: codec.Zstd}, change: func([]byte) []byte { return []byte(zstdStart + "nonsense") }, headless: true, want: dbfile.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			store := newBucket(t)
			if _, err := Save(t.Context(), request(t, store, content, func(r *Request) { r.Encoder = test.encoder })); err != nil {
				t.Fatal(err)
			}
			if test.change != nil {
				store.replace(key, test.change(store.get(key)))
			}
			if test.headless {
				store.remove(key + ".json")
			}
			dir := t.TempDir()
			_, err := Fetch(t.Context(), store, key, Alone(dir), test.identities, Anyone)
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if err != nil && (strings.Contains(err.Error(), string(test.identities)) && test.identities != nil || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("the error shows an identity: %v", err)
			}
			if left := onDisk(t, dir); len(left) != 0 {
				t.Errorf("left %q on the disk", left)
			}
		})
	}
}

// torn is a store whose bodies break off.
type torn struct{ objstore.Store }

func (s torn) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := s.Store.Get(ctx, key)
	if err != nil || strings.HasSuffix(key, ".json") {
		return body, err
	}
	return io.NopCloser(io.MultiReader(io.LimitReader(body, 20000), errReader{errors.New("connection reset")})), nil
}

func TestInterruptedDownloadIsNotReportedAsCorruption(t *testing.T) {
	alice, aliceKey := keyPair(t)
	for _, encoder := range []codec.Encoder{{}, {Compression: codec.Zstd}, {Recipients: []string{alice}}, {Compression: codec.Zstd, Recipients: []string{alice}}} {
		store := newBucket(t)
		if _, err := Save(t.Context(), request(t, store, database(t, member, 3000), func(r *Request) { r.Encoder = encoder })); err != nil {
			t.Fatal(err)
		}
		_, err := Fetch(t.Context(), torn{store}, key, Alone(t.TempDir()), aliceKey, Anyone)
		if err == nil || errors.Is(err, dbfile.ErrCorrupt) || errors.Is(err, codec.ErrIdentity) || !strings.Contains(err.Error(), "connection reset") {
			t.Errorf("%+v: error %v, want the connection's", encoder.Encoding(), err)
		}
	}
}

func TestSaveOfAnEncodedObjectHandlesFailures(t *testing.T) {
	alice, _ := keyPair(t)
	content := database(t, member, 300)
	for _, encoder := range []codec.Encoder{{Compression: codec.Zstd}, {Recipients: []string{alice}}} {
		t.Run(encoder.Encoding().Suffix()+": stores no object if the stream is invalid", func(t *testing.T) {
			store := newBucket(t)
			_, err := Save(t.Context(), request(t, store, content[:len(content)-512], func(r *Request) { r.Encoder = encoder }))
			if !errors.Is(err, dbfile.ErrCorrupt) && !errors.Is(err, dbfile.ErrNoTrailer) || len(store.keys()) != 0 {
				t.Errorf("error %v, and the store holds %q", err, store.keys())
			}
		})
		t.Run(encoder.Encoding().Suffix()+": finds its object if the answer of the store was lost", func(t *testing.T) {
			store := newBucket(t)
			saved, err := Save(t.Context(), request(t, forgetful{store, key}, content, func(r *Request) { r.Encoder, r.Attempt = encoder, "" }))
			if err != nil || saved.Found || saved.Manifest.Encoding() != encoder.Encoding() {
				t.Errorf("saved %+v, error %v", saved, err)
			}
		})
	}
	t.Run("adopts a compressed object without a manifest", func(t *testing.T) {
		store := newBucket(t)
		r := request(t, store, content, func(r *Request) { r.Encoder = codec.Encoder{Compression: codec.Zstd} })
		first, err := Save(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		store.remove(key + ".json")
		again, err := Save(t.Context(), r)
		if err != nil || !again.Found || again.Manifest.SHA256 != first.Manifest.SHA256 || again.Manifest.PlainSHA256 != first.Manifest.PlainSHA256 {
			t.Errorf("again %+v, error %v, want what was left", again, err)
		}
	})
	t.Run("keeps an encrypted object without a manifest", func(t *testing.T) {
		store := newBucket(t)
		r := request(t, store, content, func(r *Request) { r.Encoder = codec.Encoder{Recipients: []string{alice}} })
		if _, err := Save(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		store.remove(key + ".json")
		if _, err := Save(t.Context(), r); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "encrypted") {
			t.Errorf("error %v, want fs.ErrExist that says why", err)
		}
	})
}

func TestSaveRejectsAnInvalidEncoderBeforeAnyRequest(t *testing.T) {
	_, identity := keyPair(t)
	for name, encoder := range map[string]codec.Encoder{
		"an unknown compression":     {Compression: "gzip"},
		"an invalid recipient":       {Recipients: []string{"age1nobody"}},
		"an identity as a recipient": {Recipients: []string{strings.TrimSpace(strings.Split(string(identity), "\n")[1])}},
	} {
		t.Run(name, func(t *testing.T) {
			source := &source{}
			_, err := Save(t.Context(), request(t, nil, nil, func(r *Request) { r.Encoder, r.Source = encoder, source }))
			if err == nil || source.asked != 0 {
				t.Errorf("error %v, asked %d times", err, source.asked)
			}
			if err != nil && strings.Contains(err.Error(), "AGE-SECRET") {
				t.Errorf("the error shows an identity: %v", err)
			}
		})
	}
}

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
		plain, encoding, err := decode(t.Context(), bytes.NewReader(object), "", []byte(alice.String()+"\n"))
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
