package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/status"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// A snapshot that ended the operator was read again at once after each restart, so that the operator never came up.
func TestAnAttemptThatEndedWithTheOperatorCountsForThePause(t *testing.T) {
	s := given()
	pauses := []time.Duration{}
	for range 4 {
		step := next(s)
		if _, reads := step.(steps.Verify); !reads {
			t.Fatalf("%T, want another attempt", step)
		}
		s.Restore.Status = status.New(s, step, nil)
		if s.Restore.Status.LastAttemptTime == nil {
			t.Fatal("the status does not say that the attempt has begun")
		}
		s.Now = s.Now.Add(time.Hour) // the attempt ends the operator after that time
		step = next(s)
		paused, is := step.(steps.Interrupted)
		if !is {
			t.Fatalf("%T after attempt %d", step, s.Restore.Status.Attempts)
		}
		pauses = append(pauses, paused.At.Sub(s.Now))
		s.Restore.Status = status.New(s, step, nil)
		s.Now = paused.At.Add(-time.Second)
		if again, is := next(s).(steps.Interrupted); !is || !again.At.Equal(paused.At) {
			t.Errorf("before the end of the pause: %+v", next(s))
		}
		s.Now = paused.At
	}
	for i, want := range []time.Duration{5, 10, 20, 40} {
		if pauses[i] != want*time.Second {
			t.Errorf("pauses %v", pauses)
		}
	}
}

func TestOnlyAnAttemptThatHasBegunCounts(t *testing.T) {
	recorded := func(s state.State, steps ...steps.Step) state.State {
		for _, step := range steps {
			s.Restore.Status = status.New(s, step, nil)
		}
		return s
	}
	full := given()
	full.Full = true
	ended := recorded(given(), steps.Verify{Source: theSource})
	ended.Proof = state.Proof{Progress: state.ProofFailed, Asked: theSource, Reason: "AccessDenied", Ended: now}
	ended = recorded(ended, steps.Wait{Reason: "AccessDenied", Message: "why", Failure: true})
	ended.Proof = state.Proof{}
	earlier := given()
	earlier.Restore.Status.Attempts = 7
	wrong := given()
	wrong.Restore.Status.NextTime = &metav1.Time{Time: now.Add(24 * time.Hour)}
	for name, c := range map[string]struct {
		state state.State
		pause bool
	}{
		"one that waited for others":                    {recorded(full, steps.Verify{Source: theSource}), false},
		"one that still waited":                         {recorded(full, steps.Verify{Source: theSource}, steps.Verifying{Queued: true}), false},
		"one that waited and has begun":                 {recorded(full, steps.Verify{Source: theSource}, steps.Verifying{}), true},
		"one whose failure is recorded":                 {ended, false},
		"the status of an earlier version":              {earlier, false},
		"a time from a clock that was ahead":            {wrong, false},
		"one that has begun, and its Secret is missing": {recorded(given(), steps.Verify{Source: theSource}, steps.Wait{Reason: "Pending"}), true},
	} {
		if _, pause := next(c.state).(steps.Interrupted); pause != c.pause {
			t.Errorf("%s: %T", name, next(c.state))
		}
	}
}
