package etcdflags

import (
	"strings"
)

// Rule is a rule of validation in CEL for one variable of spec.pod.etcdEnv.
type Rule struct{ Rule, Message string }

// Rules refuse the variables of flags that are the operator's: one rule for each reason.
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
