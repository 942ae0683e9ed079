package cli

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// A shop is a kit beside a store, which is a directory.
type shop struct {
	*kit
	dir    string
	opened []connect.Access
}

func shopOf(t *testing.T, kit *kit) *shop {
	t.Helper()
	s := &shop{kit: kit, dir: t.TempDir()}
	s.Open = func(_ context.Context, a connect.Access) (objstore.Store, error) {
		s.opened = append(s.opened, a)
		return file.Open(s.dir)
	}
	return s
}

func credentials() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s3"}, Data: map[string][]byte{"access-key-id": []byte("id"), "secret-access-key": []byte("key")}}
}

// snapshotFile writes a snapshot as etcdctl snapshot save does.
func snapshotFile(t *testing.T) (name string, content []byte) {
	t.Helper()
	content = dbfiletest.New(t, 1).Put(98, 10).Snapshot()
	name = filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name, content
}

// imported imports a snapshot, and returns the path of the object.
func (s *shop) imported(t *testing.T, name string) string {
	t.Helper()
	var restore backups.Imported
	if err := yaml.Unmarshal([]byte(s.must(t, "import", "example", name, "--yes", "-o", "yaml")), &restore); err != nil {
		t.Fatal(err)
	}
	return restore.Spec.S3.Path
}

// objects returns the names in the store.
func (s *shop) objects(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, strings.TrimPrefix(path, s.dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A snapshot without a manifest has no revision and no SHA-256 to compare with. What import writes must be what an operator would have written,
// and what download returns must be the file that etcdutl restores.
func TestAnImportedSnapshotIsDownloadedAsItWas(t *testing.T) {
	for name, change := range map[string]func(*v1beta2.EtcdBackup){
		"plain":      func(*v1beta2.EtcdBackup) {},
		"compressed": func(b *v1beta2.EtcdBackup) { b.Spec.Compression = v1beta2.CompressionZstd },
	} {
		series := hourly()
		change(series)
		s := shopOf(t, kitOf(t, example(), series, credentials()))
		from, content := snapshotFile(t)
		path := s.imported(t, from)
		if objects := s.objects(t); len(objects) != 2 || !strings.HasPrefix(objects[0], "folder-imported/ns/example/20261123-120000.db") || objects[1] != objects[0]+".json" {
			t.Errorf("%s: %q", name, objects)
		}
		to := filepath.Join(t.TempDir(), "copy.db")
		out := s.must(t, "download", "example", "--backup", "hourly", "--snapshot", path, "--file", to)
		got, err := os.ReadFile(to)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %v, %d bytes, want %d", name, err, len(got), len(content))
		}
		if !strings.Contains(out, "98 keys") || !strings.Contains(out, "are those of the manifest") || !strings.Contains(out, "SHA-256: ") {
			t.Errorf("%s: %s", name, out)
		}
		if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: others can read the data: %v %v", name, info.Mode(), err)
		}
	}
}

// A user applies what import prints. A restore of another object, or over a cluster that was restored meanwhile, loses data.
func TestImportPrintsTheEtcdRestoreOfItsObject(t *testing.T) {
	locked := hourly()
	locked.Spec.S3.StorageClass, locked.Spec.S3.Tags = "STANDARD_IA", map[string]string{"a": "b"} // an EtcdRestore with them is refused
	s := shopOf(t, kitOf(t, example(), locked, credentials()))
	from, _ := snapshotFile(t)
	out := s.must(t, "import", "example", from, "--yes")
	screen(t, "import", regexp.MustCompile(`\d+Ki\.`).ReplaceAllString(out, "29Ki.")) // how many pages the database has depends on how fast it was written
	if got := s.opened[0]; got.Key != "folder-imported/ns/example/20261123-120000.db" || string(got.Data["access-key-id"]) != "id" {
		t.Errorf("%+v", got.Location)
	}
	if _, err := s.run(t, "import", "example", from, "--yes"); err == nil || len(s.objects(t)) != 2 {
		t.Errorf("an object is overwritten: %v", err)
	}
}

// A copy of a database file of a running member can be torn. As an object with a manifest, it would pass for a proven snapshot.
func TestImportWritesNothingOfAFileThatIsNoSnapshot(t *testing.T) {
	from, content := snapshotFile(t)
	for name, c := range map[string]struct {
		content []byte
		says    string
	}{
		"without a trailer": {content[:len(content)-32], "member/snap/db"},
		"damaged":           {append([]byte{content[0] ^ 1}, content[1:]...), "SHA-256"},
		"empty":             {nil, "member/snap/db"},
	} {
		if err := os.WriteFile(from, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		s := shopOf(t, kitOf(t, example(), hourly(), credentials()))
		if _, err := s.run(t, "import", "example", from, "--yes"); err == nil || !strings.Contains(err.Error(), c.says) || len(s.objects(t)) > 0 {
			t.Errorf("%s: %v, %q", name, err, s.objects(t))
		}
	}
}

// A user restores from the file that is there. A damaged or half file under that name is found only in the next disaster.
func TestADownloadThatFailsLeavesNoFileAndReplacesNone(t *testing.T) {
	s := shopOf(t, kitOf(t, example(), hourly(), credentials()))
	from, content := snapshotFile(t)
	path := s.imported(t, from)
	object := filepath.Join(s.dir, strings.TrimPrefix(path, "bucket/"))
	content[len(content)/2] ^= 1
	if err := os.WriteFile(object, content, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, err := s.run(t, "download", "example", "--backup", "hourly", "--snapshot", path, "--file", filepath.Join(dir, "x.db"))
	if left, _ := os.ReadDir(dir); err == nil || !strings.Contains(err.Error(), "No file was written") || len(left) > 0 {
		t.Errorf("%v, %d files", err, len(left))
	}
	if _, err := s.run(t, "download", "example", "--backup", "hourly", "--snapshot", path, "--file", from); err == nil || !strings.Contains(err.Error(), "--file") {
		t.Errorf("an existing file: %v", err)
	}
	if _, err := os.Stat(from); err != nil {
		t.Errorf("the existing file is removed: %v", err)
	}
}

func TestADownloadThatCannotBeginSaysWhatItNeeds(t *testing.T) {
	inside := hourly()
	inside.Spec.S3.Endpoint = "http://s3.object-store.svc:9000"
	for name, c := range map[string]struct {
		kit  *kit
		args string
		says string
	}{
		"no backup":    {kitOf(t, example()), "", "kubectl etcd download example --now"},
		"no Secret":    {kitOf(t, example(), hourly()), "", "right to read Secret s3"},
		"not listed":   {kitOf(t, example(), hourly(), credentials()), "--snapshot other.db", "--backup <name> --snapshot <bucket>/<key>"},
		"inside":       {kitOf(t, example(), inside, credentials()), "", "kubectl -n object-store port-forward service/s3 9000:9000"},
		"no URL":       {kitOf(t, example(), hourly(), credentials()), "--via localhost:9000", "not a URL"},
		"other member": {kitOf(t, example(), podOf("example-a")), "--now --member other", "member other has no Pod"},
	} {
		s := shopOf(t, c.kit)
		dir := t.TempDir()
		_, err := s.run(t, append([]string{"download", "example", "--file", filepath.Join(dir, "x.db")}, strings.Fields(c.args)...)...)
		if left, _ := os.ReadDir(dir); err == nil || !strings.Contains(err.Error(), c.says) || len(left) > 0 {
			t.Errorf("%s: %v, %d files", name, err, len(left))
		}
	}
}

// A person who may write an EtcdBackup but not read the Secret wrote the URL of a server of his own into it. The next user who downloaded a snapshot sent the keys there.
func TestTheKeysOfASecretAreNotSentToAURLThatOthersWrote(t *testing.T) {
	hostile := hourly()
	hostile.Spec.S3.Endpoint = "https://elsewhere.example"
	named := credentials()
	named.Data["endpoint"] = []byte("https://store.example")
	from, _ := snapshotFile(t)
	for name, args := range map[string][]string{
		"download":                       {"download", "example", "--file", filepath.Join(t.TempDir(), "x.db")},
		"import":                         {"import", "example", from, "--yes"},
		"import with an unused endpoint": {"import", "example", from, "--yes", "--endpoint", "https://unused.example"},
	} {
		s := shopOf(t, kitOf(t, example(), hostile, named))
		_, _ = s.run(t, args...)
		if len(s.opened) != 1 {
			t.Fatalf("%s: %d stores", name, len(s.opened))
		}
		if a := s.opened[0]; a.Endpoint != "https://elsewhere.example" || string(a.Data["endpoint"]) != "https://store.example" {
			t.Errorf("%s: the store %s gets the keys of a Secret that names %s", name, a.Endpoint, a.Data["endpoint"])
		}
	}
}

// A user who writes the store into the command chooses its URL.
func TestImportReachesTheStoreOfItsFlags(t *testing.T) {
	s := shopOf(t, kitOf(t, example(), credentials()))
	from, _ := snapshotFile(t)
	_, _ = s.run(t, "import", "example", from, "--yes", "--storage", "S3", "--path", "bucket/x.db", "--secret", "s3", "--endpoint", "https://mine.example")
	if len(s.opened) != 1 || string(s.opened[0].Data["endpoint"]) != "https://mine.example" {
		t.Errorf("%+v", s.opened)
	}
}

// The keys of a Secret are sent only where the Secret or the user names it.
func TestDownloadReachesTheStoreByTheURLOfTheUser(t *testing.T) {
	s := shopOf(t, kitOf(t, hourly(), credentials())) // the EtcdCluster is lost
	_, _ = s.run(t, "download", "example", "--via", "https://localhost:9000", "--file", filepath.Join(t.TempDir(), "x.db"))
	if len(s.opened) != 1 {
		t.Fatalf("%d stores", len(s.opened))
	}
	a := s.opened[0]
	if diff := cmp.Diff([]string{"https://localhost:9000", "https://localhost:9000", "bucket", "folder/ns/example/x/20261123T110000Z-480.db"}, []string{a.Endpoint, string(a.Data["endpoint"]), a.Bucket, a.Key}); diff != "" {
		t.Error(diff)
	}
}
