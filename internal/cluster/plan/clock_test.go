package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// storedTimes says what each time in a State means if it is ahead of now. A field that is missing here fails the test below.
var storedTimes = map[string]string{
	"Now": "the operator's clock",

	"Members.UnreadySince":           "since",
	"Members.GateSince":              "since",
	"Members.BesideSince":            "since",
	"Members.FileSystemPendingSince": "since",
	"Members.AddressSince":           "since",
	"Members.Seed.DoneAt":            "since",
	"SetAside.Since":                 "since",
	"LearnerFailedAt":                "since",
	"PodFailures.LastTime":           "since",
	"ForeignMembers.Since":           "since",
	"SeedReadySince":                 "since",
	"Restore.SeedRefusedTime":        "since",

	"Defragmentation.LastScheduleTime": "since",
	"Defragmented":                     "never",

	"Certificates.SwitchAfter":       "until",
	"Certificates.DropAfter":         "until",
	"Certificates.CheckClientsAfter": "until",

	"Space.CompactedAt":      "itself: compactedAt counts it as long ago",
	"Members.GoneBy":         "itself: Kubernetes sets it ahead; it only makes the operator ask a person or wait",
	"Members.RecoveredAt":    "itself: it identifies a recovery, and is compared only with other times of recoveries",
	"Members.VolumeCreated":  "itself: it is compared only with other times of the API server",
	"Members.EtcdSince":      "Ahead: the clock of a node that is ahead does not count",
	"Members.PodCreated":     "itself: it is compared only with other times of the API server",
	"Members.SilentSince":    "itself: the operator's own observation, which the monotonic clock measures",
	"Members.FailingSince":   "itself: the operator's own observation, which the monotonic clock measures",
	"Members.PublishedSince": "itself: the operator's own observation, which the monotonic clock measures",
	"Held.Until":             "itself: memory of this process; at most 10 minutes",
	"Certificates.Expires":   "itself: for the metric only",

	"Restore.CreationTime":      "itself: it identifies an EtcdRestore",
	"PastRestores.CreationTime": "itself: it identifies an EtcdRestore",
	"PastRestores.Time":         "itself: for people only",
	"Request.Created":           "itself: it identifies an EtcdRestore",
	"Request.SavedFor":          "the request that it answers: only compared with that",
	"Restore.SeedReadyTime":     "itself: it names the request; SeedReadySince counts",
	"Request.Saved.Time":        "itself: safetyIsOld counts the longer of two ages",
	"Recovery.StartedAt":        "itself: it identifies a recovery",
	"LastRecovery.StartedAt":    "itself: it identifies a recovery",

	"Restore.Follow.UpdateTime":            "itself: followed counts it as long ago",
	"Restore.Follow.Time":                  "itself: for people only",
	"Restore.Follow.Promoted.Time":         "itself: for people only",
	"Members.Seed.Promoted.Time":           "itself: for people only",
	"Members.Seed.Following.Time":          "itself: for people only",
	"Members.Seed.Following.UpdateTime":    "itself: it is not set",
	"Members.Seed.Following.Promoted.Time": "itself: it is not set",

	"CancelledSurvivors.StartedAt": "itself: it identifies a recovery",
	"Recovery.ForcedAt":            "itself: whether it is set counts",
	"Recovery.Earlier.StartedAt":   "itself: it identifies a recovery",
}

// timesIn calls found with each path of a type that leads to a time.
func timesIn(t reflect.Type, path string, above []reflect.Type, found func(string)) {
	switch t {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[metav1.Time]():
		found(strings.TrimPrefix(path, "."))
		return
	}
	if slices.Contains(above, t) {
		return
	}
	above = append(slices.Clone(above), t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		timesIn(t.Elem(), path, above, found)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				next := path + "." + f.Name
				if f.Anonymous {
					next = path
				}
				timesIn(f.Type, next, above, found)
			}
		}
	}
}

// fill gives each time in a value, and each pointer, slice and map on the way to one, the same time.
func fill(v reflect.Value, at time.Time, depth int) {
	switch {
	case depth > 8:
		return
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(at))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), at, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), at, depth+1)
	case reflect.Map:
		if v.Type().Elem() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.ValueOf(at))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), at, depth+1)
			}
		}
	}
}

// timeAt returns the time at a path of a value that was filled.
func timeAt(v reflect.Value, path string) time.Time {
	for name := range strings.SplitSeq(path, ".") {
		v = v.FieldByName(name)
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
			if v.Kind() == reflect.Slice {
				v = v.Index(0)
			} else {
				v = v.Elem()
			}
		}
	}
	if v.Kind() == reflect.Map {
		v = v.MapIndex(reflect.Zero(v.Type().Key()))
	}
	if stored, is := v.Interface().(metav1.Time); is {
		return stored.Time
	}
	return v.Interface().(time.Time)
}

func TestEachStoredTimeOfAClusterHasAMeaningIfItIsAheadOfNow(t *testing.T) {
	all := map[string]bool{}
	timesIn(reflect.TypeFor[state.State](), "", nil, func(path string) { all[path] = true })
	for path := range all {
		if storedTimes[path] == "" {
			t.Errorf("State.%s is a stored time. What does it mean if it is ahead of now? Add it to waits or records, and to storedTimes.", path)
		}
	}
	for path := range storedTimes {
		if !all[path] {
			t.Errorf("State.%s does not exist any more", path)
		}
	}
}

// A time that was stored while a clock was a year ahead delayed what counts from it by a year.
func TestATimeThatIsAheadOfNowCountsFromWhenItWasFirstSeen(t *testing.T) {
	var seen clock.Seen
	for _, passed := range []time.Duration{0, time.Minute, time.Hour} {
		var s state.State
		fill(reflect.ValueOf(&s).Elem(), noon.Add(year), 0)
		s.Now, s.ServerAhead, s.Spec.TLS = noon.Add(passed), 0, &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
		certificates.CorrectTimes(&s, &seen)
		for path, meaning := range storedTimes {
			want := noon
			switch meaning {
			case "since":
			case "never":
				want = time.Time{}
			case "until":
				want = noon.Add(state.DefaultCAOverlap)
			default:
				continue
			}
			if got := timeAt(reflect.ValueOf(s), path); !got.Equal(want) {
				t.Errorf("after %s, State.%s is %s, want %s", passed, path, got, want)
			}
		}
	}
}

// The operator's clock was set ahead by 10 minutes while a member restarted. The member seemed not to have answered for 10 minutes, so the
// operator replaced it. All members that restarted at that time were replaced.
func TestAClockThatJumpsReplacesNoMemberThatRestarts(t *testing.T) {
	restarting := func(now time.Time, passed time.Duration) state.State { // the monotonic clock measures what has passed
		return stateWith(formed, members(3), with(1, pod(state.PodRunning), func(m *state.Member) {
			m.Serving, m.Answers, m.PodReady, m.UnreadySince = false, false, false, noon
			m.FailingSince = now.Add(-passed)
		}), func(s *state.State) { s.Now = now })
	}
	for name, test := range map[string]struct{ set, ahead time.Duration }{
		"the operator's clock is set ahead":          {10 * time.Minute, -10 * time.Minute},
		"the operator's clock is set ahead by years": {10 * year, -10 * year},
		"the operator's clock is set back":           {-year, year},
		"the API server's clock is set ahead":        {0, year},
	} {
		var seen clock.Seen
		first := restarting(noon.Add(10*time.Second), 10*time.Second)
		certificates.CorrectTimes(&first, &seen)
		// The monotonic clock measures what passes between the passes. The test has only the wall clock, so the operator is younger.
		seen = clock.Seen{}
		removed := time.Duration(-1)
		for passed := 20 * time.Second; passed < 20*time.Minute; passed += 10 * time.Second {
			s := restarting(noon.Add(test.set+passed), passed)
			certificates.NoteClock(&s, test.ahead)
			certificates.CorrectTimes(&s, &seen)
			if _, is := Plan(s).(steps.RemoveMember); is {
				removed = passed
				break
			}
		}
		if removed < 5*time.Minute || removed > 6*time.Minute {
			t.Errorf("%s: the member is replaced after %s, want a little more than 5 minutes", name, removed)
		}
	}
}

// While the clocks differ, a certificate may be useless: nobody accepts it. So the operator issues none, and says so.
func TestNoCertificateIsIssuedWhileTheClocksDiffer(t *testing.T) {
	managed := func(s *state.State) { s.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}} }
	secure := func(s *state.State) {
		for i := range s.Members {
			s.Members[i].SecurePeer, s.Members[i].SecureClient = true, true
		}
	}
	for name, s := range map[string]state.State{
		"a new cluster needs a CA":            stateWith(managed),
		"a new cluster needs certificates":    stateWith(managed, certs(func(c *state.Certificates) { c.CA.Exists, c.Missing = true, true })),
		"a certificate expires":               stateWith(formed, members(3), managed, secure, certs(func(c *state.Certificates) { c.CA.Exists, c.Due = true, "it expires" })),
		"a CA expires":                        stateWith(formed, members(3), managed, secure, certs(func(c *state.Certificates) { c.CA.Exists, c.CA.ReplaceCause = true, "it expires" })),
		"members trust the new CA":            stateWith(formed, members(3), managed, secure, certs(func(c *state.Certificates) { c.CA.Exists, c.Outdated = true, true })),
		"the previous CA is not used":         stateWith(formed, members(3), managed, secure, certs(func(c *state.Certificates) { c.CA.Exists, c.CA.Previous = true, true })),
		"a Secret with a certificate is lost": stateWith(formed, members(3), managed, secure, certs(func(c *state.Certificates) { c.CA.Exists, c.Missing = true, true })),
	} {
		if step := Plan(s); !certificates.AsksClock(s, step) {
			t.Errorf("%s: the step is %#v", name, step)
		}
		for _, ahead := range []time.Duration{-year, -2 * time.Minute, 2 * time.Minute, year} {
			differs := s
			certificates.NoteClock(&differs, ahead)
			if wait, is := Plan(differs).(steps.Wait); !is || wait.Reason != v1beta2.ReasonClockSkew || !wait.Stalled {
				t.Errorf("%s: the API server is %s ahead, and the step is %#v", name, ahead, Plan(differs))
			}
		}
		agrees := s
		certificates.NoteClock(&agrees, 30*time.Second)
		if !reflect.DeepEqual(Plan(agrees), Plan(s)) {
			t.Errorf("%s: the clocks differ by 30 s, and the step is %#v", name, Plan(agrees))
		}
	}
}
