package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/etcd-suite/etcd-operator/internal/backup"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
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
		rows = append(rows, flagsOf(of.name, flags)...)
	}
	return rows, nil
}

// pluginRows are the flags of kubectl etcd.
func pluginRows(string) ([][]string, error) {
	root := cli.New(session.IO{}, "dev")
	rows := append([][]string{{"command", "flag", "default", "meaning"}}, flagsOf("all", root.PersistentFlags())...)
	var add func(*cobra.Command)
	add = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			rows = append(rows, flagsOf(strings.TrimPrefix(sub.CommandPath(), root.CommandPath()+" "), sub.LocalNonPersistentFlags())...)
			add(sub)
		}
	}
	add(root)
	return rows, nil
}

// flagsOf returns a row for each flag.
func flagsOf(name string, flags *pflag.FlagSet) [][]string {
	var rows [][]string
	flags.VisitAll(func(f *pflag.Flag) {
		value := strings.Trim(f.DefValue, "[]")
		if value != "" {
			value = code(value)
		}
		rows = append(rows, []string{name, code("--" + f.Name), value, f.Usage})
	})
	return rows
}
