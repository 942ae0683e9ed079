package ask

import (
	"context"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func TestTheAnswerHasTheErrorOfAnUnreachableEndpoint(t *testing.T) {
	answers := Members(t.Context(), []string{"http://127.0.0.1:1", "http://name.invalid:2379"}, Access{})
	for i, want := range []string{"connection refused", "name.invalid"} {
		if answers[i].Err == nil || !strings.Contains(answers[i].Err.Error(), want) {
			t.Errorf("%s: %v, want %q", answers[i].URL, answers[i].Err, want)
		}
	}
}

func TestAMemberThatHangsDoesNotDelayTheOthers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if a := Members(ctx, []string{"http://" + listener.Addr().String()}, Access{})[0]; a.Err == nil {
		t.Error("a listener that says nothing passed for a member")
	}
}

// Defect 20: the connection to the member with the highest revision was never closed when another endpoint failed.
func TestAFailedEndpointLeavesNoConnectionOpen(t *testing.T) {
	Members(t.Context(), []string{"http://127.0.0.1:1"}, Access{}) // whatever starts once
	before := runtime.NumGoroutine()
	for range 20 {
		Members(t.Context(), []string{"http://127.0.0.1:1", "127.0.0.1:2"}, Access{})
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, and %d before", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
	}
}

// Each member reports the alarms of all members. Without this order, a snapshot may be taken from the corrupt member. A snapshot that a
// restore replaces the cluster with has nothing newer behind it, so a corrupt member is better than none.
func TestTheBestMemberIsNotCorruptNotTheLeaderAndHasTheHighestRevision(t *testing.T) {
	s := etcd.Status{MemberID: 10, Errors: []string{"memberID:11 alarm:CORRUPT ", "memberID:10 alarm:NOSPACE "}}
	if s.Corrupt() {
		t.Error("another member has the alarm")
	}
	if s.MemberID = 11; !s.Corrupt() {
		t.Error("the member has the alarm")
	}
	corrupt := Answer{URL: "a", Status: etcd.Status{MemberID: 11, Errors: s.Errors, Revision: 9}}
	leader := Answer{URL: "b", Status: etcd.Status{MemberID: 12, LeaderID: 12, Revision: 8}}
	behind := Answer{URL: "c", Status: etcd.Status{MemberID: 13, LeaderID: 12, Revision: 6}}
	ahead := Answer{URL: "d", Status: etcd.Status{MemberID: 14, LeaderID: 12, Revision: 7}}
	answers := []Answer{corrupt, leader, behind, ahead}
	for _, want := range []string{"d", "c", "b", "a"} {
		best := Best(answers)
		if best.URL != want {
			t.Fatalf("the best member is %s, want %s", best.URL, want)
		}
		answers = slices.DeleteFunc(answers, func(a Answer) bool { return a.URL == want })
	}
}
