package etcdflags

import (
	"strings"
)

// Rule is a rule of validation in CEL for one variable of spec.pod.etcdEnv.
type Rule struct{ Rule, Message string }

// Own are the variables that the operator sets in the container of etcd. They decide whether a member may start without its data, and where
// its data is. The kubelet takes the last variable of a name, which would be that of the spec.
var Own = []string{"MEMBER_ADDED", "MEMBER_DATA_REQUIRED", "MEMBER_INITIAL_CLUSTER"}

var ownVariables = &Refusal{
	Why:     "With these variables, the operator decides when a member starts and whether it may start without its data.",
	Instead: "Remove the variable.",
}

// Rules refuse the variables that are the operator's: one rule for each reason.
func Rules() []Rule {
	var order []*Refusal
	names := map[*Refusal][]string{}
	for _, f := range flags {
		if f.Refused == nil {
			continue
		}
		if names[f.Refused] == nil {
			order = append(order, f.Refused)
		}
		names[f.Refused] = append(names[f.Refused], f.Variable())
	}
	order, names[ownVariables] = append(order, ownVariables), Own
	var rules []Rule
	for _, refused := range order {
		variables := names[refused]
		rules = append(rules, Rule{
			Rule:    "!(self.name in ['" + strings.Join(variables, "', '") + "'])",
			Message: list(variables) + " cannot be set. " + refused.Why + " " + strings.TrimSuffix(refused.Instead, "."),
		})
	}
	return rules
}

// Marker returns the rule as a comment for controller-gen.
func (r Rule) Marker() string {
	return `// +kubebuilder:validation:items:XValidation:rule="` + r.Rule + `",message="` + r.Message + `"`
}

func list(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
