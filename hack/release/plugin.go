package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"sigs.k8s.io/yaml"
)

// pluginPlatforms are those that kubectl etcd is released for.
const pluginPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// kubectl completes the words of a plugin by a program of this name. On Windows, it is a copy of the plugin.
const (
	completer  = "kubectl_complete-etcd"
	completion = "#!/bin/sh\nexec kubectl-etcd __complete \"$@\"\n"
)

// A krewPlugin is a manifest of Krew, the package manager for plugins of kubectl.
type krewPlugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       krewSpec          `json:"spec"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

// plugin compiles kubectl etcd for each platform, packs it with the license, and writes the Krew manifest etcd.yaml.
func (r release) plugin(ctx context.Context, opts options) error {
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	manifest := r.krew()
	for _, platform := range strings.Split(opts.platforms, ",") {
		system, arch, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("--plugin-platforms has %q: write it as linux/amd64", platform)
		}
		program, err := r.compilePlugin(ctx, system, arch)
		if err != nil {
			return err
		}
		bin := pluginProgram(system)
		files := []file{{name: bin, content: program}, {name: "LICENSE", content: license}}
		if system != "windows" {
			files = append(files, file{name: completer, content: []byte(completion)})
		}
		packed, err := zip(files, r.time, bin, completer)
		if err != nil {
			return err
		}
		name := r.pluginArchive(system, arch)
		if err := r.write(name, packed); err != nil {
			return err
		}
		manifest.add(system, arch, r.version, name, packed)
	}
	raw, err := yaml.Marshal(manifest)
	if err != nil {
		return err
	}
	return r.write("etcd.yaml", raw)
}

// compilePlugin returns the program for one platform. That of this machine is run, to see its version.
func (r release) compilePlugin(ctx context.Context, system, arch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "release-plugin-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, pluginProgram(system))
	flags := "-s -w -X github.com/etcd-suite/etcd-operator/internal/operator.Version=" + r.version
	// env sets GOOS only for this command, and the same GOFLAGS as for all builds share the cache.
	if _, err := command(ctx, "env", "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", flags, "-o", path, "./cmd/kubectl-etcd"); err != nil {
		return nil, fmt.Errorf("compile kubectl-etcd for %s/%s: %w", system, arch, err)
	}
	if system == runtime.GOOS && arch == runtime.GOARCH {
		out, err := command(ctx, path, "--version")
		if err != nil {
			return nil, err
		}
		if want := "kubectl etcd version " + r.version; strings.TrimSpace(string(out)) != want {
			return nil, fmt.Errorf("kubectl-etcd reports %q, but the release is %q", strings.TrimSpace(string(out)), want)
		}
	}
	return os.ReadFile(path)
}

func pluginProgram(system string) string {
	if system == "windows" {
		return "kubectl-etcd.exe"
	}
	return "kubectl-etcd"
}

func (r release) pluginArchive(system, arch string) string {
	return "kubectl-etcd-" + r.version + "-" + system + "-" + arch + ".tar.gz"
}

// krew returns the manifest without its platforms. Krew wants a v before the version.
func (r release) krew() *krewPlugin {
	return &krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "etcd"},
		Spec: krewSpec{
			Version: "v" + r.version, Homepage: repositoryURL, ShortDescription: "Show and change etcd clusters on Kubernetes",
			Description: "Shows what is wrong with an EtcdCluster, what it means and what to do.\n" +
				"It also takes and restores snapshots, upgrades, hibernates, pauses, defragments,\n" +
				"and shows the logs of all members merged by time. It needs the operators of\n" + repositoryURL + ".\n",
		},
	}
}

func (k *krewPlugin) add(system, arch, version, archive string, content []byte) {
	sum := sha256.Sum256(content)
	platform := krewPlatform{
		URI: repositoryURL + "/releases/download/v" + version + "/" + archive, SHA256: hex.EncodeToString(sum[:]), Bin: pluginProgram(system),
	}
	platform.Selector.MatchLabels = map[string]string{"os": system, "arch": arch}
	k.Spec.Platforms = append(k.Spec.Platforms, platform)
}
