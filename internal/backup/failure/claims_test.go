package failure

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/copier"
)

// A damaged copy is no reason to suspect the members.
func TestADamagedObjectInTheFirstLocationIsNotBlamedOnTheMembers(t *testing.T) {
	err := fmt.Errorf("copy snapshot x: %w: %w", copier.ErrSource, dbfile.ErrCorrupt)
	if f := Classify(err, state.JobSpec{Kind: state.KindCopy}, false); strings.Contains(f.Message, "stored no snapshot") || !strings.Contains(f.Message, "first location") {
		t.Error(f.Message)
	}
}
