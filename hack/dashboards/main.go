// Dashboards writes the dashboards of the chart for Grafana, with the types of Grafana's own schema.
//
//	go run . ../../charts/etcd-operator/files/dashboards
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run . FOLDER")
		os.Exit(1)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

// boards are the dashboards by the names of their files.
func boards() map[string]board {
	return map[string]board{"cluster.json": clusterBoard(), "fleet.json": fleetBoard(), "backups.json": backupsBoard()}
}

func write(folder string) error {
	for name, b := range boards() {
		made, err := b.build()
		if err != nil {
			return fmt.Errorf("dashboard %s: %w", name, err)
		}
		content, err := encode(made)
		if err != nil {
			return fmt.Errorf("dashboard %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return fmt.Errorf("dashboard %s: %w", name, err)
		}
	}
	return nil
}

// encode keeps <, > and & of queries readable.
func encode(d dashboard.Dashboard) ([]byte, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var generic any
	if err := json.Unmarshal(raw, &generic); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err = encoder.Encode(generic)
	return out.Bytes(), err
}
