package backup

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// allowing returns a list that allows a prefix to a namespace.
func allowing(namespace, prefix string) grant.List {
	return grant.List{{Namespaces: []string{namespace}, PathPrefix: prefix}}
}

// A tenant wrote into the platform's bucket, because every namespace could use the operator's identity.
func TestANamespaceWithoutASecretCannotUseTheOperatorsIdentityUnlessAllowed(t *testing.T) {
	ca := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ca"}, Data: map[string][]byte{"ca.crt": []byte("pem"), "region": []byte("r")}}
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "keys"}, Data: map[string][]byte{"access-key-id": []byte("a"), "secret-access-key": []byte("b")}}
	named := func(name string) func(*State) { return func(s *State) { s.Spec.S3.AWSSecret = name } }
	path := one().Spec.S3.Path
	bucket, key, _ := strings.Cut(path, "/")
	for name, test := range map[string]struct {
		allowed grant.List
		state   State
		reason  string
	}{
		"is refused by default":                             {nil, one(), v1beta2.ReasonOwnIdentityNotAllowed},
		"is allowed if the list has *":                      {allowing("*", "*"), one(), ""},
		"is allowed if the list has the namespace":          {allowing("ns", "*"), one(), ""},
		"is refused if the list has only another namespace": {allowing("other", "*"), one(), v1beta2.ReasonOwnIdentityNotAllowed},
		"is refused for a Secret without credentials":       {nil, one(named("ca")), v1beta2.ReasonOwnIdentityNotAllowed},
		"is allowed below the prefix":                       {allowing("ns", bucket+"/"), one(), ""},
		"is refused beside the prefix":                      {allowing("ns", bucket+"/"+key+"x/"), one(), v1beta2.ReasonOwnIdentityNotAllowed},
		"is allowed with its own Secret":                    {nil, one(named("keys")), ""},
		"is refused with a Secret beside the prefix":        {allowing("ns", bucket+"/{namespace}/"), one(named("keys")), v1beta2.ReasonPathNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ca, keys)
			w.identity = test.allowed
			w.open = func(ctx context.Context, a connect.Access) (objstore.Store, error) {
				_, err := connect.Open(ctx, a)
				return w.store, err
			}
			r := w.attempt(test.state)
			if test.reason == "" {
				if r.Failure != nil {
					t.Errorf("refused: %+v", r.Failure)
				}
				return
			}
			if r.Failure == nil || r.Failure.Reason != test.reason || !strings.Contains(r.Failure.Message, "backupOperator.ownIdentity") || len(w.saves) > 0 {
				t.Errorf("%+v after %d requests", r.Failure, len(w.saves))
			}
		})
	}
}

var unlisted = &Failure{Reason: v1beta2.ReasonOwnIdentityNotAllowed, Message: "It is not allowed."}

func refusedPath(s *State) { s.Refused = unlisted }

// A series whose next snapshot was hours away showed nothing after the upgrade, and failed in the night.
func TestARefusedPathIsReportedBeforeASnapshotIsDue(t *testing.T) {
	ready := cron("0 3 * * *", refusedPath)
	step, rule := Plan(ready)
	if rule != "pathIsNotAllowed" || step.describe(ready).Requeue != allowedInterval {
		t.Errorf("%s: %+v", rule, step)
	}
	status := NewStatus(ready, step, nil)
	for _, kind := range []string{v1beta2.ConditionStalled, v1beta2.ConditionFailed} {
		if c := meta.FindStatusCondition(status.Conditions, kind); c == nil || c.Status != metav1.ConditionTrue || c.Reason != unlisted.Reason {
			t.Errorf("%s: %+v", kind, c)
		}
	}
	if events := step.describe(ready).Events; len(events) != 1 || events[0].Reason != unlisted.Reason || events[0].Type != corev1.EventTypeWarning {
		t.Errorf("events %+v", events)
	}
	ready.Refused, ready.Status = nil, status
	step, _ = Plan(ready)
	if again := NewStatus(ready, step, nil); meta.IsStatusConditionTrue(again.Conditions, v1beta2.ConditionStalled) {
		t.Errorf("after it was allowed: %+v", again.Conditions)
	}
}

// A right that was taken away left an archiver running, or the condition Archiving true.
func TestNothingIsArchivedCopiedOrTestedAtARefusedPath(t *testing.T) {
	s := cron("0 3 * * *", refusedPath, func(s *State) {
		s.Spec.Continuous = &v1beta2.ContinuousArchive{}
		s.Spec.CopyTo = &v1beta2.CopyTarget{StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "other/k"}}}
		s.Status.Snapshot = &v1beta2.Snapshot{ClusterID: "00000000000000aa"}
	})
	if s.archived() {
		t.Error("an archiver runs")
	}
	if status, reason, _ := s.archiveCondition(s.Status); status != metav1.ConditionFalse || reason != unlisted.Reason {
		t.Errorf("Archiving is %s for %s", status, reason)
	}
	if !s.copyTurn().IsZero() {
		t.Error("it copies from a location that it may not read")
	}
	if _, rule := Plan(s); rule != "pathIsNotAllowed" {
		t.Errorf("the next rule is %s", rule)
	}
}

// The places of an EtcdBackup are judged by the folder of its cluster, so that a folder for all namespaces can be shared.
func TestASeriesIsJudgedByTheFolderOfItsCluster(t *testing.T) {
	s := cron("0 3 * * *")
	s.Target = storage.Location{Provider: v1beta2.StorageS3, Bucket: "b", Key: "shared"}
	for prefix, want := range map[string]bool{"b/shared/{namespace}/": true, "b/shared/": true, "b/{namespace}/": false, "b/share/": false} {
		if refused := s.site(s.Target).refused(nil, allowing("*", prefix)); (refused == nil) != want {
			t.Errorf("%s: %+v", prefix, refused)
		}
	}
}

// A second location that is refused stops no snapshot, so only its condition and this event say it.
func TestARefusedSecondLocationIsAnEventOnce(t *testing.T) {
	s := cron("0 3 * * *", func(s *State) {
		s.Spec.CopyTo = &v1beta2.CopyTarget{StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "other/k"}}}
		s.CopyProblem = unlisted
	})
	step, rule := Plan(s)
	after := NewStatus(s, step, nil)
	if rule == "pathIsNotAllowed" || len(copyEvents(s.Status, after)) != 1 || len(copyEvents(after, after)) != 0 {
		t.Errorf("%s: events %+v, then %+v", rule, copyEvents(s.Status, after), copyEvents(after, after))
	}
	if c := meta.FindStatusCondition(after.Conditions, v1beta2.ConditionCopied); c.Reason != unlisted.Reason {
		t.Errorf("%+v", c)
	}
}
