package snapshot_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// TestEachFieldOfAManifestIsSigned changes each field, also those of later versions. A field that no signature covers could be changed in the
// bucket, and a restore would follow it.
func TestEachFieldOfAManifestIsSigned(t *testing.T) {
	signer, signers := snapshottest.SigningKey(t)
	m := signer.Sign(snapshottest.Key, snapshottest.Manifest(nil))
	if err := signers.Check(snapshottest.Key, m); err != nil {
		t.Fatal(err)
	}
	var change func(path string, field reflect.Value)
	changed := 0
	change = func(path string, field reflect.Value) {
		before := reflect.New(field.Type()).Elem()
		before.Set(field)
		switch value := field.Interface().(type) {
		case snapshot.Signature:
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
		if err := signers.Check(snapshottest.Key, m); !errors.Is(err, snapshot.ErrSignature) {
			t.Errorf("%s is not signed (%v): add it to signedBytes", path, err)
		}
		field.Set(before)
	}
	change("Manifest", reflect.ValueOf(&m).Elem())
	if err := signers.Check(snapshottest.Key, m); err != nil || changed < 20 {
		t.Errorf("%d fields were changed, and the manifest afterwards: %v", changed, err)
	}
}

// TestASignatureBelongsToOneSnapshot moves a manifest to other keys. Otherwise the name of the newest snapshot could get the content of an old one.
func TestASignatureBelongsToOneSnapshot(t *testing.T) {
	signer, signers := snapshottest.SigningKey(t)
	e := snapshottest.Entry(snapshottest.Ours, 10, 1010)
	m := signer.Sign(e.Key, e.Manifest)
	other := snapshot.Series{Folder: snapshottest.Ours.Folder, Namespace: snapshottest.Ours.Namespace, Cluster: "other", ClusterID: snapshottest.Ours.ClusterID}
	for name, test := range map[string]struct {
		key  string
		want error
	}{
		"its own key":                        {e.Key, nil},
		"its copy in the second location":    {snapshottest.Theirs.Key(snapshottest.Noon.Add(10*time.Minute), 1010), nil},
		"a later snapshot of the series":     {snapshottest.Ours.Key(snapshottest.Noon.Add(11*time.Minute), 1010), snapshot.ErrSignature},
		"another revision":                   {snapshottest.Ours.Key(snapshottest.Noon.Add(10*time.Minute), 1011), snapshot.ErrSignature},
		"another cluster":                    {other.Key(snapshottest.Noon.Add(10*time.Minute), 1010), snapshot.ErrSignature},
		"a single snapshot":                  {"etcd.backup", snapshot.ErrSignature},
		"the key without the folder, nested": {"f/" + e.Key + "x", snapshot.ErrSignature},
	} {
		if err := signers.Check(test.key, m); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	single := signer.Sign("a/etcd.backup", snapshottest.Manifest(nil))
	if err := signers.Check("b/etcd.backup", single); !errors.Is(err, snapshot.ErrSignature) {
		t.Errorf("a single snapshot in another folder: %v", err)
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
	right, public := snapshottest.PemOf(t, "PRIVATE KEY", private), snapshottest.PemOf(t, "PUBLIC KEY", private.Public())
	for name, text := range map[string][]byte{
		"nothing": nil, "no PEM": []byte("hunter2"), "a public key": public, "another kind": snapshottest.PemOf(t, "PRIVATE KEY", elliptical),
		"two keys": append(slices.Clone(right), right...),
	} {
		if _, err := snapshot.ParseSigner(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s is taken for a private key: %v", name, err)
		}
	}
	for name, text := range map[string][]byte{
		"nothing": nil, "no PEM": []byte("hunter2"), "a private key": right, "another kind": snapshottest.PemOf(t, "PUBLIC KEY", elliptical.Public()),
		"more after it": append(slices.Clone(public), "hunter2"...),
	} {
		if _, err := snapshot.ParseSigners(string(text)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s is taken for a public key: %v", name, err)
		}
	}
	signer, _ := snapshottest.SigningKey(t)
	earlier, err := snapshot.ParseSigners(string(public))
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := snapshot.ParseSigner(right)
	if err != nil {
		t.Fatal(err)
	}
	all := signer.Signers(earlier)
	if err := errors.Join(all.Check(snapshottest.Key, replaced.Sign(snapshottest.Key, snapshottest.Manifest(nil))), all.Check(snapshottest.Key, signer.Sign(snapshottest.Key, snapshottest.Manifest(nil)))); err != nil {
		t.Errorf("after a rotation: %v", err)
	}
}
