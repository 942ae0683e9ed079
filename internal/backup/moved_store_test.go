package backup

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// inStore completes a status as an operator writes it that saves into the store of the spec.
func inStore(s *State) { s.Status.SnapshotStore = s.Target.Store() }

// facts are all decisions that depend on the newest snapshot of the status being of what the spec saves now.
var facts = map[string]func(State) bool{
	"it counts as taken":              func(s State) bool { _, found := s.newest(); return found },
	"it is tested by its schedule":    State.drillable,
	"it proves the archive":           State.proofWanted,
	"the archive is the one that was": func(s State) bool { return !s.movedArchive() },
	"it is copied":                    func(s State) bool { return !s.copyTurn().IsZero() },
	"old snapshots are deleted":       func(s State) bool { return !s.pruneTurn().IsZero() },
	"an attempt begins with it":       func(s State) bool { return jobSpecOf(s).Newest.Path != "" },
}

// Without this, the next snapshot is taken hours later, Ready stays true although the new store is empty, and a restore test reads 404 and
// reports that the snapshot must not be restored.
func TestASnapshotCountsOnlyInTheStoreThatItWasSavedTo(t *testing.T) {
	given := func(stored bool, change func(*State)) State {
		return archivingState(t, later, func(s *State) {
			s.Spec.S3.Endpoint, s.Spec.S3.Region = "https://one.example.com", "east"
			s.Spec.Drill = &v1beta2.DrillPolicy{Schedule: "@daily"}
			s.Spec.BackupPolicy.MaxBackups = 3
			s.Status.Snapshot.ClusterID = "0000000000000abc"
			s.Target, s.Problem = target(s.Namespace, s.Name, s.Spec)
			if stored {
				inStore(s)
			}
			change(s)
			s.Target, s.Problem = target(s.Namespace, s.Name, s.Spec)
			copies(s)
		})
	}
	same := map[string]State{
		"nothing was changed":                             given(true, func(*State) {}),
		"the endpoint is written in another way":          given(true, func(s *State) { s.Spec.S3.Endpoint = "https://ONE.example.com/" }),
		"the status of an earlier version names no store": given(false, func(*State) {}),
	}
	moved := map[string]State{
		"the endpoint was changed": given(true, func(s *State) { s.Spec.S3.Endpoint = "https://two.example.com" }),
		"the region was changed":   given(true, func(s *State) { s.Spec.S3.Region = "west" }),
		"the folder was changed":   given(true, func(s *State) { s.Spec.S3.Path = "bucket/another" }),
		"the cluster was changed":  given(true, func(s *State) { s.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: "another"} }),
		"the bucket was changed":   given(true, func(s *State) { s.Spec.S3.Path = "another/dir/snap.db" }),
		"the provider was changed": given(true, func(s *State) {
			s.Spec.StorageType, s.Spec.Storage = v1beta2.StorageGCS, v1beta2.Storage{GCS: &v1beta2.GCSSource{Path: s.Spec.S3.Path}}
		}),
	}
	for fact, holds := range facts {
		for name, state := range same {
			if state.Problem != nil || !holds(state) {
				t.Errorf("%s: not %s (%v)", name, fact, state.Problem)
			}
		}
		for name, state := range moved {
			if state.Problem != nil || holds(state) {
				t.Errorf("%s: %s (%v)", name, fact, state.Problem)
			}
		}
	}
}

func TestTheStatusNamesTheStoreOfItsSnapshot(t *testing.T) {
	old := series(proven(time.Minute))
	if got := NewStatus(old, Idle{}, nil).SnapshotStore; got != old.Target.Store() {
		t.Errorf("the status of an earlier version: %q, want %q", got, old.Target.Store())
	}
	old.Generation++
	if got := NewStatus(old, Idle{}, nil).SnapshotStore; got != "" {
		t.Errorf("the spec has changed since the status was written, so the store is not known: %q", got)
	}
	out := v1beta2.EtcdBackupStatus{SnapshotStore: "S3 https://former.example.com"}
	recordSuccess(&out, Attempt{Result: &Result{Snapshot: snapshotAt("bucket/x.db", t0)}}, old)
	if out.SnapshotStore != old.Target.Store() {
		t.Errorf("after a snapshot: %q", out.SnapshotStore)
	}
}

// located says of each field of the status how its readers know that it is of what the spec saves now. A user changes the location or the cluster of
// an EtcdBackup. A field that counts after that holds or deletes snapshots in the wrong place, or brings the data of another cluster.
var located = map[string]string{
	"Snapshot": "recorded", "Snapshots": "recordSuccess replaces them; a restore compares whole paths", "SnapshotStore": "it is compared itself",
	"LastDrill": "here", "LastArchiveProof": "here", "Recoverable": "movedArchive; restore/plan.archived",
	"Copies":       "recorded, and its ObservedGeneration",
	"EtcdRevision": "it is only shown", "EtcdVersion": "it is only shown", "SnapshotSize": "it is only shown", "LastSuccessDate": "recorded comes first",
	"Conditions": "each has the generation of its spec",
	// These are of attempts, and not of what is stored.
	"ObservedGeneration": "", "Succeeded": "", "Reason": "", "LastPruneTime": "", "Progress": "", "NextDrillTime": "", "DrillAttempts": "",
	"HandledRequest": "", "Attempts": "", "LastAttemptTime": "", "NextTime": "",
}

func TestEachFieldOfTheStatusIsBelievedOnlyForThePresentLocation(t *testing.T) {
	fields := reflect.TypeFor[v1beta2.EtcdBackupStatus]()
	for i := range fields.NumField() {
		field := fields.Field(i)
		how, listed := located[field.Name]
		if !listed || how == "" && names(field.Type) {
			t.Errorf("status field %s: write into located how its readers know that it is of what the spec saves now; source.Present.Has compares paths", field.Name)
		}
	}
	if fields.NumField() != len(located) {
		t.Errorf("the status has %d fields, and located %d", fields.NumField(), len(located))
	}
}

// names reports whether a type of a field can name an object of a store.
func names(field reflect.Type) bool {
	for field.Kind() == reflect.Pointer || field.Kind() == reflect.Slice {
		field = field.Elem()
	}
	if field.Kind() != reflect.Struct {
		return false
	}
	for _, name := range []string{"Path", "From", "To", "Newest"} {
		if _, found := field.FieldByName(name); found {
			return true
		}
	}
	return false
}

// A decision that reads the snapshot of the status directly forgets that it may be in another store.
func TestDecisionsAskWhetherTheSnapshotOfTheStatusIsInTheStoreOfTheSpec(t *testing.T) {
	show := []string{
		"state.go",          // recorded itself
		"status_archive.go", // movedArchive asks recorded, too
		"metrics.go",        // it shows the age
		"plan_finish.go",    // it shows the content of a finished snapshot, and which one is tested after recorded was asked
	}
	direct := regexp.MustCompile(`\bs\.Status\.Snapshot\b`)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") && !slices.Contains(show, name) && direct.Match(text) {
			t.Errorf("%s reads s.Status.Snapshot: use s.recorded(), or add the file here if it only shows the snapshot", name)
		}
	}
}
