package upgrade

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// A change is an upgrade or a rollback of the suite.
type change struct {
	name string
	// helm are its arguments, as docs/install.md has them.
	helm []string
	// tag and tree are those of the suite that runs afterwards.
	tag, tree string
}

func changes() []change {
	common := []string{stack.Release, "--namespace", stack.Namespace, "--wait", "--timeout", "5m"}
	with := func(first string, more ...string) []string {
		return append(append([]string{first}, common...), more...)
	}
	upgrade := with("upgrade", chart, "--reset-then-reuse-values", "--set", "image.tag="+stack.Tag)
	return []change{
		{"the upgrade", upgrade, stack.Tag, root},
		{"the rollback", with("rollback"), suite.from.tag(), suite.from.tree()},
		{"the second upgrade", upgrade, stack.Tag, root},
	}
}

// If this fails, an upgrade or a rollback of the suite restarts members of users, or objects that were in the middle of a step do not
// continue.
func TestUpgradeAndRollbackRestartNoMemberInAnyState(t *testing.T) {
	if os.Getenv("TEST_BIN") == "" {
		t.Skip("this test needs a Kubernetes: run make e2e-upgrade")
	}
	began := time.Now()
	if err := setUp(t.Context()); err != nil {
		t.Fatalf("the setup failed: %v", err)
	}
	sites := install(t)
	group := func(about string, part func(*site)) {
		started := time.Now()
		t.Run(about, func(t *testing.T) {
			for _, s := range sites {
				s.during(t, func() { part(s) })
			}
		})
		t.Logf("%s: %s", about, time.Since(started).Round(time.Second))
	}
	group("each state is reached", (*site).reachState)
	for number, c := range changes() {
		troubles, started := troublesOf(t, sites), time.Now()
		if output, err := suite.Helm(t.Context(), c.helm...); err != nil {
			t.Fatalf("%s failed: %v\n%s", c.name, err, output)
		}
		operatorsRun(t, c)
		crdsAreThoseOf(t, c)
		t.Logf("%s: helm %s", c.name, time.Since(started).Round(time.Second))
		group("each object goes on after "+c.name, func(s *site) { s.goesOn(c, number+1, troubles[s.name]) })
		operatorsNeverRestarted(t)
	}
	group("each object ends as its spec asks", (*site).ends)
	operatorsNeverRestarted(t)
	t.Logf("in all: %s", time.Since(began).Round(time.Second))
}

// install installs the suite of the earlier commit, and makes a namespace for each state.
func install(t *testing.T) (sites []*site) {
	t.Helper()
	first := filepath.Join(suite.from.tree(), chart)
	output, err := suite.Helm(t.Context(), "install", stack.Release, first, "--namespace", stack.Namespace, "--create-namespace", "--wait", "--timeout", "5m", "--set", "image.tag="+suite.from.tag())
	if err != nil {
		t.Fatalf("install the chart of %s: %v\n%s", suite.from.short(), err, output)
	}
	c := change{name: "the installation", tag: suite.from.tag(), tree: suite.from.tree()}
	operatorsRun(t, c)
	crdsAreThoseOf(t, c)
	for _, state := range states {
		s := &site{T: t, state: state, ctx: t.Context()}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
		if err := suite.Client.Create(t.Context(), namespace); err != nil {
			t.Fatal(err)
		}
		sites = append(sites, s)
	}
	return sites
}

// reachState brings the objects into the state and records what an upgrade must not change.
func (s *site) reachState() {
	s.reach(s)
	if s.writer == nil && !s.asleep {
		s.write()
	}
	s.eventually("the state is reached", s.holding)
	found, err := s.look(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	s.before, s.reached = found, true
	if s.writer != nil {
		s.writer.look()
	}
}

// holding returns an error unless the operators have seen the newest specs, and the objects are in the state.
func (s *site) holding(ctx context.Context) error {
	cluster, err := s.cluster(ctx)
	if err != nil {
		return err
	}
	if err := reports(cluster, v1beta2.ConditionReady, s.reasons...); err != nil {
		return err
	}
	objects, err := s.objects(ctx)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if backup, is := object.(*v1beta2.EtcdBackup); is && backup.Status.ObservedGeneration != backup.Generation {
			return fmt.Errorf("backup-operator has not seen generation %d of EtcdBackup %s yet", backup.Generation, backup.Name)
		}
	}
	if s.holds == nil {
		return nil
	}
	return s.holds(ctx, s)
}

// goesOn changes specs in a way that needs no restart, and waits until the operators that run now have seen it and the state still holds.
// Then no member may have restarted, and nothing may have become Stalled or Failed.
func (s *site) goesOn(c change, number int, troubles map[string]string) {
	if !s.reached {
		s.Skip("the state was not reached")
	}
	s.patch(fmt.Sprintf(`{"spec":{"recovery":{"memberReplacementGrace":"%dm"}}}`, 60+number))
	objects, err := s.objects(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	for _, object := range objects {
		// A single snapshot would be taken again after a change of its spec.
		if backup, is := object.(*v1beta2.EtcdBackup); is && backup.Spec.BackupPolicy != nil {
			s.kubectl("patch", "etcdbackup", backup.Name, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"backupPolicy":{"timeoutInSecond":%d}}}`, 600+number))
		}
	}
	s.eventually("the state holds after "+c.name, s.holding)
	s.unchanged(c.name, troubles)
	s.clientsNoticed(c)
	if s.moves != nil {
		s.moves(s, number)
	}
}

// failedOneIn tolerates one failed write in so many: on a busy machine, etcd itself times out now and then. Whether a member restarted is
// checked without a tolerance.
const failedOneIn = 20

// clientsNoticed fails the test if many writes failed, or if etcd went back to an earlier revision.
func (s *site) clientsNoticed(c change) {
	s.Helper()
	if s.writer == nil {
		return
	}
	saw := s.writer.look()
	s.Logf("during %s: %d writes, %d failed, longest time between two %s", c.name, saw.writes, saw.failed, saw.longest.Round(time.Millisecond))
	if saw.failed*failedOneIn > saw.writes {
		s.Errorf("%d of %d writes failed during %s: %s", saw.failed, saw.writes, c.name, saw.failure)
	}
	_, revision := s.writer.until()
	if revision <= s.revision {
		s.Errorf("the last write before %s had revision %d, and the last one now has revision %d", c.name, s.revision, revision)
	}
	s.revision = revision
}

// ends removes the cause of the state, and waits until all objects are as their specs ask. All acknowledged writes must be there.
func (s *site) ends() {
	if !s.reached {
		s.Skip("the state was not reached")
	}
	count := 0
	if s.writer != nil {
		s.writer.end()
		count, _ = s.writer.until()
	}
	if s.release == nil {
		s.admitAll()
		s.ready()
	} else {
		s.release(s)
	}
	if s.rewinds {
		count = 0
	}
	s.readBack(s.etcd(), count)
	troubles, err := s.troubles(s.ctx)
	if err != nil || len(troubles) > 0 {
		s.Errorf("at the end these objects are in trouble: %v, error %v", troubles, err)
	}
}

// troublesOf returns what is Stalled or Failed in each namespace.
func troublesOf(t *testing.T, sites []*site) map[string]map[string]string {
	t.Helper()
	found := map[string]map[string]string{}
	for _, s := range sites {
		var err error
		if found[s.name], err = s.troubles(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// operatorPods returns the Pods of the operators.
func operatorPods(t *testing.T) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := suite.Client.List(t.Context(), &list, client.InNamespace(stack.Namespace)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// operatorsRun waits until the operators of the change run, and no other.
func operatorsRun(t *testing.T, c change) {
	t.Helper()
	s := &site{T: t, ctx: t.Context()}
	s.eventually("only the operators of "+c.name+" run", func(context.Context) error {
		found := operatorPods(t)
		for _, pod := range found {
			if image := pod.Spec.Containers[0].Image; !strings.HasSuffix(image, ":"+c.tag) {
				return fmt.Errorf("Pod %s runs image %s", pod.Name, image)
			}
		}
		if len(found) != len(operators) {
			return fmt.Errorf("%d Pods exist, expected %d", len(found), len(operators))
		}
		return nil
	})
}

// operatorsNeverRestarted fails the test if an operator ended by itself, for example because of an object that it cannot read.
func operatorsNeverRestarted(t *testing.T) {
	t.Helper()
	for _, pod := range operatorPods(t) {
		for _, status := range pod.Status.ContainerStatuses {
			if status.RestartCount > 0 {
				t.Errorf("container %s of Pod %s restarted %d times: %+v", status.Name, pod.Name, status.RestartCount, status.LastTerminationState)
			}
		}
	}
}
