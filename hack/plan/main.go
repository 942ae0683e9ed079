// Command plan reads a State of cluster-operator as JSON, prints the step that the planner takes from it, and the
// steps ahead if nothing else happens:
//
//	go run ./hack/plan < state.json
//
// cluster-operator logs the State of each pass at --log-level=debug; a whole line of that log will do.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/model"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "plan:", err)
		os.Exit(1)
	}
}

// planned is one step in words for people and for programs.
type planned struct {
	Step    string    `json:"step"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Detail  plan.Step `json:"detail"`
}

// answer is what is printed.
type answer struct {
	Next planned `json:"next"`
	// Ahead are the steps that follow in a world where every Pod starts and every learner catches up.
	Ahead []planned `json:"ahead"`
	// Violations are invariants that those steps would break: a bug of the planner.
	Violations []string `json:"violations,omitempty"`
}

func run(in io.Reader, out io.Writer) error {
	s, err := read(in)
	if err != nil {
		return fmt.Errorf("read the State from standard input: %w", err)
	}
	said := answer{Next: describe(s, plan.Plan(s)), Ahead: []planned{}}
	w := model.From(s)
	last := said.Next
	w.Run(func(s plan.State) plan.Step {
		step := plan.Plan(s)
		if now := describe(s, step); !reflect.DeepEqual(now, last) {
			said.Ahead, last = append(said.Ahead, now), now
		}
		return step
	})
	said.Violations = w.Violations
	printer := json.NewEncoder(out)
	printer.SetEscapeHTML(false)
	printer.SetIndent("", "  ")
	return printer.Encode(said)
}

// read takes a State, or anything that has one under the key "state".
func read(in io.Reader) (plan.State, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return plan.State{}, err
	}
	var line struct {
		State json.RawMessage `json:"state"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return plan.State{}, err
	}
	if len(line.State) > 0 {
		text = line.State
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var s plan.State
	return s, decoder.Decode(&s)
}

func describe(s plan.State, step plan.Step) planned {
	return planned{
		Step:    reflect.TypeOf(step).Name(),
		Reason:  plan.Describe(s, step).Reason,
		Message: plan.Describe(s, step).Message,
		Detail:  step,
	}
}
