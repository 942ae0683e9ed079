package main

import (
	"github.com/etcd-suite/etcd-operator/internal/etcdflags"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// optionRows are the variables of all options of etcd, and whose they are.
func optionRows(string) ([][]string, error) {
	rows := [][]string{{"variable", "etcd", "who sets it"}}
	for _, f := range etcdflags.All() {
		rows = append(rows, []string{code(f.Variable()), versionsOf(f), ownerOf(f)})
	}
	return rows, nil
}

func versionsOf(f etcdflags.Flag) string {
	switch {
	case f.First == "" && f.Last == "":
		return "all"
	case f.Last == "":
		return "since " + f.First
	case f.First == "":
		return "to " + f.Last
	case f.First == f.Last:
		return f.First
	}
	return f.First + " to " + f.Last
}

func ownerOf(f etcdflags.Flag) string {
	switch {
	case f.Refused != nil:
		return "The operator. " + f.Refused.Why + " " + f.Refused.Instead
	case f.Field != "":
		return "You, by " + code("spec."+f.Field) + " or by the variable."
	case f.NoEffect:
		return "etcd ignores it."
	case f.Gate != "":
		return "You. Since 3.6 it is the feature gate " + code(f.Gate) + ", which the operator sets instead."
	case f.Renamed != "":
		return "You. Later versions have " + code(etcdflags.VariableOf(f.Renamed)) + ", which the operator sets instead."
	}
	return "You."
}

// defectRows are the known defects of etcd.
func defectRows(string) ([][]string, error) {
	rows := [][]string{{"releases", "fixed in", "effect", "what the operator does"}}
	for _, d := range etcdversion.Defects() {
		fixed := d.Fixed
		if fixed == "" {
			fixed = "no " + etcdversion.Minor(d.From)
		}
		rows = append(rows, []string{"from " + d.From, fixed, "[" + d.Effect + "](" + d.Source + ")", d.Handled})
	}
	return rows, nil
}
