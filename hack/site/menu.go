package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// repository is where links to files lead that are no page of the site.
const repository = "https://github.com/etcd-suite/etcd-operator/"

// section is a part of the menu. Its pages are files of the repository.
type section struct {
	Title string
	Files []string
}

// menu is the order of the pages. A test compares it with the files in docs/. The decisions are listed by a page of their own.
var menu = []section{
	{"Start", []string{"docs/README.md", "docs/concepts.md", "docs/glossary.md", "docs/faq.md", "docs/comparison.md"}},
	{"Tutorials", []string{"docs/tutorial-first-cluster.md", "docs/tutorial-tls.md", "docs/tutorial-minio.md", "docs/tutorial-point-in-time.md", "docs/tutorial-second-region.md"}},
	{"Install", []string{"docs/install.md", "charts/etcd-operator/README.md", "docs/production.md", "docs/sizing.md", "docs/security.md", "docs/gitops.md", "docs/migrating-from-coreos.md", "docs/migrating-from-a-statefulset.md"}},
	{"Run clusters", []string{"docs/clients.md", "docs/control-planes.md", "docs/day-2.md", "docs/tls.md", "docs/authentication.md", "docs/kubectl-etcd.md"}},
	{"Back up and restore", []string{"docs/backup.md", "docs/stores.md", "docs/restore.md", "docs/point-in-time-recovery.md", "docs/signatures.md", "docs/disaster-recovery.md"}},
	{"Watch and fix", []string{"docs/monitoring.md", "docs/operations.md", "docs/reasons-cluster.md", "docs/reasons-backup-restore.md", "docs/alerts.md", "docs/performance.md", "docs/defects.md"}},
	{"Look up", []string{"docs/api.md", "docs/reference.md", "docs/adr/README.md"}},
}

// sources returns the files of all pages, in the order of the menu, and the decisions after them.
func sources(root string) ([]string, error) {
	var files []string
	for _, s := range menu {
		files = append(files, s.Files...)
	}
	decisions, err := filepath.Glob(filepath.Join(root, "docs/adr/[0-9]*.md"))
	if err != nil {
		return nil, fmt.Errorf("list the decisions: %w", err)
	}
	for _, file := range decisions {
		files = append(files, "docs/adr/"+filepath.Base(file))
	}
	return files, nil
}

// target is the file of the site for a file of the repository, or nothing if it is on no page.
func target(file string) string {
	if file == "charts/etcd-operator/README.md" {
		return "chart.html"
	}
	below, ok := strings.CutPrefix(file, "docs/")
	switch {
	case !ok:
		return ""
	case path.Base(below) == "README.md":
		return path.Join(path.Dir(below), "index.html")
	case strings.HasSuffix(below, ".md"):
		return strings.TrimSuffix(below, ".md") + ".html"
	case strings.HasPrefix(below, "images/"):
		return below
	}
	return ""
}
