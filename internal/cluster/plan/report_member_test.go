package plan

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What was done to a member is found by its name, whatever words the event has.
func TestWhatIsDoneToAMemberIsToldOfItsPodOrVolume(t *testing.T) {
	s := state(formed, members(3))
	for _, of := range []func(name string) Step{
		func(name string) Step { return CreateMember{Name: name} },
		func(name string) Step { return AddLearner{Name: name} },
		func(name string) Step { return MoveLeader{From: name} },
		func(name string) Step { return RemoveMember{Name: name} },
		func(name string) Step { return DeletePod{Name: name} },
		func(name string) Step { return ForgetPod{Name: name} },
		func(name string) Step { return DefragmentMember{Name: name} },
		func(name string) Step { return DeleteVolume{Name: name} },
		func(name string) Step { return ResizeVolume{Name: name} },
	} {
		step := of("a")
		related, ok := s.RelatedTo(step).(client.Object)
		if !ok || related.GetName() != "a" || related.GetNamespace() != s.Namespace || related.GetObjectKind().GroupVersionKind().Kind == "" {
			t.Errorf("%T of member a is related to %v", step, related)
		}
	}
	if related := s.RelatedTo(Done{}); related != nil {
		t.Errorf("Done is related to %v", related)
	}
}
