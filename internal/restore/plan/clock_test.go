package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// A GitOps controller creates an EtcdRestore again that was deleted too early, and it would replace the data of the cluster once more.
func TestNoRestoreExpiresWhileTheClocksDiffer(t *testing.T) {
	ttl := int32(60)
	s := given(func(s *state.State) {
		s.Restore.Spec.TTLSecondsAfterFinished = &ttl
		s.Restore.Status.CompletionTime, s.Restore.Status.Succeeded = &metav1.Time{Time: now.Add(-time.Hour)}, true
		s.Cluster.Status.ClusterID = "00000000000000aa"
	})
	if step := next(s); step != (steps.Expire{}) {
		t.Fatalf("the step is %#v", step)
	}
	s.ClocksDiffer = true
	if step := next(s); step == (steps.Expire{}) {
		t.Error("the EtcdRestore is deleted, although nobody knows whether its time is over")
	}
}

// The clock was ahead when a URL was signed. The URL was renewed only when the time that was stored then had come, and it had expired before
// that. The seed could not read its snapshot.
func TestASignedURLIsRenewedAtOnceIfItsTimeIsTooFarAhead(t *testing.T) {
	for name, test := range map[string]struct {
		ahead time.Duration
		due   bool
	}{
		"it was signed just now":                  {0, false},
		"it was signed by a clock of a day ahead": {24 * time.Hour, true},
	} {
		s := given()
		url := SignedUntil(s.Now.Add(test.ahead), "secret", s.Now.Add(test.ahead+2*time.Hour))
		s.Restore.Status.SignedURL = &url
		if left, needed := s.RenewalIn(); !needed || (left <= 0) != test.due {
			t.Errorf("%s: the renewal is due in %s (needed: %t)", name, left, needed)
		}
	}
}

// storedTimes says for each time in the status of an EtcdRestore what it means if it is ahead of now.
var storedTimes = map[string]string{
	"Conditions.LastTransitionTime": "for people only",
	"StartTime":                     "for people and a metric only",
	"PointInTime.Time":              "the point that was asked for, which is compared with the archive only",
	"LastAttemptTime":               "an attempt has begun, whenever that was",
	"NextTime":                      "the attempt is due",
	"CompletionTime":                "it is kept longer than its time to live",
	"SignedURL.ExpirationTime":      "for people; the time of the renewal is compared with it",
	"SignedURL.RenewalTime":         "the renewal is due",
	"Prefixes.Time":                 "the wait for the safety snapshot is over",
	"Follow.Time":                   "for people only",
	"Follow.UpdateTime":             "it was copied from the EtcdCluster, whose operator changes it when it is due",
	"Follow.Promoted.Time":          "for people only",
	"SafetySnapshot.Time":           "it is compared with the time for which cluster-operator asks, which it corrects",
}

// timesIn finds the paths of a type that lead to a time.
func timesIn(t reflect.Type, path string) []string {
	switch {
	case t == reflect.TypeFor[time.Time](), t == reflect.TypeFor[metav1.Time]():
		return []string{strings.TrimPrefix(path, ".")}
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
		return timesIn(t.Elem(), path)
	case t.Kind() != reflect.Struct:
		return nil
	}
	var found []string
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			next := path + "." + f.Name
			if f.Anonymous {
				next = path
			}
			found = append(found, timesIn(f.Type, next)...)
		}
	}
	return found
}

func TestEachStoredTimeOfARestoreHasAMeaningIfItIsAheadOfNow(t *testing.T) {
	all := timesIn(reflect.TypeFor[v1beta2.EtcdRestoreStatus](), "")
	for _, path := range all {
		if storedTimes[path] == "" {
			t.Errorf("status.%s is a stored time. What does it mean if it is ahead of now? Add it to storedTimes.", path)
		}
	}
	for path := range storedTimes {
		if !slices.Contains(all, path) {
			t.Errorf("status.%s does not exist any more", path)
		}
	}
}
