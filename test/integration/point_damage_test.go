package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

func TestADamagedArchiveIsRefusedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		minor string
		store func(*pointBench)
	}{
		"S3, etcd 3.5":  {"3.5", nil},
		"GCS, etcd 3.6": {"3.6", inGCS("restoring")},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPointBenchOf(t, pointOptions{etcd: servers.EtcdOptions{Minor: test.minor}, store: test.store})
			var last int64
			for i := range 4 {
				last = p.write(fmt.Sprint("part-", i), 20)
			}
			p.refusesDamage(last)
			p.restoresOnlyWhatThereIs(last)
		})
	}
}

// refusesDamage plants each fault alone, and removes it before the next one.
func (p *pointBench) refusesDamage(last int64) {
	p.Helper()
	histories, err := archive.Read(p.Context(), open(p.T, p.bucket), p.archiveRoot("pit"))
	if err != nil {
		p.Fatal(err)
	}
	links := histories[0].Links
	if len(links) < 3 {
		p.Fatalf("the archive has %d segments", len(links))
	}
	middle := links[1]
	original, next := p.read(middle.Key), p.read(links[2].Key)
	for name, content := range damages(original, next) {
		p.replace(middle.Key, content)
		p.refuses(name, middle.Header.First, last)
	}
	p.replace(middle.Key, next)
	p.replace(links[2].Key, original)
	p.refuses("swapped", middle.Header.First, last)
	p.replace(middle.Key, original)
	p.replace(links[2].Key, next)
}

// damages returns the damaged contents of a segment by the name of the damage. nil means that the segment is missing. next is
// the segment that follows.
func damages(original, next []byte) map[string][]byte {
	flipped := func(at int) []byte {
		content := bytes.Clone(original)
		content[at] ^= 0x10
		return content
	}
	body := bytes.IndexByte(original, '\n') + 1
	return map[string][]byte{
		"truncated-header":  original[:body/2],
		"truncated-records": original[:(body+len(original))/2],
		"bit-of-the-header": flipped(body / 2),
		"bit-of-a-record":   flipped((body + len(original)) / 2),
		"another-segment":   next,
		"other-timeline":    bytes.Replace(original, []byte(`"timeline":1`), []byte(`"timeline":2`), 1),
		missingSegment:      nil,
	}
}

const missingSegment = "missing"

// refuses checks that a restore fails, and that its status names the first revision of the damaged segment.
func (p *pointBench) refuses(name string, first, last int64) {
	p.Helper()
	reason := v1beta2.ReasonArchiveCorrupt
	if name == missingSegment {
		reason = v1beta2.ReasonPointNotRecoverable
	}
	r := p.to(name, v1beta2.SnapshotSelector{Revision: last})
	p.restores.await(r, reason)
	if r.Status.CompletionTime == nil || r.Status.Snapshot != nil || !strings.Contains(r.Status.Reason, "revision") || !strings.Contains(r.Status.Reason, "not changed") {
		p.Errorf("%s: %+v", name, r.Status)
	}
	// Damage to the records may be detected at a later revision.
	if name != missingSegment && name != "bit-of-a-record" && name != "truncated-records" && !strings.Contains(r.Status.Reason, fmt.Sprintf("revision %d", first)) {
		p.Errorf("%s: the reason names another revision than %d: %s", name, first, r.Status.Reason)
	}
	p.Logf("%s: %s", name, r.Status.Reason)
}

// restoresOnlyWhatThereIs tries an undamaged archive that ends with a revision.
func (p *pointBench) restoresOnlyWhatThereIs(last int64) {
	p.Helper()
	tried := &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "tried"},
		Spec: v1beta2.EtcdRestoreSpec{
			EtcdCluster: v1beta2.ClusterReference{Name: "restored"}, EtcdBackup: &v1beta2.BackupReference{Name: "pit"},
			Select: &v1beta2.SnapshotSelector{Revision: last}, DryRun: true,
		},
	}
	kubetest.Create(p, tried)
	p.restores.await(tried, v1beta2.ReasonDryRun)
	if point := tried.Status.PointInTime; point == nil || point.Revision != last || tried.Status.Snapshot.Revision != last || tried.Status.Source != nil {
		p.Errorf("a dry run: %+v", tried.Status)
	}
	if got := p.keys("pit/" + snapshot.SafetyFolder); len(got) > 0 {
		p.Errorf("refused restores and a dry run have written %q", got)
	}
	r := p.to("sound", v1beta2.SnapshotSelector{Revision: last})
	p.restores.await(r, v1beta2.ReasonWaitingForCluster)

	late := p.to("late", v1beta2.SnapshotSelector{Revision: last + 100})
	p.restores.await(late, v1beta2.ReasonPointNotRecoverable)
	if want := fmt.Sprintf("Choose revision %d", last); !strings.Contains(late.Status.Reason, want) {
		p.Errorf("the reason is %s, want %q in it", late.Status.Reason, want)
	}
	dry := p.to("early", v1beta2.SnapshotSelector{Time: &metav1.Time{Time: time.Now().Add(-time.Hour)}})
	p.restores.await(dry, v1beta2.ReasonPointNotRecoverable)
	both := &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "both"},
		Spec: v1beta2.EtcdRestoreSpec{
			EtcdCluster: v1beta2.ClusterReference{Name: "restored"}, EtcdBackup: &v1beta2.BackupReference{Name: "pit"},
			Select: &v1beta2.SnapshotSelector{Revision: 5, Time: &metav1.Time{Time: time.Now()}},
		},
	}
	if err := kubetest.Client(p).Create(p.Context(), both); err == nil || !strings.Contains(err.Error(), "write only one of the three") {
		p.Errorf("a revision and a time: error %v", err)
	}
}

func (p *pointBench) read(key string) []byte {
	p.Helper()
	object, err := open(p.T, p.bucket).Get(p.Context(), key)
	if err != nil {
		p.Fatal(err)
	}
	defer object.Close()
	content, err := io.ReadAll(object)
	if err != nil {
		p.Fatal(err)
	}
	return content
}

// replace replaces an object, or deletes it if there is no content.
func (p *pointBench) replace(key string, content []byte) {
	p.Helper()
	store := open(p.T, p.bucket)
	if err := store.Delete(p.Context(), key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.Fatal(err)
	}
	if content == nil {
		return
	}
	if err := store.Put(p.Context(), key, bytes.NewReader(content)); err != nil {
		p.Fatal(err)
	}
}
