package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/etcd-suite/etcd-operator/internal/backup"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/restore"
)

// flagRows are the flags of all operators.
func flagRows(string) ([][]string, error) {
	rows := [][]string{{"operator", "flag", "default", "meaning"}}
	for _, of := range []struct {
		name string
		add  func(*pflag.FlagSet)
	}{
		{"all", func(f *pflag.FlagSet) { (&operator.Options{}).AddFlags(f); operator.AddVersionFlag(f) }},
		{cluster.Name, (&cluster.Options{}).AddFlags},
		{backup.Name, (&backup.Options{}).AddFlags},
		{restore.Name, (&restore.Flags{}).AddFlags},
	} {
		flags := pflag.NewFlagSet(of.name, pflag.ContinueOnError)
		of.add(flags)
		flags.VisitAll(func(f *pflag.Flag) {
			value := strings.Trim(f.DefValue, "[]")
			if value != "" {
				value = code(value)
			}
			rows = append(rows, []string{of.name, code("--" + f.Name), value, f.Usage})
		})
	}
	return rows, nil
}
