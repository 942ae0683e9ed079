package act

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// A new leader acts on a cache that shows what was true an hour ago.
func TestNothingIsDestroyedOnAnOldCache(t *testing.T) {
	old := plantest.NameOf(0)
	for name, change := range map[string]func(*v1beta2.EtcdCluster){
		"the spec has changed":     func(c *v1beta2.EtcdCluster) { c.Generation++ },
		"the cluster was restored": func(c *v1beta2.EtcdCluster) { c.Status.Incarnation, c.Status.ClusterID = 2, plantest.SeedID },
		"the restore has advanced": func(c *v1beta2.EtcdCluster) { c.Status.Restore = &v1beta2.ClusterRestoreStatus{UID: "uid-back"} },
		"the recovery has advanced": func(c *v1beta2.EtcdCluster) {
			c.Status.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing}
		},
		"another EtcdCluster has the name":            func(c *v1beta2.EtcdCluster) { c.UID = "uid-later" },
		"the EtcdCluster belongs to another operator": func(c *v1beta2.EtcdCluster) { c.Labels = map[string]string{v1beta2.LabelShard: "b"} },
		"the cache is current":                        nil,
	} {
		back := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: "uid-back"}}
		a, v := actorBeside(t, back, &corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-example", old, nil)}, &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", old, nil)})
		v.Request = &state.RestoreRequest{Name: "back", UID: "uid-back"}
		v.Services = state.Services{ClientExists: true, ClientIncarnation: 2, ClientClusterID: plantest.SeedID}
		v.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		v.Members = []state.Member{{Name: old, Incarnation: 1, Pod: state.PodRunning}}
		if change != nil {
			behind := v.Cluster.DeepCopy()
			change(v.Cluster)
			live := v.Cluster
			v.Cluster = behind
			a.APIReader = besideOnly(t, a, live)
		}
		for _, step := range []steps.Step{
			steps.DeleteVolume{Name: old}, steps.StopMembers{Except: 2}, steps.CreateMember{Name: old, Incarnation: 1, Start: state.StartRejoin}, steps.DeletePod{Name: old}, steps.ForceDeletePod{Name: old},
			steps.RemoveMember{Name: old}, steps.BeginSwitch{}, steps.AdoptSeed{}, steps.ApplyServices{Incarnation: 1, ClusterID: plantest.OldID},
			steps.AddLearner{Name: plantest.NameOf(3)}, steps.PromoteLearner{Name: old}, steps.MoveLeader{From: old},
			steps.CompactHistory{Revision: 7}, steps.KeepVolume{Name: old}, steps.SetAsideVolume{Name: old},
		} {
			err := a.confirmer.Confirm(t.Context(), v, step)
			if change == nil && err != nil || change != nil && !errors.Is(err, view.ErrBehind) {
				t.Errorf("%s: %T: %v", name, step, err)
			}
		}
		for _, step := range []steps.Step{steps.AddToService{Name: old}, steps.KeepVolume{Name: old, Keep: true}} {
			if err := a.confirmer.Confirm(t.Context(), v, step); err != nil {
				t.Errorf("%s: %T, which can be undone, is held up: %v", name, step, err)
			}
		}
	}
}

// An old cache showed a Pod as blocked that is the leader by now. A Pod that runs without being ready is stopped.
func TestAPodIsStoppedForBeingBlockedOnlyIfItDoesNotRun(t *testing.T) {
	running := corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: lifecycle.EtcdContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}}
	waiting := corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: lifecycle.EtcdContainer, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
	}}}
	for name, test := range map[string]struct {
		cached state.PodState
		live   corev1.PodStatus
		stops  bool
	}{
		"a Pod that the cache shows as blocked runs":  {state.PodBlocked, running, false},
		"a Pod that the cache shows as ended runs":    {state.PodEnded, running, false},
		"a Pod that the cache shows as starting runs": {state.PodStarting, running, false},
		"the Pod is still blocked":                    {state.PodBlocked, waiting, true},
		"the Pod runs and is not ready":               {state.PodRunning, running, true},
	} {
		a, v := actorBeside(t, &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(0), nil), Status: test.live})
		v.Members = []state.Member{{Name: plantest.NameOf(0), Incarnation: 1, Pod: test.cached}}
		err := a.Act(t.Context(), v, steps.DeletePod{Name: plantest.NameOf(0), Reason: v1beta2.ReasonMemberDown})
		if test.stops && err != nil || !test.stops && !errors.Is(err, view.ErrBehind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The cache of a new leader still has an EtcdRestore that was deleted an hour ago. The docs promise that the operator
// undoes a restore whose EtcdRestore is deleted before the switch. Without this, the cluster goes back to the snapshot.
func TestNoSwitchBeginsForARestoreThatIsDeleted(t *testing.T) {
	back := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: "uid-back"}}
	another := back.DeepCopy()
	another.UID = "uid-of-the-next-object"
	for name, test := range map[string]struct {
		live   *v1beta2.EtcdRestore
		begins bool
	}{
		"the EtcdRestore exists":           {back, true},
		"the EtcdRestore is deleted":       {nil, false},
		"another EtcdRestore has its name": {another, false},
	} {
		a, v := actorBeside(t)
		v.Cluster.Status.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: v1beta2.RestoreSeeding}
		v.Restore, v.Request = v.Cluster.Status.Restore, &state.RestoreRequest{Name: "back", UID: "uid-back"}
		reader := fake.NewClientBuilder().WithScheme(a.Client.Scheme())
		v.Cluster.ResourceVersion = ""
		if reader = reader.WithObjects(v.Cluster); test.live != nil {
			reader = reader.WithObjects(test.live)
		}
		a.APIReader = reader.Build()
		err := a.confirmer.Confirm(t.Context(), v, steps.BeginSwitch{ClusterID: plantest.SeedID})
		if test.begins && err != nil || !test.begins && !errors.Is(err, view.ErrBehind) {
			t.Errorf("%s: the switch begins: %v, error %v", name, err == nil, err)
		}
	}
}

// The cache of a new leader had the Pods of an hour ago, when the old members did not run. The seed became the cluster beside them, and
// both histories were served.
func TestTheSeedTakesOverOnlyIfNoOldMemberRunsPastTheCache(t *testing.T) {
	now := metav1.NewTime(plantest.Noon)
	old := func(i int, changes ...func(*corev1.Pod)) client.Object {
		pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(i), nil), Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: lifecycle.EtcdContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}}}
		for _, change := range changes {
			change(pod)
		}
		return pod
	}
	stopping := func(pod *corev1.Pod) { pod.DeletionTimestamp, pod.Finalizers = &now, []string{"example.com/held"} }
	stopped := func(pod *corev1.Pod) { stopping(pod); pod.Status.Phase = corev1.PodSucceeded }
	overdue := func(pod *corev1.Pod) {
		stopping(pod)
		pod.DeletionTimestamp = &metav1.Time{Time: plantest.Noon.Add(-time.Hour)}
	}
	unlabelled := func(pod *corev1.Pod) { pod.Labels = nil }
	ended := func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }
	seed := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", clustertest.SeedName, nil), Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	for name, test := range map[string]struct {
		live   []client.Object
		step   steps.Step
		behind bool
	}{
		"no old member has a Pod":                                             {[]client.Object{seed}, steps.AdoptSeed{}, false},
		"one of three old members is stopping":                                {[]client.Object{seed, old(0, stopping)}, steps.AdoptSeed{}, false},
		"two of three old members are stopping":                               {[]client.Object{seed, old(0, stopping), old(1, stopping)}, steps.AdoptSeed{}, true},
		"two of three old members have stopped":                               {[]client.Object{seed, old(0, stopped), old(1, stopped)}, steps.AdoptSeed{}, false},
		"one old member is stopping, and another one has ended":               {[]client.Object{seed, old(0, stopping), old(1, ended)}, steps.AdoptSeed{}, false},
		"two old members run":                                                 {[]client.Object{seed, old(1), old(2)}, steps.AdoptSeed{}, true},
		"one old member is stopping, and another one runs":                    {[]client.Object{seed, old(1, stopping), old(2)}, steps.AdoptSeed{}, true},
		"two old members run, one of them without labels":                     {[]client.Object{seed, old(1), old(2, unlabelled)}, steps.AdoptSeed{}, true},
		"one of three old members runs, which is no quorum":                   {[]client.Object{seed, old(2)}, steps.AdoptSeed{}, false},
		"a quorum runs, so the restore may return to seeding":                 {[]client.Object{seed, old(1), old(2)}, steps.ReturnToSeeding{}, false},
		"two of three are stopping, so the restore may not return to seeding": {[]client.Object{seed, old(0), old(1, stopping), old(2, stopping)}, steps.ReturnToSeeding{}, true},
		"all old members run when the switch begins":                          {[]client.Object{seed, old(0), old(1), old(2)}, steps.BeginSwitch{}, false},
		"the node of one old member does not answer":                          {[]client.Object{seed, old(0, overdue), old(1), old(2)}, steps.BeginSwitch{}, false},
		"the nodes of two of three old members do not answer":                 {[]client.Object{seed, old(0, overdue), old(1, overdue)}, steps.BeginSwitch{}, true},
		"no old member is left":                                               {[]client.Object{seed}, steps.BeginSwitch{}, false},
	} {
		a, v := actorBeside(t, append(test.live, &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: "uid-back"}})...)
		v.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: v1beta2.RestoreSwitching, Incarnation: 2}
		v.Request = &state.RestoreRequest{Name: "back", UID: "uid-back"}
		v.ClusterID, v.Incarnation, v.KnownVoters = plantest.OldID, 1, []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}
		v.Members = []state.Member{{Name: clustertest.SeedName, Incarnation: 2, Pod: state.PodRunning, Serving: true}} // what the cache shows
		if err := a.Act(t.Context(), v, test.step); errors.Is(err, view.ErrBehind) != test.behind || !test.behind && err != nil {
			t.Errorf("%s: %T: %v", name, test.step, err)
		}
	}
}

// Two of five members had no Pod, and the nodes of two others did not answer. The read past the cache counted a quorum of the three Pods
// instead of the five voters. So the restore never continued, and the status reported that the cache was behind.
func TestAMemberWithoutAPodCountsAsAVoterBeforeASwitch(t *testing.T) {
	silent := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
	}}
	for name, test := range map[string]struct {
		silent int
		behind bool
	}{"two of five": {2, false}, "three of five": {3, true}} {
		pods := []client.Object{&v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: "uid-back"}}}
		s := clustertest.State(plantest.Formed, plantest.Members(5), plantest.With(3, plantest.Gone), plantest.With(4, plantest.Gone), clustertest.Restored(v1beta2.RestoreSeeding), clustertest.Asked)
		s.MembershipKnown = false // otherwise the old members are fenced
		for i := range 3 {
			pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(i), nil), Status: corev1.PodStatus{Phase: corev1.PodRunning}}
			if i < test.silent {
				pod.Status = silent
			}
			pods = append(pods, pod)
		}
		a, v := actorBeside(t, pods...)
		v.State = s
		if err := a.confirmer.ConfirmOld(t.Context(), v, steps.BeginSwitch{}); errors.Is(err, view.ErrBehind) != test.behind || !test.behind && err != nil {
			t.Errorf("the nodes of %s are silent: %v", name, err)
		}
	}
}

// The nodes of two of three members lost the API server, and not their peers. The members answered, and could be fenced. But the read past the cache forgot
// which etcd they run, so the restore never continued, and the status reported that the cache was behind.
func TestMembersThatAnswerAreFencedAlthoughTheirNodesAreSilent(t *testing.T) {
	silent := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
	}}
	for version, behind := range map[string]bool{"3.6.16": false, "3.5.26": true} {
		objects := []client.Object{&v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: "uid-back"}}}
		s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Restored(v1beta2.RestoreSeeding), clustertest.Asked)
		for i := range 3 {
			s.Members[i].Version = version
			pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(i), nil), Status: corev1.PodStatus{Phase: corev1.PodRunning}}
			if i < 2 {
				pod.Status = silent
			}
			objects = append(objects, pod)
		}
		a, v := actorBeside(t, objects...)
		v.State = s
		if err := a.confirmer.ConfirmOld(t.Context(), v, steps.BeginSwitch{}); errors.Is(err, view.ErrBehind) != behind || !behind && err != nil {
			t.Errorf("etcd %s: %v", version, err)
		}
	}
}

// A member that refuses the operator's request has a quorum, so voters that a person has reported as stopped must run. The read past the
// cache has no answers of members, so it trusted the person.
func TestTheReadPastTheCacheDoesNotBelieveWhatAMemberContradicts(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		voter := clustertest.Controlled("uid-example", plantest.NameOf(0), nil)
		voter.Labels = map[string]string{pods.LabelVoter: "true", v1beta2.LabelIncarnation: "1"}
		a, v := actorBeside(t, &corev1.Pod{ObjectMeta: voter, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
			&v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: "uid-back"}})
		v.State = clustertest.State(plantest.Formed, plantest.Members(1), clustertest.Restored(v1beta2.RestoreSeeding), clustertest.Asked)
		v.MembershipKnown, v.KnownVoters = false, []string{plantest.NameOf(0)}
		v.ForeignMembers, v.Asked.StoppedForeign = []state.ForeignMember{{ID: 100}, {ID: 101}}, []string{"64", "65"}
		v.Members[0].Guarded, v.Members[0].Serving, v.Members[0].Answers = guarded, false, true
		if err := a.confirmer.ConfirmOld(t.Context(), v, steps.BeginSwitch{}); errors.Is(err, view.ErrBehind) != guarded {
			t.Errorf("a member refuses the operator: %v, and the switch: %v", guarded, err)
		}
	}
}

// besideOnly reads an API server that has one EtcdCluster and nothing else.
func besideOnly(t *testing.T, a *Actor, cluster *v1beta2.EtcdCluster) client.Reader {
	t.Helper()
	cluster.ResourceVersion = ""
	return fake.NewClientBuilder().WithScheme(a.Client.Scheme()).WithObjects(cluster).Build()
}
