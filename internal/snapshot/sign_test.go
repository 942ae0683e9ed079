package snapshot

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// signingKey returns a key pair.
func signingKey(t testing.TB) (*Signer, Signers) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ParseSigner(pemOf(t, "PRIVATE KEY", private))
	if err != nil {
		t.Fatal(err)
	}
	signers, err := ParseSigners(string(pemOf(t, "PUBLIC KEY", private.Public())))
	if err != nil {
		t.Fatal(err)
	}
	return signer, signers
}

func pemOf(t testing.TB, kind string, key any) []byte {
	t.Helper()
	marshal := x509.MarshalPKIXPublicKey
	if kind == "PRIVATE KEY" {
		marshal = x509.MarshalPKCS8PrivateKey
	}
	der, err := marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// TestEachFieldOfAManifestIsSigned changes each field, also those of later versions. A field that no signature covers could be changed in the
// bucket, and a restore would follow it.
func TestEachFieldOfAManifestIsSigned(t *testing.T) {
	signer, signers := signingKey(t)
	m := signer.Sign(key, manifest(nil))
	if err := signers.Check(key, m); err != nil {
		t.Fatal(err)
	}
	var change func(path string, field reflect.Value)
	changed := 0
	change = func(path string, field reflect.Value) {
		before := reflect.New(field.Type()).Elem()
		before.Set(field)
		switch value := field.Interface().(type) {
		case Signature:
			return // changed below
		case time.Time:
			field.Set(reflect.ValueOf(value.Add(time.Second)))
		case auth.Switch:
			field.Set(reflect.ValueOf(auth.SwitchOf(value != auth.On)))
		default:
			switch field.Kind() { //nolint:exhaustive // the default reports others
			case reflect.String:
				field.SetString(field.String() + "x")
			case reflect.Int, reflect.Int64:
				field.SetInt(field.Int() + 1)
			case reflect.Uint64:
				field.SetUint(field.Uint() + 1)
			case reflect.Bool:
				field.SetBool(!field.Bool())
			case reflect.Struct:
				for i := range field.NumField() {
					change(path+"."+field.Type().Field(i).Name, field.Field(i))
				}
				return
			default:
				t.Fatalf("%s has a kind that this test does not know", path)
			}
		}
		changed++
		if err := signers.Check(key, m); !errors.Is(err, ErrSignature) {
			t.Errorf("%s is not signed (%v): add it to signedBytes", path, err)
		}
		field.Set(before)
	}
	change("Manifest", reflect.ValueOf(&m).Elem())
	if err := signers.Check(key, m); err != nil || changed < 20 {
		t.Errorf("%d fields were changed, and the manifest afterwards: %v", changed, err)
	}
}

// TestASignatureBelongsToOneSnapshot moves a manifest to other keys. Otherwise the name of the newest snapshot could get the content of an old one.
func TestASignatureBelongsToOneSnapshot(t *testing.T) {
	signer, signers := signingKey(t)
	e := entry(ours, 10, 1010)
	m := signer.Sign(e.Key, e.Manifest)
	other := Series{Folder: ours.Folder, Namespace: ours.Namespace, Cluster: "other", ClusterID: ours.ClusterID}
	for name, test := range map[string]struct {
		key  string
		want error
	}{
		"its own key":                        {e.Key, nil},
		"its copy in the second location":    {theirs.Key(noon.Add(10*time.Minute), 1010), nil},
		"a later snapshot of the series":     {ours.Key(noon.Add(11*time.Minute), 1010), ErrSignature},
		"another revision":                   {ours.Key(noon.Add(10*time.Minute), 1011), ErrSignature},
		"another cluster":                    {other.Key(noon.Add(10*time.Minute), 1010), ErrSignature},
		"a single snapshot":                  {"etcd.backup", ErrSignature},
		"the key without the folder, nested": {"f/" + e.Key + "x", ErrSignature},
	} {
		if err := signers.Check(test.key, m); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	single := signer.Sign("a/etcd.backup", manifest(nil))
	if err := signers.Check("b/etcd.backup", single); !errors.Is(err, ErrSignature) {
		t.Errorf("a single snapshot in another folder: %v", err)
	}
}

// TestAReplacedSnapshotIsRefusedByEachReader does what a user who can write to the bucket can do. Each reader that decides what is restored, tested or
// copied must refuse the result.
func TestAReplacedSnapshotIsRefusedByEachReader(t *testing.T) {
	signer, signers := signingKey(t)
	intruder, _ := signingKey(t)
	content := database(t, member, 30)
	store := newBucket(t)
	named := ours.Key(noon, 31)
	sign := func(by *Signer) func(*Request) {
		return func(r *Request) { r.Key, r.Signer = named, by }
	}
	save := func(by *Signer, content []byte) Manifest {
		saved, err := Save(t.Context(), request(t, store, content, sign(by)))
		if err != nil {
			t.Fatal(err)
		}
		return saved.Manifest
	}
	clear := func() { store.remove(named); store.remove(ManifestKey(named)) }
	rewrite := func(m Manifest) {
		text, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		store.remove(ManifestKey(named))
		store.put(ManifestKey(named), text)
	}
	readers := map[string]func() error{
		"ManifestOf": func() error { _, err := ManifestOf(t.Context(), store, named, signers); return err },
		"Fetch": func() error {
			_, err := Fetch(t.Context(), store, named, Alone(t.TempDir()), nil, signers)
			return err
		},
		"Known": func() error {
			known := Known{}
			err := known.Read(t.Context(), store, []Item{{Key: named}}, signers)
			return errors.Join(err, known[named].Err)
		},
		"RunRestoreTest": func() error {
			_, err := RunRestoreTest(t.Context(), RestoreTestRequest{Store: store, Key: named, ScratchDir: t.TempDir(), Signers: signers,
				Try: func(context.Context, dbfile.Trial) (dbfile.KVHash, error) { return dbfile.KVHash{}, nil }})
			return err
		},
		"Copy": func() error {
			r := second(store, newBucket(t))
			r.Signers = signers
			done, err := Copy(t.Context(), r)
			if done.Last != "" && err == nil {
				return nil
			}
			return errors.Join(errors.New("nothing was copied"), err)
		},
		"Save, which would take it for an earlier try": func() error {
			_, err := Save(t.Context(), request(t, store, content, sign(signer)))
			return err
		},
	}
	for name, test := range map[string]struct {
		replace func()
		want    error
	}{
		"by one without a signature": {func() { save(nil, database(t, member, 40)) }, ErrNotSigned},
		"by one with the intruder's": {func() { save(intruder, database(t, member, 40)) }, ErrUnknownSigner},
		"and the former signature was kept": {func() {
			m := save(signer, content)
			clear()
			n := save(nil, database(t, member, 40))
			n.Signature = m.Signature
			rewrite(n)
		}, ErrSignature},
		"and the manifest has another hash":  {func() { m := save(signer, content); m.SHA256 = strings.Repeat("ab", 32); rewrite(m) }, ErrSignature},
		"and the signature is no base64":     {func() { m := save(signer, content); m.Signature.Value = "?"; rewrite(m) }, ErrSignature},
		"and the signature names no key":     {func() { m := save(signer, content); m.Signature.Key = "a page of another server"; rewrite(m) }, ErrSignature},
		"by an older one under its own name": {func() { m := signer.Sign(ours.Key(noon.Add(-time.Hour), 31), save(signer, content)); rewrite(m) }, ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			test.replace()
			for reader, read := range readers {
				err := read()
				if reader == "Save, which would take it for an earlier try" {
					if !errors.Is(err, fs.ErrExist) {
						t.Errorf("%s: %v, want %v", reader, err, fs.ErrExist)
					}
				} else if !errors.Is(err, test.want) {
					t.Errorf("%s: %v, want %v", reader, err, test.want)
				}
				if err != nil && strings.Contains(err.Error(), "a page of") {
					t.Errorf("%s repeats what the bucket has: %v", reader, err)
				}
			}
			clear()
		})
	}
	save(signer, content)
	for reader, read := range readers {
		if err := read(); err != nil {
			t.Errorf("%s refuses the snapshot that the operator saved: %v", reader, err)
		}
	}
}

// TestASignedSaveThatWasKilledIsCompletedByTheNextTry kills a save at each call to the store. Without a signed draft, the next try could not tell its
// own object from one that somebody else has put there.
func TestASignedSaveThatWasKilledIsCompletedByTheNextTry(t *testing.T) {
	signer, signers := signingKey(t)
	first, later := database(t, member, 30), database(t, member, 31)
	signed := func(r *Request) { r.Signer, r.Again = signer, true }
	for _, when := range []when{before, inBetween, after} {
		for at := 1; ; at++ {
			store := newBucket(t)
			if _, err := Save(t.Context(), request(t, &mortal{Store: store, at: at, when: when}, first, signed)); err == nil {
				if at < 6 {
					t.Errorf("only %d calls: does this test kill anything?", at-1)
				}
				break
			}
			t.Run(fmt.Sprintf("%s call %d", when, at), func(t *testing.T) {
				if _, err := Save(t.Context(), request(t, store, later, signed)); err != nil {
					t.Fatalf("the next try: %v", err)
				}
				if want := []string{key, key + ".json"}; !slices.Equal(store.keys(), want) {
					t.Errorf("the bucket holds %q, want %q", store.keys(), want)
				}
				if _, err := Fetch(t.Context(), store, key, Alone(t.TempDir()), nil, signers); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestNobodyElsesObjectIsSigned puts an object under the key of a snapshot before it is taken. It lists a member, as each snapshot of the cluster does.
func TestNobodyElsesObjectIsSigned(t *testing.T) {
	signer, _ := signingKey(t)
	store := newBucket(t)
	store.put(key, database(t, member, 40))
	_, err := Save(t.Context(), request(t, store, database(t, member, 30), func(r *Request) { r.Signer, r.Again = signer, true }))
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "no signed draft") {
		t.Errorf("error %v, want one that the object is foreign", err)
	}
	if got := store.keys(); !slices.Equal(got, []string{key}) {
		t.Errorf("the bucket holds %q", got)
	}
}

// TestSnapshotsFromBeforeSigningAreSkippedByTheCopy: they are listed, kept and deleted as before, but the second location gets signed ones only.
func TestSnapshotsFromBeforeSigningAreSkippedByTheCopy(t *testing.T) {
	signer, signers := signingKey(t)
	from, to := newBucket(t), newBucket(t)
	old := from.place(1, "")
	newest := from.place(2, "")
	m, err := readManifest(t.Context(), from, newest, Anyone)
	if err != nil {
		t.Fatal(err)
	}
	r := second(from, to)
	r.Signers = signers
	if _, err := Copy(t.Context(), r); !errors.Is(err, ErrNotSigned) || !errors.Is(err, ErrCopySource) {
		t.Errorf("the newest is not signed: %v", err)
	}
	text, err := signer.Sign(newest, m).Encode()
	if err != nil {
		t.Fatal(err)
	}
	from.remove(ManifestKey(newest))
	from.put(ManifestKey(newest), text)
	done := mustCopy(t, r)
	if done.Last != r.keyOf(newest) || slices.Contains(to.keys(), r.keyOf(old)) {
		t.Errorf("copied %s, the second location has %q", done.Last, to.keys())
	}
	if _, err := readManifest(t.Context(), to, done.Last, signers); err != nil {
		t.Errorf("the copy lost its signature: %v", err)
	}
}

func TestKeysThatAreNoneAreRefusedWithoutTheirText(t *testing.T) {
	elliptical, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	right, public := pemOf(t, "PRIVATE KEY", private), pemOf(t, "PUBLIC KEY", private.Public())
	for name, text := range map[string][]byte{
		"nothing": nil, "no PEM": []byte("hunter2"), "a public key": public, "another kind": pemOf(t, "PRIVATE KEY", elliptical),
		"two keys": append(slices.Clone(right), right...),
	} {
		if _, err := ParseSigner(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s is taken for a private key: %v", name, err)
		}
	}
	for name, text := range map[string][]byte{
		"nothing": nil, "no PEM": []byte("hunter2"), "a private key": right, "another kind": pemOf(t, "PUBLIC KEY", elliptical.Public()),
		"more after it": append(slices.Clone(public), "hunter2"...),
	} {
		if _, err := ParseSigners(string(text)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s is taken for a public key: %v", name, err)
		}
	}
	signer, _ := signingKey(t)
	earlier, err := ParseSigners(string(public))
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := ParseSigner(right)
	if err != nil {
		t.Fatal(err)
	}
	all := signer.Signers(earlier)
	if err := errors.Join(all.Check(key, replaced.Sign(key, manifest(nil))), all.Check(key, signer.Sign(key, manifest(nil)))); err != nil {
		t.Errorf("after a rotation: %v", err)
	}
}
