package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// seen is what an upgrade and a rollback must not change. They may change neither a Pod that runs, nor one that waits for a node.
type seen struct {
	Pods    map[string]podSeen
	Claims  map[string]types.UID
	Cluster string // ID in etcd
	Members []string
	// Incarnation of the cluster: a restore that is carried out again begins another one.
	Incarnation int32
}

type podSeen struct {
	UID      types.UID
	Node     string
	Deleting bool
	// Containers and init containers, with the time of the last start and the number of restarts.
	Containers []string
}

// look returns what a site has now.
func (s *site) look(ctx context.Context) (found seen, err error) {
	pods, err := s.pods(ctx)
	if err != nil {
		return found, err
	}
	found = seen{Pods: seenPods(pods), Claims: map[string]types.UID{}}
	var claims corev1.PersistentVolumeClaimList
	if err := suite.Client.List(ctx, &claims, client.InNamespace(s.name)); err != nil {
		return found, err
	}
	for _, claim := range claims.Items {
		found.Claims[claim.Name] = claim.UID
	}
	cluster, err := s.cluster(ctx)
	if err != nil {
		return found, err
	}
	found.Incarnation = cluster.Status.Incarnation
	if s.writer != nil {
		found.Cluster, found.Members, err = s.writer.membership(ctx)
	}
	return found, err
}

func seenPods(pods []corev1.Pod) map[string]podSeen {
	found := map[string]podSeen{}
	for _, pod := range pods {
		found[pod.Name] = podSeen{UID: pod.UID, Node: pod.Spec.NodeName, Deleting: pod.DeletionTimestamp != nil, Containers: containers(pod)}
	}
	return found
}

func containers(pod corev1.Pod) (found []string) {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		text := fmt.Sprintf("%s restarted %d times", status.Name, status.RestartCount)
		if running := status.State.Running; running != nil {
			text += ", started at " + running.StartedAt.UTC().Format(time.RFC3339)
		}
		found = append(found, text)
	}
	return found
}

// membership returns the ID of the cluster and its members, as etcd knows them.
func (w *writer) membership(ctx context.Context) (cluster string, members []string, err error) {
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	response, err := w.etcd.MemberList(limited)
	if err != nil {
		return "", nil, err
	}
	for _, m := range response.Members {
		members = append(members, fmt.Sprintf("%x %s learner=%t %v", m.ID, m.Name, m.IsLearner, m.PeerURLs))
	}
	slices.Sort(members)
	return fmt.Sprintf("%x", response.Header.ClusterId), members, nil
}

// objects returns all objects of the three kinds in the namespace.
func (s *site) objects(ctx context.Context) (found []client.Object, err error) {
	var clusters v1beta2.EtcdClusterList
	var backups v1beta2.EtcdBackupList
	var restores v1beta2.EtcdRestoreList
	for _, list := range []client.ObjectList{&clusters, &backups, &restores} {
		if err := suite.Client.List(ctx, list, client.InNamespace(s.name)); err != nil {
			return nil, err
		}
	}
	for i := range clusters.Items {
		found = append(found, &clusters.Items[i])
	}
	for i := range backups.Items {
		found = append(found, &backups.Items[i])
	}
	for i := range restores.Items {
		found = append(found, &restores.Items[i])
	}
	return found, nil
}

// troubles lists the objects that are Stalled or Failed, with the reason. An EtcdRestore with dryRun always ends so.
func (s *site) troubles(ctx context.Context) (found map[string]string, err error) {
	objects, err := s.objects(ctx)
	found = map[string]string{}
	for _, object := range objects {
		for _, c := range conditionsOf(object) {
			if c.Status == metav1.ConditionTrue && c.Reason != v1beta2.ReasonDryRun && (c.Type == v1beta2.ConditionStalled || c.Type == v1beta2.ConditionFailed) {
				found[fmt.Sprintf("%T %s is %s", object, object.GetName(), c.Type)] = c.Reason + ": " + c.Message
			}
		}
	}
	return found, err
}

// ofStalledCluster reports whether an EtcdRestore is Stalled because its EtcdCluster is, which is a trouble of its own. Earlier releases did not say so.
func ofStalledCluster(what, why string) bool {
	return strings.Contains(what, "EtcdRestore") && strings.Contains(why, "needs your help")
}

// unchanged fails the test if members have restarted or changed, or if anything has become Stalled or Failed.
func (s *site) unchanged(since string, troublesBefore map[string]string) {
	s.Helper()
	found, err := s.look(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	if diff := cmp.Diff(s.before, found); diff != "" {
		s.Errorf("members have restarted or changed since %s (-before +after):\n%s", since, diff)
	}
	troubles, err := s.troubles(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	for what, why := range troubles {
		if _, was := troublesBefore[what]; !was && !ofStalledCluster(what, why) {
			s.Errorf("since %s, %s: %s", since, what, why)
		}
	}
}

// readBack checks that all acknowledged writes are in a cluster, up to a number of them, and the keys that the state began with.
func (s *site) readBack(etcd *clientv3.Client, count int) {
	s.Helper()
	defer etcd.Close()
	found := map[string]bool{}
	s.eventually("all keys are read", func(ctx context.Context) error {
		limited, cancel := context.WithTimeout(ctx, requestLimit)
		defer cancel()
		response, err := etcd.Get(limited, "", clientv3.WithPrefix())
		if err != nil {
			return err
		}
		for _, kv := range response.Kvs {
			found[string(kv.Key)] = string(kv.Key) == string(kv.Value)
		}
		return nil
	})
	expected := slices.Clone(firstKeys)
	if s.writer != nil {
		expected = append(expected, s.writer.acknowledged[:count]...)
	}
	lost := slices.DeleteFunc(slices.Clone(expected), func(key string) bool { return found[key] })
	if len(lost) > 0 {
		s.Errorf("%d of %d keys are lost, the first is %s", len(lost), len(expected), lost[0])
	}
	s.Logf("%d keys are read back", len(expected)-len(lost))
}

// firstKeys are in each cluster before anything else.
var firstKeys = func() (keys []string) {
	for i := range 20 {
		keys = append(keys, fmt.Sprintf("first-%02d", i))
	}
	return keys
}()

// writeFirst writes the first keys.
func (s *site) writeFirst() {
	s.Helper()
	etcd := s.etcd()
	defer etcd.Close()
	for _, key := range firstKeys {
		s.quietly(func(ctx context.Context) error {
			_, err := etcd.Put(ctx, key, key)
			return err
		})
	}
}

// quietly retries a request that etcd may refuse while it has no leader. It logs nothing.
func (s *site) quietly(what func(ctx context.Context) error) {
	s.Helper()
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(s.ctx, requestLimit)
		err := what(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Since(began) > limit {
			s.Fatal(err)
		}
	}
}
