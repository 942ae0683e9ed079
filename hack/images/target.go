package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// operators are the programs under cmd/ that have an image.
var operators = []string{"cluster-operator", "backup-operator", "restore-operator"}

const (
	etcdRepository = "quay.io/coreos/etcd" // the default of EtcdCluster's spec.repository
	chartFile      = "charts/etcd-operator/Chart.yaml"
)

var (
	etcdTarget = regexp.MustCompile(`^etcd-v?([0-9]+\.[0-9]+\.[0-9]+[-.0-9A-Za-z]*)=(.+)$`)
	tagPattern = regexp.MustCompile(`^[A-Za-z0-9_][-.A-Za-z0-9_]{0,127}$`)
)

type kind int

const (
	operatorImage kind = iota // compiled by this command
	etcdImage                 // equal to upstream's image
	programImage              // any static program
)

// A target is one image to build.
type target struct {
	kind  kind
	name  string   // name of the archive and of the operator
	ref   string   // repository:tag; set for operators once the version is known
	files []string // programs on disk; none for an operator
}

func parseTargets(names, programs []string) ([]target, error) {
	targets := make([]target, 0, len(names)+len(programs))
	for _, name := range names {
		t, err := parseName(name)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	for _, program := range programs {
		t, err := parseProgram(program)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	seen := map[string]bool{}
	for _, t := range targets {
		if seen[t.name] {
			return nil, fmt.Errorf("%s is named twice", t.name)
		}
		seen[t.name] = true
	}
	return targets, nil
}

func parseName(name string) (target, error) {
	if slices.Contains(operators, name) {
		return target{kind: operatorImage, name: name}, nil
	}
	match := etcdTarget.FindStringSubmatch(name)
	if match == nil {
		return target{}, fmt.Errorf("unknown image %q: want %s, or etcd-VERSION=DIR", name, strings.Join(operators, ", "))
	}
	t := target{kind: etcdImage, name: "etcd-" + match[1], ref: etcdRepository + ":v" + match[1]}
	files := []string{"etcd", "etcdctl", "etcdutl"}
	if strings.HasPrefix(match[1], "3.4.") {
		files = files[:2] // etcdutl is part of etcd since 3.5
	}
	for _, file := range files {
		t.files = append(t.files, filepath.Join(match[2], file))
	}
	return t, nil
}

func parseProgram(program string) (target, error) {
	ref, files, found := strings.Cut(program, "=")
	repository, tag := ref, ""
	// A colon before the last slash belongs to a registry's port.
	if i := strings.LastIndex(ref, ":"); i > strings.LastIndex(ref, "/") {
		repository, tag = ref[:i], ref[i+1:]
	}
	if !found || files == "" || repository == "" || !tagPattern.MatchString(tag) {
		return target{}, fmt.Errorf("--program %q: want NAME:TAG=FILE[,FILE]", program)
	}
	return target{
		kind:  programImage,
		name:  repository[strings.LastIndex(repository, "/")+1:] + "-" + tag,
		ref:   qualify(repository) + ":" + tag,
		files: strings.Split(files, ","),
	}, nil
}

// qualify adds the registry to a short name. The kubelet does the same before it looks for an image, so it would not find
// the image under its short name.
func qualify(repository string) string {
	first, _, slash := strings.Cut(repository, "/")
	switch {
	case !slash:
		return "docker.io/library/" + repository
	case strings.ContainsAny(first, ".:") || first == "localhost":
		return repository
	default:
		return "docker.io/" + repository
	}
}

// appVersion returns the version that the chart installs by default, so that images that were built without flags are
// those that the chart uses.
func appVersion(chart string) (string, error) {
	data, err := os.ReadFile(chart)
	if err != nil {
		return "", fmt.Errorf("find the default version (run in the repository's root or set --version): %w", err)
	}
	var meta struct {
		AppVersion string `json:"appVersion"`
	}
	if err := yaml.Unmarshal(data, &meta); err != nil {
		return "", fmt.Errorf("read appVersion of %s: %w", chart, err)
	}
	if !tagPattern.MatchString(meta.AppVersion) {
		return "", fmt.Errorf("appVersion %q of %s is not a valid image tag", meta.AppVersion, chart)
	}
	return meta.AppVersion, nil
}
