package command

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/etcdflags"
)

// checks are the feature gates that have members compare their data. Their variables of before 3.6 cannot keep the operator from
// setting the others.
var checks = map[string]bool{"InitialCorruptCheck": true, "CompactHashCheck": true}

// featureGates adds gates to those that the spec sets, by ETCD_FEATURE_GATES or by the variables of before 3.6. These variables are left
// out (etcdEnv), so the flag has them all.
func featureGates(env []corev1.EnvVar, gates ...string) []string {
	if gatesAreElsewhere(env) {
		return nil
	}
	var set []string
	for _, e := range env {
		if e.Name == gatesVariable && e.Value != "" {
			set = strings.Split(e.Value, ",")
		}
	}
	wanted := gatesOf(env)
	for _, gate := range gates {
		wanted = append(wanted, gate+"=true")
	}
	for _, gate := range wanted {
		name, _, _ := strings.Cut(gate, "=")
		if !slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), name+"=") }) {
			set = append(set, gate)
		}
	}
	return []string{"--feature-gates=" + strings.Join(set, ",")}
}

// gatesAreElsewhere reports whether the spec takes its feature gates from another object, so that they are not known here.
func gatesAreElsewhere(env []corev1.EnvVar) bool {
	return slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == gatesVariable && e.ValueFrom != nil })
}

// gatesOf are the feature gates that variables of before 3.6 ask for, such as InitialCorruptCheck=false.
func gatesOf(env []corev1.EnvVar) []string {
	var gates []string
	for _, e := range env {
		flag, known := etcdflags.Of(e.Name)
		if on, err := strconv.ParseBool(e.Value); known && flag.Gate != "" && err == nil && e.ValueFrom == nil {
			gates = append(gates, flag.Gate+"="+strconv.FormatBool(on))
		}
	}
	return gates
}

var gatesVariable = etcdflags.VariableOf("feature-gates")
