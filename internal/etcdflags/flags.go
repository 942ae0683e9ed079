// Package etcdflags knows the flags of etcd 3.4 to 3.7, each of which a variable of the environment sets, too: whose they are, and
// how another version names them. The API refuses what it refuses, members start with what it lets through, and the manual has it as a
// table.
package etcdflags

import (
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

const prefix = "ETCD_"

// Variable returns the name of the environment variable that sets the flag.
func (f Flag) Variable() string { return VariableOf(f.Name) }

// VariableOf returns the name of the environment variable that sets a flag.
func VariableOf(flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// All returns each flag, in order.
func All() []Flag { return slices.Clone(flags) }

// Of returns the flag that an environment variable sets.
func Of(variable string) (Flag, bool) {
	option, ours := strings.CutPrefix(variable, prefix)
	name := strings.ToLower(strings.ReplaceAll(option, "_", "-"))
	i, found := slices.BinarySearchFunc(flags, name, func(f Flag, name string) int { return strings.Compare(f.Name, name) })
	if !ours || !found || flags[i].Variable() != variable {
		return Flag{}, false
	}
	return flags[i], true
}

// oldest and newest are the minor versions that the table is about.
const oldest, newest = "3.4.0", "3.7.0"

// In reports whether a version of etcd has the flag. A version before or after those of the table has what the nearest one has, and so
// has text that is no version.
func (f Flag) In(version string) bool {
	v, ok := etcdversion.Parse(version)
	if first := etcdversion.MustParse(oldest); ok && v.CompareMinor(first) < 0 {
		v = first
	}
	if last := etcdversion.MustParse(newest); !ok || v.CompareMinor(last) > 0 {
		v = last
	}
	return (f.First == "" || v.CompareMinor(etcdversion.MustParse(f.First+".0")) >= 0) && !f.ended(v)
}

func (f Flag) ended(v etcdversion.Version) bool {
	return f.Last != "" && v.CompareMinor(etcdversion.MustParse(f.Last+".0")) > 0
}

// NameIn returns the name of the option in a version of etcd, and an empty string if that version has no such option.
func (f Flag) NameIn(version string) string {
	if f.In(version) {
		return f.Name
	}
	if f.Renamed == "" {
		return ""
	}
	if next, ok := Of(VariableOf(f.Renamed)); ok && next.In(version) {
		return next.Name
	}
	return ""
}

// Gates reports whether a version of etcd has feature gates.
func Gates(version string) bool {
	gates, _ := Of(VariableOf("feature-gates"))
	return gates.In(version)
}
