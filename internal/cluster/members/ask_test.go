package members

import (
	"crypto/tls"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/metrics"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// asking is three members, of which some hang.
type asking struct {
	mu    sync.Mutex
	hangs map[string]bool
	dials map[string]int
	login *clustertest.SlowPassword // of the second member
	takes time.Duration
	q     *Questions
}

// newAsking is for a test with a clock of its own.
func newAsking(t *testing.T) *asking {
	t.Helper()
	counted, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &asking{hangs: map[string]bool{}, dials: map[string]int{}}
	t.Cleanup(func() { <-time.After(time.Minute) }) // by the clock of the test: all questions end
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	var membership []etcd.Member
	for _, m := range s.Members {
		membership = append(membership, etcd.Member{ID: m.ID, Name: m.Name, ClientURLs: []string{state.ClientURL(s, m.Name)}})
	}
	a.q = &Questions{Metrics: counted, Wake: make(chan event.GenericEvent, 10), Paces: &view.Memory[queue.Pace]{}, Connections: &Connections{Dial: func(endpoint etcd.Endpoint, _ *tls.Config) (Etcd, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, m := range s.Members {
			if state.ClientURL(s, m.Name) == endpoint.URL {
				a.dials[m.Name]++
				var login *clustertest.SlowPassword
				if m.Name == plantest.NameOf(1) {
					login = a.login
				}
				return clustertest.FakeMember{Takes: a.takes, Password: login, Membership: membership, Hangs: a.hangs[m.Name], Answer: etcd.Status{ClusterID: m.ClusterID, MemberID: m.ID, LeaderID: 1, Version: m.Version}}, nil
			}
		}
		return nil, errors.New("no member")
	}}}
	return a
}

// known are the questions to the members.
func (a *asking) known() *openQuestions {
	return a.q.Memory.Of(types.NamespacedName{Namespace: "ns", Name: "example"}, "uid-example")
}

// pass asks the members once, and returns how long that took.
func (a *asking) pass(t *testing.T) (v *view.View, complete bool, took time.Duration) {
	t.Helper()
	v = &view.View{State: clustertest.State(plantest.Formed), Addresses: map[string]string{}}
	for _, m := range clustertest.State(plantest.Formed, plantest.Members(3)).Members {
		v.Members = append(v.Members, state.Member{Name: m.Name, Incarnation: 1, Volume: m.Volume, Pod: m.Pod, PodReady: true, InService: true})
		v.Addresses[m.Name] = "192.0.2.1"
	}
	begin := time.Now()
	complete = a.q.ObserveEtcd(t.Context(), v)
	return v, complete, time.Since(begin)
}

func (a *asking) hang(name string, hangs bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hangs[name] = hangs
}

// silent runs passes until the operator has recorded that the member hangs.
func (a *asking) silent(t *testing.T, name string) {
	t.Helper()
	a.hang(name, true)
	if _, complete, took := a.pass(t); complete || took > AskTimeout/2 {
		t.Fatalf("the first pass is complete: %t, and took %s", complete, took)
	}
	select {
	case <-a.q.Wake:
	case <-time.After(2 * AskTimeout):
		t.Fatal("the last answer started no pass")
	}
	v, complete, took := a.pass(t)
	if !complete || took > grace {
		t.Fatalf("the second pass is complete: %t, and took %s", complete, took)
	}
	if v.Remembered || v.Members[1].Serving || v.Members[1].Unanswered == "" || !v.Members[0].Serving {
		t.Fatalf("remembered: %t, members: %+v", v.Remembered, v.Members)
	}
}

func TestAMemberThatHangsHoldsAWorkerOnlyForTheGracePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.silent(t, plantest.NameOf(1))
		for range 3 {
			v, complete, took := a.pass(t)
			if !complete || took > grace || v.Members[1].Serving || !v.Remembered {
				t.Errorf("the pass is complete: %t, took %s, remembered: %t, member: %+v", complete, took, v.Remembered, v.Members[1])
			}
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if n := a.dials[plantest.NameOf(1)]; n > 2 {
			t.Errorf("the member that hangs was asked %d times, expected once, and then once at a time apart from the passes", n)
		}
	})
}

// On a busy machine all members answer late. If each such answer starts a pass, which asks again, the machine stays busy.
func TestALateAnswerThatAPassUsedStartsNoOtherPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.takes = (grace + longestWait) / 2
		if v, complete, took := a.pass(t); !complete || took < a.takes || !v.Members[2].Serving {
			t.Fatalf("the pass is complete: %t, and took %s", complete, took)
		}
		select {
		case <-a.q.Wake:
			t.Error("a pass was started")
		case <-time.After(grace):
		}
	})
}

func TestAMemberThatChecksAPasswordSlowlyHoldsAWorkerOnlyForTheGracePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.login = &clustertest.SlowPassword{Never: true}
		for range 3 {
			if _, complete, took := a.pass(t); complete || took > longestWait {
				t.Errorf("the pass is complete: %t, and took %s", complete, took)
			}
		}
		if n := a.login.Tries.Load(); n != 1 {
			t.Errorf("%d logins run at the same time, expected 1", n)
		}
	})
}

func TestAMemberThatHungIsAskedApartAndWakesItsClusterWhenItAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.silent(t, plantest.NameOf(1))
		a.hang(plantest.NameOf(1), false)
		deadline := time.After(AskTimeout / 2) // a pause of AskTimeout would delay each new member
		for woken := false; !woken; {
			a.pass(t)
			select {
			case <-a.q.Wake:
				woken = true
			case <-time.After(50 * time.Millisecond):
			case <-deadline:
				t.Fatal("no pass was started")
			}
		}
		if v, complete, _ := a.pass(t); !complete || !v.Members[1].Serving || v.Remembered {
			t.Errorf("complete: %t, remembered: %t, member: %+v", complete, v.Remembered, v.Members[1])
		}
	})
}

func TestAMemberThatHangsIsAskedAgainIfAStepNeedsItsAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.silent(t, plantest.NameOf(1))
		if v, _, _ := a.pass(t); !v.Remembered {
			t.Fatal("the pass does not plan on an earlier answer")
		}
		a.known().AskAgain()
		if _, complete, _ := a.pass(t); complete {
			t.Error("the next pass did not ask the member that hangs")
		}
		<-a.q.Wake
		if v, complete, _ := a.pass(t); !complete || v.Remembered {
			t.Errorf("after all were asked: complete: %t, remembered: %t", complete, v.Remembered)
		}
	})
}

func TestAnAnswerOfAnEarlierPodIsNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.silent(t, plantest.NameOf(1))
		a.hang(plantest.NameOf(1), false)
		a.known().Questions[plantest.NameOf(1)].address = "192.0.2.9"
		if v, complete, _ := a.pass(t); !complete || !v.Members[1].Serving {
			t.Errorf("complete: %t, member: %+v", complete, v.Members[1])
		}
	})
}

// One member hangs for 2 seconds, and the password check of another one takes 12 seconds. The first answer was too old when
// the second one arrived. So no step was based on both answers, and no lost member was replaced.
func TestTheAnswersOfMembersThatHangForDifferentTimesAreUsedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		hung := func(after time.Duration) *Question {
			q := &Question{address: "192.0.2.1", Done: make(chan struct{}), Hung: true, used: after > 10*time.Second, answered: time.Now().Add(-after), answer: Answer{Err: errors.New("no answer")}}
			close(q.Done)
			return q
		}
		a.known().Questions = map[string]*Question{plantest.NameOf(0): hung(10 * time.Second), plantest.NameOf(1): hung(0)}
		v, complete, _ := a.pass(t)
		if !complete || v.Remembered {
			t.Errorf("complete: %t, remembered: %t, expected that the pass uses both answers", complete, v.Remembered)
		}
		a.known().Questions = map[string]*Question{plantest.NameOf(0): hung(11 * time.Second), plantest.NameOf(1): hung(11 * time.Second)}
		if v, _, _ := a.pass(t); !v.Remembered {
			t.Error("answers that are old are used as if the members had just been asked")
		}
		a.known().Questions = map[string]*Question{plantest.NameOf(0): hung(10 * time.Second), plantest.NameOf(1): hung(10 * time.Second)}
		if v, _, _ := a.pass(t); v.Remembered || !v.Members[0].Serving || !v.Members[1].Serving {
			t.Errorf("answers that are old, and that no pass has used, are used: %+v", v.Members[:2])
		}
	})
}
