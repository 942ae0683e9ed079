package seeder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// archived is the archive of a cluster ns/source in a file store: a base with some keys, and one link for each later revision.
type archived struct {
	*fixture
	t     *testing.T
	chain archive.Chain
	root  string
	codec codec.Encoder
	at    time.Time
	done  chan error
	stop  context.CancelFunc
}

func givenArchive(t *testing.T) *archived {
	t.Helper()
	a := &archived{fixture: given(t), t: t, at: time.Now().UTC().Add(-time.Minute).Truncate(time.Second), root: archive.Root("daily", "ns", "source")}
	database := dbfiletest.New(t, 1).Put(5, 10)
	content, revision := database.Snapshot(), database.Revision()
	series := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "source", ClusterID: 1}
	key := series.Key(a.at, revision)
	sum := sha256.Sum256(content)
	m := snapshot.Manifest{
		FormatVersion: 1, Revision: revision, Keys: 5, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), CreatedAt: a.at, CapturedAt: a.at,
		Cluster: snapshot.Cluster{Namespace: "ns", Name: "source", ID: "0000000000000001", UID: "uid-source"},
	}
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	a.put(key, content)
	a.put(snapshot.ManifestKey(key), text)
	start := archive.NewStart(1, 1, archive.Base{Key: key, ClusterID: "0000000000000001", Point: archive.Point{Revision: revision, At: a.at}}, "test")
	a.put(archive.StartKey(a.root, 1), start.Encode())
	a.chain = start.Chain()
	a.request.Source.Key = "daily/ns/source/"
	a.request.Follow = seed.Follow{Cluster: "ns/source", UID: "uid-source", ClusterID: "0000000000000001"}
	a.seeder.PodDir = t.TempDir()
	return a
}

// put writes an object of the store.
func (a *archived) put(key string, content []byte) {
	a.t.Helper()
	path := filepath.Join(a.request.Source.Bucket, filepath.FromSlash(key))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path+".part", content, 0o600), os.Rename(path+".part", path)); err != nil {
		a.t.Fatal(err)
	}
}

// write archives one revision, and returns its number.
func (a *archived) write() int64 {
	a.t.Helper()
	revision := a.chain.Last + 1
	var records, object bytes.Buffer
	w := archive.NewWriter(&records, a.chain, auth.State{})
	event := &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: fmt.Appendf(nil, "new-%d", revision), Value: []byte("v"), CreateRevision: revision, ModRevision: revision, Version: 1}}
	a.at = a.at.Add(time.Second)
	if err := w.Add(event, a.at); err != nil {
		a.t.Fatal(err)
	}
	h, err := w.Seal(nil, auth.State{}, 0)
	if err == nil {
		h, err = archive.WriteObject(&object, a.codec, h, &records)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	a.put(archive.LinkKey(a.root, 1, a.chain.At, h.First), object.Bytes())
	a.chain = h.Chain()
	return revision
}

// begin runs the seed as another process, which has nothing but its volume.
func (a *archived) begin() {
	a.t.Helper()
	ctx, stop := context.WithCancel(a.t.Context())
	a.seeder.progress, a.stop, a.done = progress{}, stop, make(chan error, 1)
	go func() { a.done <- a.seeder.Seed(ctx, a.request) }()
}

// end returns how the process ended.
func (a *archived) end() error {
	a.t.Helper()
	select {
	case err := <-a.done:
		return err
	case <-time.After(30 * time.Second):
		a.t.Fatalf("the seed does not end; its log:\n%s", a.log)
	}
	return nil
}

// ask returns what the seed reports.
func (a *archived) ask() (said seed.Progress) {
	a.t.Helper()
	answer := httptest.NewRecorder()
	a.seeder.handler().ServeHTTP(answer, httptest.NewRequest("GET", seed.ProgressPath, nil))
	if err := json.Unmarshal(answer.Body.Bytes(), &said); err != nil {
		a.t.Fatal(err)
	}
	return said
}

// reaches waits until the seed reports that it has a revision.
func (a *archived) reaches(revision int64) seed.Following {
	a.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; <-time.After(10 * time.Millisecond) {
		said := a.ask().Following
		if said != nil && said.Revision >= revision {
			return *said
		}
		select {
		case err := <-a.done:
			a.t.Fatalf("the seed has ended: %v", err)
		default:
		}
		if time.Now().After(end) {
			a.t.Fatalf("the seed reports %+v, want revision %d", said, revision)
		}
	}
}

func (a *archived) promote() {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.seeder.PodDir, seed.PromoteFile), []byte("Now"), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// has checks the data directory that the seed has made.
func (a *archived) has(revision int64) {
	a.t.Helper()
	a.wantVolume(a.t, promotedName, "data")
	content, err := os.ReadFile(filepath.Join(a.request.DataDir, "member", "snap", "db"))
	if err != nil {
		a.t.Fatal(err)
	}
	sealed := dbfiletest.Seal(content)
	info, err := dbfile.InspectReader(bytes.NewReader(sealed), int64(len(sealed)))
	if err != nil {
		a.t.Fatal(err)
	}
	if want := revision + a.request.RevisionBump; info.Revision != want || info.Keys != revision-1 {
		a.t.Errorf("revision %d with %d keys, want %d with %d", info.Revision, info.Keys, want, revision-1)
	}
	promoted := seed.Promoted{}
	if err := json.Unmarshal([]byte(Promoted(a.request.DataDir)), &promoted); err != nil || promoted.Revision != revision || promoted.Timeline != 1 || promoted.Time.IsZero() {
		a.t.Errorf("it reports %+v, %v", promoted, err)
	}
}

// A standby that does not follow loses all writes since the snapshot that it began with.
func TestAStandbyFollowsUntilItIsPromoted(t *testing.T) {
	a := givenArchive(t)
	first := a.write()
	a.begin()
	if got := a.reaches(first); got.Timeline != 1 || got.Time.IsZero() || got.Message != "" {
		t.Errorf("it reports %+v", got)
	}
	last := int64(0)
	for range 3 {
		last = a.write()
	}
	a.reaches(last)
	a.promote()
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	a.has(last)
	if said := a.ask(); said.Following != nil {
		t.Errorf("after the promotion it reports %+v", said.Following)
	}
	a.begin()
	if err := a.end(); err != nil {
		t.Errorf("another start after the promotion: %v", err)
	}
	a.has(last)
}

func TestAStandbyContinuesAfterARestart(t *testing.T) {
	a := givenArchive(t)
	a.begin()
	a.reaches(a.write())
	a.stop()
	if err := a.end(); err == nil || Code(err) != seed.ExitRetry {
		t.Fatalf("exit code %d, %v", Code(err), err)
	}
	// The base is deleted, so it cannot begin again.
	if err := os.RemoveAll(filepath.Join(a.request.Source.Bucket, "daily")); err != nil {
		t.Fatal(err)
	}
	a.begin()
	last := a.write()
	a.reaches(last)
	a.promote()
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	a.has(last)
}

// The writes are in the store, but the standby has not read them when the promotion is asked for.
func TestAPromotionLosesNoWriteThatIsInTheStore(t *testing.T) {
	a := givenArchive(t)
	a.begin()
	a.reaches(a.write())
	last := int64(0)
	for range 20 {
		last = a.write()
	}
	a.promote()
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	a.has(last)
}

// failing is a store that answers no request while it restarts.
type failing struct {
	objstore.Store
	until time.Time
}

func (f *failing) err() error {
	if time.Now().Before(f.until) {
		return errors.New("the store restarts")
	}
	return nil
}

func (f *failing) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	return f.Store.Get(ctx, key)
}

func (f *failing) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	if err := f.err(); err != nil {
		return func(yield func(objstore.Object, error) bool) { yield(objstore.Object{}, err) }
	}
	return f.Store.List(ctx, prefix)
}

// The store restarts at the moment of the promotion. Its one error was taken for the loss of the store, and the writes that it had were lost.
func TestAPromotionWaitsForAStoreThatRestarts(t *testing.T) {
	a := givenArchive(t)
	dir := t.TempDir()
	o, err := a.seeder.followOptions(t.Context(), a.request, filepath.Join(dir, standbyName))
	if err != nil {
		t.Fatal(err)
	}
	store := &failing{Store: o.Store}
	o.Store = store
	f, err := standby.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a.seeder.catchUp(t.Context(), f)
	last := int64(0)
	for range 20 {
		last = a.write()
	}
	store.until = time.Now().Add(catchUpPause / 2)
	a.seeder.catchUp(t.Context(), f)
	if got := f.Status().Revision; got != last {
		t.Errorf("the promotion ends with revision %d, and the store has %d", got, last)
	}
}

// A promotion is asked for because the site of the source is lost, and the store with it.
func TestAPromotionNeedsNoStore(t *testing.T) {
	a := givenArchive(t)
	a.begin()
	last := a.write()
	a.reaches(last)
	a.stop()
	_ = a.end()
	if err := os.RemoveAll(a.request.Source.Bucket); err != nil {
		t.Fatal(err)
	}
	a.promote()
	a.begin()
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	a.has(last)
}

// Each of these is what a process leaves that is killed during the promotion.
func TestAPromotionThatWasKilledIsContinued(t *testing.T) {
	finished := func(a *archived) (standby.Options, error) {
		o, err := a.seeder.followOptions(a.t.Context(), a.request, filepath.Join(a.volume, standbyName))
		if err == nil {
			_, err = standby.Finish(a.t.Context(), o, filepath.Join(o.Dir, deliveredName))
		}
		return o, err
	}
	for name, killed := range map[string]func(a *archived) error{
		"after the following has ended": func(a *archived) error {
			_, err := finished(a)
			return err
		},
		"while it restores": func(a *archived) error {
			_, err := finished(a)
			return errors.Join(err, os.MkdirAll(filepath.Join(a.volume, stagingName, "data.restoring", "member"), 0o700))
		},
		"after the data directory is complete": func(a *archived) error {
			o, err := finished(a)
			if err == nil {
				err = a.seeder.promote(a.t.Context(), a.request, o)
			}
			return errors.Join(err, os.MkdirAll(filepath.Join(a.volume, stagingName), 0o700), os.MkdirAll(o.Dir, 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := givenArchive(t)
			a.begin()
			last := a.write()
			a.reaches(last)
			a.stop()
			_ = a.end()
			if err := killed(a); err != nil {
				t.Fatal(err)
			}
			a.begin()
			if err := a.end(); err != nil {
				t.Fatal(err)
			}
			a.has(last)
		})
	}
}

func TestAStandbyReportsWhyItCannotFollow(t *testing.T) {
	a := givenArchive(t)
	a.begin()
	last := a.write()
	a.reaches(last)
	// The archive begins another timeline, and has no base of it yet.
	start := archive.NewStart(2, 2, archive.Base{Key: "daily/ns/source/x", ClusterID: "0000000000000002", Point: archive.Point{Revision: 3, At: time.Now()}}, "restored")
	a.put(archive.StartKey(a.root, 2), start.Encode())
	for end := time.Now().Add(60 * time.Second); ; <-time.After(50 * time.Millisecond) {
		said := a.ask().Following
		if said != nil && said.Cause == "NewTimeline" && said.Message != "" && said.Revision == last {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it reports %+v", said)
		}
	}
	a.promote()
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	a.has(last)
}

func TestAStandbyWaitsForItsSecret(t *testing.T) {
	a := givenArchive(t)
	a.request.Source = v1beta2.RestoreSource{StorageType: "File", Bucket: a.request.Source.Bucket, Key: a.request.Source.Key, Secret: "missing"}
	if err := os.Mkdir(a.seeder.CredentialsDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := a.run(t); err == nil || Code(err) != seed.ExitRetry || !strings.Contains(err.Error(), "Secret missing: it does not exist") {
		t.Errorf("exit code %d, error %v", Code(err), err)
	}
}

// restored archives the start of the next timeline, and its base.
func (a *archived) restored() int64 {
	a.t.Helper()
	database := dbfiletest.New(a.t, 1).Put(5, 90)
	content, revision := database.Snapshot(), database.Revision()
	at := time.Now().UTC().Truncate(time.Second)
	series := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "source", ClusterID: 2}
	key, sum := series.Key(at, revision), sha256.Sum256(content)
	m := snapshot.Manifest{
		FormatVersion: 1, Revision: revision, Keys: 5, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), CreatedAt: at, CapturedAt: at,
		Cluster: snapshot.Cluster{Namespace: "ns", Name: "source", ID: "0000000000000002", UID: "uid-source"},
	}
	text, err := m.Encode()
	if err != nil {
		a.t.Fatal(err)
	}
	a.put(key, content)
	a.put(snapshot.ManifestKey(key), text)
	start := archive.NewStart(2, 2, archive.Base{Key: key, ClusterID: "0000000000000002", Point: archive.Point{Revision: revision, At: at}}, "restored")
	a.put(archive.StartKey(a.root, 2), start.Encode())
	return revision
}

// flaky fails as often as it says.
type flaky struct {
	objstore.Store
	fails int
}

func (f *flaky) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if f.fails > 0 {
		f.fails--
		return nil, errors.New("503 Service Unavailable")
	}
	return f.Store.Get(ctx, key)
}

// Each of these happens while a standby catches up, because its promotion was asked for. A single answer 503 has lost all writes after it.
func TestAPromotionHasAllThatIsInTheStore(t *testing.T) {
	for name, test := range map[string]struct {
		timeline int64
		fetch    time.Duration // how long a base takes
		happens  func(a *archived, store *flaky) (last int64)
	}{
		"a request fails": {1, 0, func(a *archived, store *flaky) int64 {
			store.fails = 1
			a.write()
			return a.write()
		}},
		"the source was restored some seconds ago":                       {2, 0, func(a *archived, _ *flaky) int64 { return a.restored() }},
		"the source was restored, and its base needs longer than a link": {2, 4 * time.Second, func(a *archived, _ *flaky) int64 { return a.restored() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := givenArchive(t)
			a.seeder.catchUpLimit = 3 * time.Second
			o, err := a.seeder.followOptions(t.Context(), a.request, filepath.Join(a.volume, standbyName))
			if err != nil {
				t.Fatal(err)
			}
			store := &flaky{Store: o.Store}
			o.Store = store
			fetch := o.Fetch
			o.Fetch = func(ctx context.Context, base archive.Base, path string) error {
				err := fetch(ctx, base, path)
				select {
				case <-time.After(test.fetch):
				case <-ctx.Done():
					err = ctx.Err()
				}
				return err
			}
			f, err := standby.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			for done, err := standby.Begun, error(nil); done != standby.Idle; {
				if done, err = f.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			last := test.happens(a, store)
			a.seeder.catchUp(t.Context(), f)
			if got := f.Status(); got.Revision != last || int64(got.Timeline) != test.timeline {
				t.Errorf("it has revision %d of timeline %d, want %d of %d: %v", got.Revision, got.Timeline, last, test.timeline, got.Err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A standby runs for months, and its credentials are replaced. With those of its start, it was refused until its Pod was deleted.
func TestAStandbyReadsASecretThatChanges(t *testing.T) {
	a := givenArchive(t)
	identity := func() *age.X25519Identity {
		made, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	a.request.Source.Secret = "store"
	mount := func(i *age.X25519Identity) {
		path := filepath.Join(a.seeder.CredentialsDir, v1beta2.AgeIdentityKey)
		if err := errors.Join(os.MkdirAll(a.seeder.CredentialsDir, 0o700), os.WriteFile(path, []byte(i.String()+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	before, after := identity(), identity()
	mount(before)
	a.codec.Recipients = []string{before.Recipient().String()}
	a.begin()
	a.reaches(a.write())
	a.codec.Recipients = []string{after.Recipient().String()}
	last := a.write()
	mount(after)
	a.reaches(last)
	if err := os.RemoveAll(a.seeder.CredentialsDir); err != nil { // and one that was removed is needed only by the next process
		t.Fatal(err)
	}
	last = a.write()
	a.reaches(last)
	a.promote()
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	a.has(last)
}
