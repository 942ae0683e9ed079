package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

func fresh() state.State {
	return state.State{Namespace: "ns", Name: "example", UID: "uid", Spec: v1beta2.EtcdClusterSpec{Size: 1, Version: "3.6.16"}}
}

// answerTo runs the command with given as JSON.
func answerTo(t *testing.T, given any) (next string, ahead []string) {
	t.Helper()
	in, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := simulate(strings.NewReader(string(in)), &out); err != nil {
		t.Fatal(err)
	}
	type step struct{ Step, Message string }
	var answer struct {
		Next       step
		Ahead      []step
		Violations []string
	}
	if err := json.Unmarshal([]byte(out.String()), &answer); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if len(answer.Violations) > 0 || answer.Next.Message == "" {
		t.Errorf("answer: %s", out.String())
	}
	for _, s := range answer.Ahead {
		ahead = append(ahead, s.Step)
	}
	return answer.Next.Step, ahead
}

func TestPlanPrintsTheStepsAhead(t *testing.T) {
	want := "CreateVolumes BeginBootstrap CreateMembers ApplyBudget RecordFormed ApplyServices Done"
	t.Run("of a State", func(t *testing.T) {
		next, ahead := answerTo(t, fresh())
		if next != "ApplyServices" || strings.Join(ahead, " ") != want {
			t.Errorf("next %s, ahead %v, want ApplyServices and %s", next, ahead, want)
		}
	})
	t.Run("of a line of the operator's log", func(t *testing.T) {
		next, ahead := answerTo(t, map[string]any{"msg": "planned", "level": "debug", "state": fresh()})
		if next != "ApplyServices" || strings.Join(ahead, " ") != want {
			t.Errorf("next %s, ahead %v, want ApplyServices and %s", next, ahead, want)
		}
	})
}

func TestPlanRejectsInvalidInput(t *testing.T) {
	for name, in := range map[string]string{"nothing": "", "no JSON": "state", "no State": `{"members": 3}`} {
		t.Run(name, func(t *testing.T) {
			if err := simulate(strings.NewReader(in), &strings.Builder{}); err == nil {
				t.Error("the input was accepted as a State")
			}
		})
	}
}
