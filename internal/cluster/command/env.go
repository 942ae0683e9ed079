package command

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/etcdflags"
)

// Env returns the variables of the spec as a version of etcd takes them, beside the flags that the operator passes. It leaves out
// what is the operator's: an EtcdCluster may have it from before the API refused it. It leaves out what a flag sets, because etcd
// refuses to start with both, also with equal values. An option that the version has under another name gets that name.
func Env(env []corev1.EnvVar, version string, args []string) []corev1.EnvVar {
	set := variablesOf(args)
	says := func(name string) bool {
		return slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == name })
	}
	var kept []corev1.EnvVar
	for _, e := range env {
		flag, known := etcdflags.Of(e.Name)
		switch {
		case set[e.Name], slices.Contains(etcdflags.Own, e.Name), known && flag.Refused != nil && !flag.Refused.Kept, known && isGate(flag, e, env, version):
			continue
		case known && !flag.In(version) && flag.NameIn(version) != "":
			next := etcdflags.VariableOf(flag.NameIn(version))
			if set[next] || says(next) {
				continue
			}
			e.Name = next
		}
		kept = append(kept, e)
	}
	return kept
}

// variablesOf are the variables of the options that arguments set.
func variablesOf(args []string) map[string]bool {
	set := map[string]bool{}
	for _, arg := range args {
		flag, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		set[etcdflags.VariableOf(flag)] = true
	}
	return set
}

// isGate reports whether the flag of the operator for feature gates has the variable's option. etcd refuses to start with both, and
// without the flag no member would check its data.
func isGate(flag etcdflags.Flag, e corev1.EnvVar, env []corev1.EnvVar, version string) bool {
	if flag.Gate == "" || !etcdflags.Gates(version) || gatesAreElsewhere(env) {
		return false
	}
	_, err := strconv.ParseBool(e.Value)
	return err == nil || checks[flag.Gate]
}
