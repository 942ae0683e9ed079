package problem

import (
	"errors"
	"fmt"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// A kind of error without an entry would be reported as StoreUnreachable, with advice about the network.
func TestEachKindOfErrorHasAReasonAndAdviceOfItsOwn(t *testing.T) {
	reasons, advices := map[string]error{}, map[string]error{}
	for _, kind := range objstore.Kinds() {
		p := Of(fmt.Errorf("put: %w", kind))
		advice := p.Advice(storage.Location{Bucket: "backups"})
		if p.Reason == v1beta2.ReasonStoreUnreachable || reasons[p.Reason] != nil || advices[advice] != nil {
			t.Errorf("%v has the reason %s and the advice %q, as %v has", kind, p.Reason, advice, reasons[p.Reason])
		}
		reasons[p.Reason], advices[advice] = kind, kind
	}
	if len(Table()) != len(objstore.Kinds()) {
		t.Errorf("the table has %d entries, and there are %d kinds", len(Table()), len(objstore.Kinds()))
	}
	if p := Of(errors.New("connection refused")); p.Reason != v1beta2.ReasonStoreUnreachable {
		t.Errorf("a refused connection has the reason %s", p.Reason)
	}
}

func TestWhatLastsIsTriedLessOften(t *testing.T) {
	for _, p := range Table() {
		if longest := Longest(p.Reason); (longest > MostlyPassing) != p.Lasting {
			t.Errorf("%s: the longest pause is %s", p.Reason, longest)
		}
	}
}
