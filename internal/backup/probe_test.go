package backup

import (
	"context"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestTheAnswerHasTheErrorOfAnUnreachableEndpoint(t *testing.T) {
	answers := probe(t.Context(), []string{"http://127.0.0.1:1", "http://name.invalid:2379"}, access{})
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
	if a := probe(ctx, []string{"http://" + listener.Addr().String()}, access{})[0]; a.Err == nil {
		t.Error("a listener that says nothing passed for a member")
	}
}

// Defect 20: the connection to the member with the highest revision was never closed when another endpoint failed.
func TestAFailedEndpointLeavesNoConnectionOpen(t *testing.T) {
	probe(t.Context(), []string{"http://127.0.0.1:1"}, access{}) // whatever starts once
	before := runtime.NumGoroutine()
	for range 20 {
		probe(t.Context(), []string{"http://127.0.0.1:1", "127.0.0.1:2"}, access{})
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, and %d before", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
	}
}
