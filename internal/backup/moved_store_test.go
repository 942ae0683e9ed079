package backup

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// located says of each field of the status how its readers know that it is of what the spec saves now. A user changes the location or the cluster of
// an EtcdBackup. A field that counts after that holds or deletes snapshots in the wrong place, or brings the data of another cluster.
var located = map[string]string{
	"Snapshot": "Recorded", "Snapshots": "RecordSuccess replaces them; a restore compares whole paths", "SnapshotStore": "it is compared itself",
	"LastDrill": "Here", "LastArchiveProof": "Here", "Recoverable": "MovedArchive; restore/state.Archived",
	"Switchover":   "its ID names the archive, see switchover.ID.In",
	"Copies":       "Recorded, and its ObservedGeneration",
	"EtcdRevision": "it is only shown", "EtcdVersion": "it is only shown", "SnapshotSize": "it is only shown", "LastSuccessDate": "Recorded comes first",
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
		"state/recorded.go", // Recorded itself, and MovedArchive, which asks Recorded, too
		"metrics.go",        // it shows the age
		"plan/finish.go",    // it shows the content of a finished snapshot, and which one is tested after Recorded was asked
	}
	direct := regexp.MustCompile(`\bs\.Status\.Snapshot\b`)
	files, err := filepath.Glob("*.go")
	rooms, more := filepath.Glob("*/*.go")
	files = append(files, rooms...)
	if err != nil || more != nil || len(rooms) == 0 {
		t.Fatal(files, err, more)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") && !slices.Contains(show, name) && direct.Match(text) {
			t.Errorf("%s reads s.Status.Snapshot: use s.Recorded(), or add the file here if it only shows the snapshot", name)
		}
	}
}
