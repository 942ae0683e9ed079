package failure

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
)

func TestARefusedVolumeIsNotAskedForAgainAtOnce(t *testing.T) {
	var r Refusals
	volume, noon := client.ObjectKey{Namespace: "ns", Name: "m"}, time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	r.Note(volume, "16Gi", "exceeded quota", noon)
	for name, test := range map[string]struct {
		volume client.ObjectKey
		size   string
		after  time.Duration
		want   string
	}{
		"the same size":                       {volume, "16Gi", time.Minute, "exceeded quota"},
		"another size":                        {volume, "12Gi", time.Minute, ""},
		"another volume":                      {client.ObjectKey{Namespace: "ns", Name: "other"}, "16Gi", time.Minute, ""},
		"the same size, exactly at the limit": {volume, "16Gi", volumes.RefusalKept, "exceeded quota"},
	} {
		if got := r.Of(test.volume, test.size, noon.Add(test.after)); got != test.want {
			t.Errorf("%s: refused because %q, want %q", name, got, test.want)
		}
	}
	if got := r.Of(volume, "16Gi", noon.Add(volumes.RefusalKept+time.Second)); got != "" {
		t.Errorf("after %s it is still refused: %q", volumes.RefusalKept, got)
	}
}
