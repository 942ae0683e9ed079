package cli

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
)

func lost() *v1beta2.EtcdCluster {
	c := example()
	c.Status.Conditions[0] = metav1.Condition{Type: "Ready", Status: "False", Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 1 of 3 voters have their data, and 2 are needed."}
	return c
}

func foreign() *v1beta2.EtcdCluster {
	c := example()
	c.Status.ForeignMembers = []v1beta2.ForeignMember{{ID: "8e9e05c52164694d", Name: "other", Role: v1beta2.MemberVoter, PeerURLs: []string{"http://10.0.0.9:2380"}}}
	return c
}

// asks are commands that change something, with an object that they fit.
var asks = map[string]struct {
	objects []client.Object
	args    string
}{
	"restart":        {[]client.Object{example()}, "restart example"},
	"scale":          {[]client.Object{example()}, "scale example 5"},
	"scale-down":     {[]client.Object{example()}, "scale example 2"},
	"rotate-ca":      {[]client.Object{example()}, "rotate-ca example"},
	"recover":        {[]client.Object{lost()}, "recover example"},
	"remove-foreign": {[]client.Object{foreign()}, "remove-foreign example 8e9e05c52164694d"},
	"suspend":        {[]client.Object{hourly()}, "suspend hourly"},
	"backup-now":     {[]client.Object{example(), hourly()}, "backup example --now"},
	"upgrade":        {[]client.Object{example()}, "upgrade example 3.7.3"},
	"fence":          {[]client.Object{example()}, "fence example example-b"},
	"unfence":        {[]client.Object{fenced("example-b")}, "unfence example example-b"},
	"bench":          {[]client.Object{example(), podOf("example-a")}, "bench example"},
}

// A user decides by the question, so it names the object and what is lost. Without yes, nothing may change.
func TestEveryChangeAsksFirstAndNamesWhatItDoes(t *testing.T) {
	for name, c := range asks {
		k := kitOf(t, c.objects...)
		before := versionsOf(t, k, c.objects)
		_, err := k.run(t, strings.Fields(c.args)...)
		if err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		screen(t, "ask-"+name, session.Message(t.Context(), err, 100)+"\n")
		if after := versionsOf(t, k, c.objects); after != before {
			t.Errorf("%s: changed without yes", name)
		}
	}
}

func versionsOf(t *testing.T, k *kit, objects []client.Object) string {
	t.Helper()
	var all []string
	for _, object := range objects {
		read := object.DeepCopyObject().(client.Object)
		if err := k.Known.Get(t.Context(), client.ObjectKeyFromObject(object), read); err != nil {
			t.Fatal(err)
		}
		all = append(all, read.GetResourceVersion())
	}
	return strings.Join(all, " ")
}

// cluster returns the EtcdCluster as it is after a command.
func (k *kit) cluster(t *testing.T) *v1beta2.EtcdCluster {
	t.Helper()
	c := &v1beta2.EtcdCluster{}
	if err := k.Known.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "example"}, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// A setting that the command loses would be lost for the user's Pods, too.
func TestRestartKeepsTheSettingsOfThePods(t *testing.T) {
	c := example()
	c.Spec.Pod = &v1beta2.PodPolicy{Annotations: map[string]string{"a": "b"}, BusyboxImage: "busybox"}
	k := kitOf(t, c)
	k.must(t, "restart", "example", "--yes", "--wait=false")
	pod := k.cluster(t).Spec.Pod
	if pod.Annotations["kubectl.kubernetes.io/restartedAt"] != "2026-11-23T12:00:00Z" || pod.Annotations["a"] != "b" || pod.BusyboxImage != "busybox" {
		t.Errorf("%+v", pod)
	}
}

func TestScaleSetsTheSizeAndRefusesWrongOnes(t *testing.T) {
	k := kitOf(t, example())
	k.must(t, "scale", "example", "5", "--yes", "--wait=false")
	if size := k.cluster(t).Spec.Size; size != 5 {
		t.Errorf("size %d", size)
	}
	for _, wrong := range []string{"0", "8", "5", "many"} {
		if _, err := k.run(t, "scale", "example", wrong, "--yes", "--wait=false"); err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestRotateCAAsksOnlyForACAThatTheOperatorManages(t *testing.T) {
	k := kitOf(t, example())
	k.must(t, "rotate-ca", "example", "--yes", "--wait=false")
	if got := k.cluster(t).Annotations[v1beta2.AnnotationRotateCA]; got != "2026-11-23T12:00:00Z" {
		t.Error(got)
	}
	plain := example()
	plain.Spec.TLS = nil
	if _, err := kitOf(t, plain).run(t, "rotate-ca", "example", "--yes"); err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Errorf("%v", err)
	}
}

// A consent that remains lets the operator lose writes without a question the next time that volumes are lost.
func TestRecoverConsentsOnceAndOnlyIfQuorumIsLost(t *testing.T) {
	if _, err := kitOf(t, example()).run(t, "recover", "example", "--yes"); err == nil || !strings.Contains(err.Error(), "has not reported QuorumLost") {
		t.Errorf("a cluster that serves: %v", err)
	}
	k := kitOf(t, lost())
	out := k.must(t, "recover", "example", "--yes", "--wait=false")
	if c := k.cluster(t); !c.Spec.ForcesNewCluster() || !strings.Contains(strings.Join(strings.Fields(out), " "), "set it to Wait") {
		t.Errorf("%s", out)
	}
	k = kitOf(t, lost())
	k.acts(t, func(c *v1beta2.EtcdCluster) bool {
		if !c.Spec.ForcesNewCluster() {
			return false
		}
		c.Status.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryComplete, Member: "example-a", StartedAt: new(metav1.NewTime(now))}
		return true
	})
	k.must(t, "recover", "example", "--yes")
	if c := k.cluster(t); c.Spec.ForcesNewCluster() {
		t.Error("the consent remains after the recovery")
	}
}

// A consent that remains would remove a member that is added again under the same name, for example by a second migration.
func TestRemoveForeignConsentsUntilTheMemberIsRemoved(t *testing.T) {
	for _, wrong := range []string{"example-a", "0000000000000001"} {
		if _, err := kitOf(t, foreign()).run(t, "remove-foreign", "example", wrong, "--yes"); err == nil || !strings.Contains(err.Error(), "8e9e05c52164694d") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	k := kitOf(t, foreign())
	seen := ""
	k.acts(t, func(c *v1beta2.EtcdCluster) bool {
		if seen = c.Annotations[v1beta2.AnnotationRemoveForeign]; seen == "" {
			return false
		}
		c.Status.ForeignMembers = nil
		return true
	})
	k.must(t, "remove-foreign", "example", "8e9e05c52164694d", "--yes")
	if left := k.cluster(t).Annotations[v1beta2.AnnotationRemoveForeign]; seen != "8e9e05c52164694d" || left != "" {
		t.Errorf("asked for %q, and %q is left", seen, left)
	}
}

// fenced is a cluster for which fences are asked.
func fenced(members string) *v1beta2.EtcdCluster {
	c := example()
	c.Annotations = map[string]string{v1beta2.AnnotationFence: members}
	return c
}

// An annotation that is replaced as a whole ends the fence of another member, and clients reach what an administrator holds back.
func TestFenceAndUnfenceKeepTheOtherNames(t *testing.T) {
	k := kitOf(t, fenced("example-c"))
	for _, c := range []struct{ args, want string }{{"fence example example-b", "example-c,example-b"}, {"unfence example example-c", "example-b"}, {"unfence example example-b", ""}} {
		k.must(t, append(strings.Fields(c.args), "--yes", "--wait=false")...)
		if got := k.cluster(t).Annotations[v1beta2.AnnotationFence]; got != c.want {
			t.Errorf("%s: %q", c.args, got)
		}
	}
	for _, wrong := range []string{"fence example other", "unfence example example-a"} {
		if _, err := k.run(t, append(strings.Fields(wrong), "--yes", "--wait=false")...); err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// The command reported success at once, and clients still reached the member.
func TestFenceEndsWhenTheOperatorHasFencedTheMember(t *testing.T) {
	k := kitOf(t, example())
	k.acts(t, func(c *v1beta2.EtcdCluster) bool {
		c.Status.MemberStatuses[1].Fenced = c.Annotations[v1beta2.AnnotationFence] == "example-b"
		return c.Status.MemberStatuses[1].Fenced
	})
	if out := k.must(t, "fence", "example", "example-b", "--yes"); !strings.Contains(out, "member example-b is fenced") {
		t.Error(out)
	}
	refused := example()
	k = kitOf(t, refused)
	k.acts(t, func(c *v1beta2.EtcdCluster) bool {
		c.Status.Conditions[0].Reason, c.Status.Conditions[0].Message = v1beta2.ReasonRequestRefused, "The client Service must keep a quorum."
		return c.Annotations[v1beta2.AnnotationFence] != ""
	})
	if _, err := k.run(t, "fence", "example", "example-a", "--yes"); err == nil || !strings.Contains(err.Error(), "keep a quorum") {
		t.Errorf("a refusal: %v", err)
	}
}

// acts lets a stand-in for the operator change the status as soon as it sees what it waits for.
func (k *kit) acts(t *testing.T, act func(*v1beta2.EtcdCluster) bool) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-t.Context().Done():
				return
			case <-tick.C:
			}
			c := &v1beta2.EtcdCluster{}
			if k.Known.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "example"}, c) == nil && act(c) {
				_ = k.Known.Status().Update(t.Context(), c)
				return
			}
		}
	}()
	t.Cleanup(func() { <-done })
}

func TestSuspendAndResumeChangeTheScheduleOfASeries(t *testing.T) {
	k := kitOf(t, hourly())
	for _, c := range []struct {
		args    string
		suspend bool
	}{{"suspend hourly", true}, {"resume --backup hourly", false}} {
		k.must(t, append(strings.Fields(c.args), "--yes", "--wait=false")...)
		b := &v1beta2.EtcdBackup{}
		if err := k.Known.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "hourly"}, b); err != nil || b.Spec.BackupPolicy.Suspend != c.suspend {
			t.Errorf("%s: %v, %t", c.args, err, b.Spec.BackupPolicy.Suspend)
		}
	}
	for _, wrong := range []string{"resume", "resume example --backup hourly", "resume --backup hourly"} {
		if _, err := k.run(t, append(strings.Fields(wrong), "--yes", "--wait=false")...); err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// A snapshot beside the series is neither copied nor tested, and does not end the alert of a series that is too old.
func TestBackupNowAsksTheSeriesItself(t *testing.T) {
	k := kitOf(t, example(), hourly())
	k.must(t, "backup", "example", "--now", "--yes", "--wait=false")
	var all v1beta2.EtcdBackupList
	if err := k.Known.List(t.Context(), &all); err != nil || len(all.Items) != 1 || all.Items[0].Annotations[v1beta2.AnnotationBackupNow] != "20261123-120000" {
		t.Errorf("%v, %d EtcdBackups, %v", err, len(all.Items), all.Items[0].Annotations)
	}
	if _, err := kitOf(t, example()).run(t, "backup", "example", "--now", "--yes"); err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Errorf("without a series: %v", err)
	}
}

// An upgrade cannot be undone on every path, so the snapshot comes first, and without it the version stays.
func TestUpgradeWithSnapshotKeepsTheVersionWithoutOne(t *testing.T) {
	k := kitOf(t, example())
	if _, err := k.run(t, "upgrade", "example", "3.7.3", "--snapshot", "--yes"); err == nil || !strings.Contains(err.Error(), "was not changed") {
		t.Errorf("%v", err)
	}
	if version := k.cluster(t).Spec.Version; version != "3.6.16" {
		t.Error(version)
	}
}

// A load that etcdctl does not have would be reported by an exit code in the Pod, after the question.
func TestBenchRunsTheCheckOfEtcdctl(t *testing.T) {
	config, calls := execServer(t, `{"status":"Success"}`)
	k := kitAt(t, config)
	k.must(t, "bench", "example", "--load", "m", "--yes")
	if got := strings.Join((*calls)[0].command, " "); !strings.Contains(got, "check perf --load=m --prefix=/kubectl-etcd-bench/") {
		t.Error(got)
	}
	if _, err := k.run(t, "bench", "example", "--load", "xxl", "--yes"); err == nil || len(*calls) != 1 {
		t.Errorf("%v", err)
	}
}
