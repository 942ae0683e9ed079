package cluster

import (
	"crypto/tls"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// asking is three members, of which some hang.
type asking struct {
	mu    sync.Mutex
	hangs map[string]bool
	dials map[string]int
	login *slowLogin // of the second member
	takes time.Duration
	r     *Reconciler
	known *remembered
}

// newAsking is for a test with a clock of its own.
func newAsking(t *testing.T) *asking {
	t.Helper()
	counted, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &asking{hangs: map[string]bool{}, dials: map[string]int{}, known: &remembered{}}
	t.Cleanup(func() { <-time.After(time.Minute) }) // by the clock of the test: all questions end
	s := state(formed, members(3))
	var membership []etcd.Member
	for _, m := range s.Members {
		membership = append(membership, etcd.Member{ID: m.ID, Name: m.Name, ClientURLs: []string{s.ClientURL(m.Name)}})
	}
	a.r = &Reconciler{metrics: counted, wake: make(chan event.GenericEvent, 10), Dial: func(endpoint etcd.Endpoint, _ *tls.Config) (Etcd, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, m := range s.Members {
			if s.ClientURL(m.Name) == endpoint.URL {
				a.dials[m.Name]++
				var login *slowLogin
				if m.Name == nameOf(1) {
					login = a.login
				}
				return speaking{takes: a.takes, login: login, membership: membership, hangs: a.hangs[m.Name], status: etcd.Status{ClusterID: m.ClusterID, MemberID: m.ID, LeaderID: 1, Version: m.Version}}, nil
			}
		}
		return nil, errors.New("no member")
	}}
	return a
}

// pass asks the members once, and returns how long that took.
func (a *asking) pass(t *testing.T) (v *view, complete bool, took time.Duration) {
	t.Helper()
	v = &view{State: state(formed), addresses: map[string]string{}, known: a.known}
	for _, m := range state(formed, members(3)).Members {
		v.Members = append(v.Members, plan.Member{Name: m.Name, Incarnation: 1, Volume: m.Volume, Pod: m.Pod, PodReady: true, InService: true})
		v.addresses[m.Name] = "192.0.2.1"
	}
	begin := time.Now()
	complete = a.r.observeEtcd(t.Context(), v)
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
	if _, complete, took := a.pass(t); complete || took > askTimeout/2 {
		t.Fatalf("the first pass is complete: %t, and took %s", complete, took)
	}
	select {
	case <-a.r.wake:
	case <-time.After(2 * askTimeout):
		t.Fatal("the last answer started no pass")
	}
	v, complete, took := a.pass(t)
	if !complete || took > grace {
		t.Fatalf("the second pass is complete: %t, and took %s", complete, took)
	}
	if v.remembered || v.Members[1].Serving || v.Members[1].Unanswered == "" || !v.Members[0].Serving {
		t.Fatalf("remembered: %t, members: %+v", v.remembered, v.Members)
	}
}

func TestAMemberThatHangsHoldsAWorkerOnlyForTheGracePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.silent(t, nameOf(1))
		for range 3 {
			v, complete, took := a.pass(t)
			if !complete || took > grace || v.Members[1].Serving || !v.remembered {
				t.Errorf("the pass is complete: %t, took %s, remembered: %t, member: %+v", complete, took, v.remembered, v.Members[1])
			}
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if n := a.dials[nameOf(1)]; n > 2 {
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
		case <-a.r.wake:
			t.Error("a pass was started")
		case <-time.After(grace):
		}
	})
}

func TestAMemberThatChecksAPasswordSlowlyHoldsAWorkerOnlyForTheGracePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.login = &slowLogin{never: true}
		for range 3 {
			if _, complete, took := a.pass(t); complete || took > longestWait {
				t.Errorf("the pass is complete: %t, and took %s", complete, took)
			}
		}
		if n := a.login.tries.Load(); n != 1 {
			t.Errorf("%d logins run at the same time, expected 1", n)
		}
	})
}

func TestAMemberThatHungIsAskedApartAndWakesItsClusterWhenItAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.silent(t, nameOf(1))
		a.hang(nameOf(1), false)
		deadline := time.After(askTimeout / 2) // a pause of askTimeout would delay each new member
		for woken := false; !woken; {
			a.pass(t)
			select {
			case <-a.r.wake:
				woken = true
			case <-time.After(50 * time.Millisecond):
			case <-deadline:
				t.Fatal("no pass was started")
			}
		}
		if v, complete, _ := a.pass(t); !complete || !v.Members[1].Serving || v.remembered {
			t.Errorf("complete: %t, remembered: %t, member: %+v", complete, v.remembered, v.Members[1])
		}
	})
}

func TestNoMemberIsRemovedOnARememberedAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.silent(t, nameOf(1))
		v, _, _ := a.pass(t)
		remove := plan.RemoveMember{ID: 1, Name: nameOf(1)}
		for _, step := range []plan.Step{remove, plan.DeletePod{Name: nameOf(0)}, plan.MoveLeader{}, plan.BeginRecovery{}, plan.CreateMember{Start: plan.StartForce}} {
			if err := v.confirmAsked(step); !errors.Is(err, errRemembered) {
				t.Errorf("%T: %v, expected an error", step, err)
			}
		}
		for _, step := range []plan.Step{plan.CreateMember{Start: plan.StartRejoin}, plan.AddToService{}, plan.Done{}, plan.Wait{}} {
			if err := v.confirmAsked(step); err != nil {
				t.Errorf("%T: %v", step, err)
			}
		}
		a.known.askAgain()
		if _, complete, _ := a.pass(t); complete {
			t.Error("the next pass did not ask the member that hangs")
		}
		<-a.r.wake
		v, complete, _ := a.pass(t)
		if err := v.confirmAsked(remove); !complete || err != nil {
			t.Errorf("after all were asked: complete: %t, %v", complete, err)
		}
	})
}

func TestAnAnswerOfAnEarlierPodIsNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.silent(t, nameOf(1))
		a.hang(nameOf(1), false)
		a.known.questions[nameOf(1)].address = "192.0.2.9"
		if v, complete, _ := a.pass(t); !complete || !v.Members[1].Serving {
			t.Errorf("complete: %t, member: %+v", complete, v.Members[1])
		}
	})
}

// The operator created the Pod only after the last member's read had timed out, after 2 seconds.
func TestADeletedPodIsReplacedWhileTheOtherMembersHang(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*view)
		created bool
	}{
		"two members hang, and the Pod of the third one is deleted": {change: func(v *view) { v.Members[2].Pod = plan.PodNone }, created: true},
		"all three members hang":                                    {change: func(*view) {}},
		"the third member was removed from the cluster": {change: func(v *view) {
			v.Members[2].Pod, v.KnownVoters = plan.PodNone, v.KnownVoters[:2]
		}},
		"the Pod and the volume of the third member are missing": {change: func(v *view) { v.Members[2].Pod, v.Members[2].Volume = plan.PodNone, plan.VolumeNone }},
		"the cluster has not formed":                             {change: func(v *view) { v.Members[2].Pod, v.ClusterID = plan.PodNone, "" }},
		"the cluster is paused":                                  {change: func(v *view) { v.Members[2].Pod, v.Spec.Paused = plan.PodNone, true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newAsking(t)
				r, v := beside(t)
				r.metrics, r.wake, r.Dial, r.Events = a.r.metrics, a.r.wake, a.r.Dial, events.NewFakeRecorder(10)
				v.State = state(formed)
				for i, m := range state(formed, members(3)).Members {
					a.hang(m.Name, true)
					v.Members = append(v.Members, plan.Member{Name: m.Name, Incarnation: 1, Volume: m.Volume, Pod: m.Pod, PodReady: true, InService: true})
					v.addresses[m.Name] = "192.0.2.1"
					v.KnownVoters = append(v.KnownVoters, v.Members[i].Name)
				}
				c.change(v)
				if r.observeEtcd(t.Context(), v) {
					t.Fatal("members that hang have answered")
				}
				if err := r.createMissing(t.Context(), v); err != nil {
					t.Fatal(err)
				}
				var pods corev1.PodList
				if err := r.Client.List(t.Context(), &pods); err != nil {
					t.Fatal(err)
				}
				if created := len(pods.Items) == 1; created != c.created {
					step, rule := plan.Choose(v.State)
					t.Errorf("created %d Pods, the plan is %T %+v of %s", len(pods.Items), step, step, rule)
				}
			})
		})
	}
}

// One member hangs for 2 seconds, and the password check of another one takes 12 seconds. The first answer was too old when
// the second one arrived. So no step was based on both answers, and no lost member was replaced.
func TestTheAnswersOfMembersThatHangForDifferentTimesAreUsedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		hung := func(after time.Duration) *question {
			q := &question{address: "192.0.2.1", done: make(chan struct{}), hung: true, used: after > 10*time.Second, answered: time.Now().Add(-after), answer: answer{err: errors.New("no answer")}}
			close(q.done)
			return q
		}
		a.known.questions = map[string]*question{nameOf(0): hung(10 * time.Second), nameOf(1): hung(0)}
		v, complete, _ := a.pass(t)
		if !complete || v.remembered {
			t.Errorf("complete: %t, remembered: %t, expected that the pass uses both answers", complete, v.remembered)
		}
		a.known.questions = map[string]*question{nameOf(0): hung(11 * time.Second), nameOf(1): hung(11 * time.Second)}
		if v, _, _ := a.pass(t); !v.remembered {
			t.Error("answers that are old are used as if the members had just been asked")
		}
		a.known.questions = map[string]*question{nameOf(0): hung(10 * time.Second), nameOf(1): hung(10 * time.Second)}
		if v, _, _ := a.pass(t); v.remembered || !v.Members[0].Serving || !v.Members[1].Serving {
			t.Errorf("answers that are old, and that no pass has used, are used: %+v", v.Members[:2])
		}
	})
}
