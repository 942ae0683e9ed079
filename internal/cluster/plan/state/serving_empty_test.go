package state_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A user deletes the claims of empty volumes because of this text. What happens then depends on the consent in the spec.
func TestTheAdviceAboutEmptyVolumesSaysWhatFollowsTheirDeletion(t *testing.T) {
	empty := plantest.With(1, func(m *state.Member) { m.Empty = true })
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, empty)
	if text := state.WhyNoQuorumIsEmpty(s, s.Members); !strings.Contains(text, "The operator then reports how to continue") || strings.Contains(text, plantest.NameOf(0)) || !strings.Contains(text, plantest.NameOf(1)) {
		t.Errorf("without consent: %s", text)
	}
	plantest.Consenting(&s)
	if text := state.WhyNoQuorumIsEmpty(s, s.Members); !strings.Contains(text, "The operator then continues from the member") {
		t.Errorf("with consent: %s", text)
	}
}
