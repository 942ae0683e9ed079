package moving

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
)

func request() Request {
	return Request{
		Namespace: "new", Name: "example", BackupNamespace: "old", Endpoints: []string{"http://a:2379", "http://b:2379"},
		Store: backups.Target{Type: "S3", Path: "bucket/move", Secret: "s3"},
	}
}

// What cannot end without the loss of a write is refused before anything is created. The reader gets the steps of the other way.
func TestASourceThatNoStandbyCanFollowIsRefusedWithTheOtherWay(t *testing.T) {
	users := request()
	users.AuthSecret = "root"
	managed := request()
	managed.From = &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "old", Name: "example"}}
	for _, c := range []struct {
		name    string
		request Request
		version string
		want    []string
	}{
		{"3.4", request(), "3.4.33", []string{"etcd 3.4.33", "snapshot save old.db", "--endpoints=http://a:2379,http://b:2379", "kubectl etcd import example old.db --storage S3 --path bucket/move/old.db --secret s3"}},
		{"3.5 with users", users, "3.5.35", []string{"with users", "snapshot save old.db"}},
		{"an EtcdCluster of 3.5", managed, "3.5.35", []string{"kubectl etcd upgrade example 3.6.16 -n old"}},
		{"3.5", request(), "3.5.35", nil},
		{"3.6 with users", users, "3.6.16", nil},
		{"an unknown version", users, "", nil},
	} {
		got := c.request.Unsupported(c.version)
		if (got == "") != (c.want == nil) {
			t.Errorf("%s: %q", c.name, got)
		}
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is missing in %q", c.name, part, got)
			}
		}
	}
}

// etcd does not read the data of a newer minor version. The new cluster would never start, after the source has stopped.
func TestTheNewClusterHasAVersionThatReadsTheData(t *testing.T) {
	for _, c := range []struct{ asked, source, want string }{
		{"", "", "3.6.16"}, {"", "3.5.35", "3.6.16"}, {"", "3.6.2", "3.6.16"}, {"", "3.7.3", "3.7.3"},
		{"3.7.3", "3.6.2", "3.7.3"}, {"v3.6.1", "3.6.2", "3.6.1"}, {"3.5.35", "3.6.2", ""}, {"newest", "3.6.2", ""}, {"3.7.3", "", "3.7.3"},
	} {
		r := request()
		r.Version = c.asked
		got, err := r.VersionFor(c.source)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("--etcd-version %q for a source of %q: %q, %v", c.asked, c.source, got, err)
		}
	}
}

// A standby of another namespace names the folder. Without the namespace and the name, it would find nothing, or the snapshots of another cluster.
func TestAStandbyInAnotherNamespaceNamesTheFolderOfTheSource(t *testing.T) {
	r := request()
	b, err := r.NewBackup()
	if err != nil {
		t.Fatal(err)
	}
	b.Spec.S3.StorageClass = "GLACIER"
	restore := r.NewRestore(b)
	if restore.Spec.EtcdBackup != nil || restore.Spec.S3.Path != "bucket/move/old/example-move" || restore.Spec.S3.AWSSecret != "s3" || restore.Spec.S3.StorageClass != "" {
		t.Errorf("%+v", restore.Spec)
	}
	if restore.Annotations[AnnotationFrom] != "old/example-move" || restore.Spec.Follow.Promote != v1beta2.FollowPromotePlanned {
		t.Errorf("%+v", restore)
	}
	b.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: "source"}
	if got := r.NewRestore(b).Spec.S3.Path; got != "bucket/move/old/source" {
		t.Errorf("the folder of an EtcdCluster is %s", got)
	}
	r.BackupNamespace = "new"
	if b, err = r.NewBackup(); err != nil || r.NewRestore(b).Spec.EtcdBackup == nil {
		t.Errorf("in the same namespace: %v", err)
	}
	if b.Spec.S3.Path != "bucket/move" {
		t.Errorf("the EtcdBackup was changed: %s", b.Spec.S3.Path)
	}
}

// The standby has the users of the source. Without the Secret of one, the operators could not authenticate to it.
func TestTheNewClusterHasTheUserAndTheSizeOfTheSource(t *testing.T) {
	r := request()
	r.AuthSecret = "root"
	if c, err := r.NewCluster(""); err != nil || c.Spec.Auth.OperatorSecretName() != "root" || c.Spec.Size != 3 || c.Spec.TLS == nil {
		t.Errorf("%+v, %v", c.Spec, err)
	}
	source := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "old", Name: "source"}, Spec: v1beta2.EtcdClusterSpec{Size: 5, Auth: &v1beta2.AuthPolicy{OperatorSecret: "users"}}}
	r = Request{Namespace: "new", Name: "example", From: source, PlainText: true}
	c, err := r.NewCluster("3.6.16")
	if err != nil || c.Spec.Size != 5 || c.Spec.Auth.OperatorSecretName() != "users" || c.Spec.TLS != nil {
		t.Errorf("%+v, %v", c.Spec, err)
	}
	b := v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "old"}}
	b.Spec.S3 = &v1beta2.S3Source{AWSSecret: "s3"}
	if diff := cmp.Diff([]string{"s3", "users"}, r.Secrets("new", b)); diff != "" {
		t.Errorf("the Secrets in the namespace of the new cluster (-want +got):\n%s", diff)
	}
}

// A wrong "equal" lets a user delete the only cluster with the data. A wrong "different" stops a move that has succeeded: versions of etcd hash a compacted history
// in different ways.
func TestTheSidesAreEqualOnlyIfTheirKeysAre(t *testing.T) {
	side := func(keys int64, hash uint32, compacted int64, digest string) Side {
		return Side{keys, hash, compacted, digest}
	}
	for _, c := range []struct {
		name           string
		source, target Side
		equal, more    bool
	}{
		{"equal hashes", side(3, 7, 1, ""), side(3, 7, 1, ""), true, false},
		{"a key is missing", side(3, 7, 1, ""), side(2, 7, 1, ""), false, false},
		{"other hashes", side(3, 7, 1, ""), side(3, 8, 1, ""), false, true},
		{"the same hash of another history", side(3, 7, 1, ""), side(3, 7, 2, ""), false, true},
		{"other hashes, and the same keys", side(3, 7, 1, "a"), side(3, 8, 1, "a"), true, false},
		{"other keys", side(3, 7, 1, "a"), side(3, 8, 1, "b"), false, false},
	} {
		got := Compare(500, c.source, c.target)
		if (got.Text != "") != c.equal || got.MoreNeeded != c.more || (got.Differs != "") != (!c.equal && !c.more) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestTheStatusesOfBothSidesMustNameTheSameRevision(t *testing.T) {
	o := serving(ready())
	if revision, differs := Revision(o); revision != 500 || differs != "" {
		t.Errorf("%d, %q", revision, differs)
	}
	o.Restore.Status.RestoredRevision = 501
	if _, differs := Revision(o); !strings.Contains(differs, "501") {
		t.Errorf("%q", differs)
	}
	o = serving(ready())
	o.Backup.Status.Switchover.Revision = 499
	if _, differs := Revision(o); !strings.Contains(differs, "499") {
		t.Errorf("%q", differs)
	}
}
