// Command plan reads a State of cluster-operator as JSON. It prints the planner's next step, and the steps after it if no
// other events happen:
//
//	go run ./hack/plan < state.json
//
// With --log-level=debug, cluster-operator logs the State of each pass. The command also accepts a line of that log.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func main() {
	if err := simulate(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "plan:", err)
		os.Exit(1)
	}
}

// planned is one step, as text and as data.
type planned struct {
	Step    string     `json:"step"`
	Reason  string     `json:"reason"`
	Message string     `json:"message"`
	Detail  steps.Step `json:"detail"`
}

// answer is the output of the command.
type answer struct {
	Next planned `json:"next"`
	// Ahead are the following steps if all Pods start and all learners catch up.
	Ahead []planned `json:"ahead"`
	// Violations are invariants that these steps would break. Each is a bug in the planner.
	Violations []string `json:"violations,omitempty"`
}

func simulate(in io.Reader, out io.Writer) error {
	s, err := read(in)
	if err != nil {
		return fmt.Errorf("read the State from standard input: %w", err)
	}
	said := answer{Next: describe(s, plan.Plan(s)), Ahead: []planned{}}
	w := observe.From(s)
	last := said.Next
	run.Run(w, func(s state.State) steps.Step {
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

// read reads a State, or an object with a State under the key "state".
func read(in io.Reader) (state.State, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return state.State{}, err
	}
	var line struct {
		State json.RawMessage `json:"state"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return state.State{}, err
	}
	if len(line.State) > 0 {
		text = line.State
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var s state.State
	return s, decoder.Decode(&s)
}

func describe(s state.State, step steps.Step) planned {
	return planned{
		Step:    reflect.TypeOf(step).Name(),
		Reason:  steps.Describe(s, step).Reason,
		Message: steps.Describe(s, step).Message,
		Detail:  step,
	}
}
