package state_test

import (
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// A YAML value can have several lines. Without this, the operator silently ignores the names in it.
func TestNamesMayBeOnLinesOfTheirOwn(t *testing.T) {
	if got := state.NewAsked(map[string]string{v1beta2.AnnotationFence: "a,\nb\n"}).Fence; !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("names are %q", got)
	}
}

func TestNamesOfAnAnnotationAreRead(t *testing.T) {
	got := state.NewAsked(map[string]string{v1beta2.AnnotationReplace: " b, a,,b "}).Replace
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("names are %q", got)
	}
}
