package backup

import (
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/internal/dbcheck"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// base is what an operator needs without any object, with the cache of a few hundred.
const base = 100 << 20

// Each budget fitted into the container, and all of them together did not: several tenants who used theirs at the same time ended the operator of all.
func TestTheBudgetsOfAnOperatorFitIntoItsContainer(t *testing.T) {
	content, err := os.ReadFile("../../charts/etcd-operator/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type memory struct{ Memory string }
	type operator struct {
		Resources    struct{ Limits memory }
		RestoreTests memory
		Replay       memory
	}
	var values struct{ BackupOperator, RestoreOperator operator }
	if err := yaml.Unmarshal(content, &values); err != nil {
		t.Fatal(err)
	}
	bytes := func(text string) int64 { q := resource.MustParse(text); return q.Value() }
	for name, test := range map[string]struct {
		limit, child string
		budgets      int64
	}{
		"backup-operator":  {values.BackupOperator.Resources.Limits.Memory, values.BackupOperator.RestoreTests.Memory, objstore.HeldMemory + changesMemory},
		"restore-operator": {values.RestoreOperator.Resources.Limits.Memory, values.RestoreOperator.Replay.Memory, objstore.HeldMemory},
	} {
		if own := dbcheck.Own(bytes(test.limit) - bytes(test.child)); base+test.budgets > own {
			t.Errorf("%s keeps %d MiB of its memory for itself, and its budgets and %d MiB are %d MiB", name, own>>20, base>>20, (base+test.budgets)>>20)
		}
	}
}
