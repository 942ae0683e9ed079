package seeder

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// plan asks for a promotion that waits for the end of the source.
func (a *archived) plan() {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.seeder.PodDir, seed.PromoteFile), []byte(v1beta2.FollowPromotePlanned), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// ends is the source that has stopped after a revision. If off, it takes writes again.
func (a *archived) ends(id switchover.ID, revision int64, off bool) {
	a.t.Helper()
	a.endsWith(switchover.End{ID: id, Timeline: 1, Revision: revision, At: a.at})
	if off {
		a.decideOff(id)
	}
}

func (a *archived) endsWith(e switchover.End) {
	a.t.Helper()
	store, err := file.Open(a.request.Source.Bucket)
	if err == nil {
		err = switchover.PutEnd(a.t.Context(), store, a.root, e)
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// decideOff is a switchover that is called off.
func (a *archived) decideOff(id switchover.ID) {
	a.t.Helper()
	store, err := file.Open(a.request.Source.Bucket)
	if err == nil {
		_, err = switchover.Decide(a.t.Context(), store, a.root, switchover.Decision{ID: id})
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// handedOver checks that the data has the revisions of the source.
func (a *archived) handedOver(revision int64) {
	a.t.Helper()
	a.request.RevisionBump = 0
	a.has(revision)
	promoted := seed.Promoted{}
	if err := json.Unmarshal([]byte(Promoted(a.request.DataDir)), &promoted); err != nil || !promoted.Planned {
		a.t.Errorf("it reports %+v, %v", promoted, err)
	}
}

// follows checks that a standby is not promoted within two looks at its source.
func (a *archived) follows() {
	a.t.Helper()
	select {
	case err := <-a.done:
		a.t.Fatalf("it was promoted, or has failed: %v", err)
	case <-time.After(2 * sourcePoll):
	}
}

var firstEnd, secondEnd = switchover.NewID(time.Unix(1_700_000_000, 0), "backup", "archive"), switchover.NewID(time.Unix(1_700_000_100, 0), "backup", "archive")

// A standby that serves before the source has stopped, or after the source was told to continue, has another history than the source.
func TestAPlannedPromotionWaitsForTheEndOfTheSource(t *testing.T) {
	a := givenArchive(t)
	a.plan()
	a.begin()
	first := a.write()
	a.reaches(first)
	a.follows()
	a.ends(firstEnd, first, true)
	last := a.write()
	a.reaches(last)
	a.follows()
	a.ends(secondEnd, last+1, false) // and the archive does not have that one yet
	a.follows()
	a.write()
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	a.handedOver(last + 1)
}

// Two standbys of one source, for example in two regions, are both told to become the cluster.
func TestOnlyOneStandbyTakesOverFromASource(t *testing.T) {
	a := givenArchive(t)
	last := a.write()
	a.ends(firstEnd, last, false)
	store, err := file.Open(a.request.Source.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := switchover.Decide(t.Context(), store, a.root, switchover.Decision{ID: firstEnd, Promoted: "ns/other", Holder: "other", Revision: last}); err != nil {
		t.Fatal(err)
	}
	a.plan()
	a.begin()
	a.reaches(last)
	a.follows()
	if said := a.ask().Following; said == nil || !strings.Contains(said.Message, "ns/other") {
		t.Errorf("it reports %+v, which does not say who has taken over", said)
	}
	a.promote() // what a person can still do
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	a.has(last)
}

// The process is killed after it has taken over, and the store is lost then. Neither the source nor the standby would take writes.
func TestAStandbyThatHasTakenOverNeedsNoStore(t *testing.T) {
	a := givenArchive(t)
	last := a.write()
	a.begin()
	a.reaches(last)
	a.stop()
	_ = a.end()
	a.plan()
	if err := recordClaim(a.volume, switchover.Decision{ID: firstEnd, Holder: a.request.Token, Revision: last}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(a.request.Source.Bucket); err != nil {
		t.Fatal(err)
	}
	a.begin()
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	a.handedOver(last)
}

// The standby has said in the store that it becomes the cluster, and the source takes no writes any more. If it then waited for the store, neither would.
func TestAStandbyThatHasTakenOverNeedsNothingElse(t *testing.T) {
	for name, lost := range map[string]func(a *archived) error{
		"the store":  func(a *archived) error { return os.RemoveAll(a.request.Source.Bucket) },
		"the Secret": func(a *archived) error { a.request.Source.Secret = "gone"; return nil },
		// A person has disarmed the fence of the source, and the standby must not follow it beyond what it has claimed.
		"nothing": func(a *archived) error { a.write(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			a := givenArchive(t)
			a.begin()
			last := a.write()
			a.reaches(last)
			a.stop()
			if err := a.end(); err == nil {
				t.Fatal("it has ended without a promotion")
			}
			volume := filepath.Dir(a.request.DataDir)
			if err := errors.Join(recordClaim(volume, switchover.Decision{Holder: a.request.Token, Revision: last}), lost(a)); err != nil {
				t.Fatal(err)
			}
			a.plan()
			a.begin()
			if err := a.end(); err != nil {
				t.Fatal(err)
			}
			a.request.RevisionBump = 0
			a.has(last)
		})
	}
}

// A switchover that was called off, or whose end is of an earlier revision, must not promote a standby. The newest one may have been called off before it had an end.
func TestAStandbyClaimsNoEndThatWasCalledOff(t *testing.T) {
	a := givenArchive(t)
	a.request.Follow.As = "ns/standby"
	a.plan()
	a.begin()
	last := a.write()
	a.reaches(last)
	id := func(at int) switchover.ID { return switchover.NewID(time.Unix(int64(at), 0), "uid", "archive") }
	end := func(id switchover.ID, revision int64) {
		content, err := json.Marshal(switchover.End{FormatVersion: 1, ID: id, Timeline: 1, Revision: revision, ClusterID: "0000000000000001"})
		if err != nil {
			t.Fatal(err)
		}
		a.put(a.root+"switchovers/"+string(id)+".end", content)
	}
	off := func(id switchover.ID) {
		a.put(a.root+"switchovers/"+string(id)+".decision", fmt.Appendf(nil, `{"formatVersion":1,"id":%q}`, id))
	}
	off(id(3))
	end(id(3), last)
	end(id(4), last-1)
	off(id(5))
	select {
	case err := <-a.done:
		t.Fatalf("it was promoted: %v", err)
	case <-time.After(3 * sourcePoll):
	}
	end(id(1), last) // the clock of that process was late
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	a.request.RevisionBump = 0
	a.has(last)
}

// The process is killed when it has moved the database, and before the data directory is complete. The only copy of the data is between two places.
func TestAPlannedPromotionContinuesAfterItsDatabaseWasMoved(t *testing.T) {
	a := givenArchive(t)
	last := a.write()
	a.begin()
	a.reaches(last)
	a.stop()
	_ = a.end()
	if err := recordClaim(a.volume, switchover.Decision{ID: firstEnd, Holder: a.request.Token, Revision: last}); err != nil {
		t.Fatal(err)
	}
	o := standby.Options{Dir: filepath.Join(a.volume, standbyName), FallbackTTL: fallbackTTL, Now: time.Now, Unsealed: true}
	delivered := filepath.Join(o.Dir, deliveredName)
	request := a.request
	request.RevisionBump = 0
	if _, err := standby.Finish(t.Context(), o, delivered); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dbfile.Adopt(t.Context(), restoreOptions(request, delivered, request.DataDir)), os.Rename(request.DataDir, request.DataDir+".restoring")); err != nil {
		t.Fatal(err)
	}
	a.plan()
	a.begin()
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	a.handedOver(last)
}

// The source had other users, or is that of another archive with the same numbers. A client that was removed from the source could open the standby.
func TestAStandbyClaimsOnlyTheEndOfItsSource(t *testing.T) {
	a := givenArchive(t)
	a.plan()
	last := a.write()
	a.endsWith(switchover.End{ID: firstEnd, Timeline: 1, Revision: last, AuthRevision: 9})
	a.begin()
	a.reaches(last)
	a.follows()
	if said := a.ask().Following; said == nil || !strings.Contains(said.Message, "users") {
		t.Errorf("it reports %+v, which does not say that it waits for the users", said)
	}
	a.decideOff(firstEnd)
	a.endsWith(switchover.End{ID: secondEnd, Timeline: 1, Revision: last, Start: "another archive"})
	a.follows()
	a.ends(switchover.NewID(time.Unix(1_700_000_200, 0), "backup", "archive"), last, false)
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	a.handedOver(last)
}

// A volume was cloned after its standby had taken over. The clone would serve the same revisions, too.
func TestACopyOfAVolumeDoesNotTakeOver(t *testing.T) {
	a := givenArchive(t)
	a.write()
	if err := recordClaim(a.volume, switchover.Decision{ID: firstEnd, Promoted: "ns/standby", Holder: "other"}); err != nil {
		t.Fatal(err)
	}
	a.plan()
	if err := a.run(t); err == nil || !strings.Contains(err.Error(), "ns/standby") {
		t.Errorf("the error is %v", err)
	}
}

// The file with the decision is damaged. The standby was promoted as if its source were lost: with higher revisions, and a status that says that writes are lost.
func TestADamagedDecisionIsNoPromotionWithoutTheSource(t *testing.T) {
	a := givenArchive(t)
	a.write()
	if err := os.WriteFile(filepath.Join(a.volume, claimedName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.promote()
	if err := a.run(t); err == nil {
		t.Error("it is promoted")
	}
}
