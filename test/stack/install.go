package stack

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/test/localkube/cluster"
	"github.com/etcd-suite/etcd-operator/test/localkube/programs"
)

// Namespace and Release are those of the Helm release that Install creates.
const (
	Namespace = "etcd-operator"
	Release   = "etcd-operator"
)

// Tag of the operators' images that Open builds.
const Tag = "dev"

// EtcdVersions maps a program module to the etcd release of its image on the local Kubernetes.
var EtcdVersions = map[string]string{"etcd-3.4": "3.4.15", "etcd-3.5": "3.5.35", "etcd-3.6": "3.6.16", "etcd-3.7": "3.7.3"}

var operators = []string{"cluster-operator", "backup-operator", "restore-operator"}

// LoadImages loads the images that Open builds into the local Kubernetes. On another Kubernetes it does nothing: its nodes
// pull images from registries.
func (s *Stack) LoadImages(ctx context.Context) error {
	if s.Local == nil {
		return nil
	}
	<-s.built
	if s.buildError != nil {
		return s.buildError
	}
	files, err := filepath.Glob(filepath.Join(s.imageDir(), "*.tar"))
	if err != nil {
		return fmt.Errorf("list images: %w", err)
	}
	return s.Local.Load(ctx, files...)
}

// buildImages builds the images of the operators and of those of the named program modules that have one (an etcd, an
// object store, cert-manager).
func (s *Stack) buildImages(ctx context.Context, modules []string) error {
	// Archives of an earlier run would be loaded, too, which takes seconds for each.
	if err := os.RemoveAll(s.imageDir()); err != nil {
		return fmt.Errorf("delete the images of an earlier run: %w", err)
	}
	// Linking takes most of the time, so the programs are kept for the next run.
	linked := filepath.Join(s.root, "dist", "programs-local")
	args := append([]string{"run", "./hack/images", "--out", s.imageDir(), "--linked", linked, "--version", Tag}, operators...)
	for _, name := range modules {
		extra, err := s.imageArgs(name)
		if err != nil {
			return err
		}
		args = append(args, extra...)
	}
	_, err := run(ctx, s.root, os.Environ(), "go", args...)
	return err
}

func (s *Stack) imageDir() string { return filepath.Join(s.root, "dist", "images-local") }

// imageArgs returns the arguments of the image builder for one program module; none if it has no image.
func (s *Stack) imageArgs(name string) ([]string, error) {
	modules, err := programs.Select(name)
	if err != nil {
		return nil, err
	}
	dir, err := s.cache.Dir(modules[0])
	if err != nil {
		return nil, err
	}
	switch name {
	case "versitygw":
		return []string{"--program", "localkube/versitygw:test=" + filepath.Join(dir, "versitygw")}, nil
	case "cert-manager":
		return []string{"--program", "localkube/cert-manager:test=" + filepath.Join(dir, "cert-manager")}, nil
	case "fake-gcs":
		return []string{"--program", "localkube/fake-gcs-server:test=" + filepath.Join(dir, "fake-gcs-server")}, nil
	}
	if version, ok := EtcdVersions[name]; ok {
		return []string{"etcd-" + version + "=" + dir}, nil
	}
	return nil, nil
}

// Install installs or upgrades the chart as a user would, and waits until all three operators are ready. It passes
// further arguments and the environment variable HELM_ARGS to helm unchanged.
func (s *Stack) Install(ctx context.Context, more ...string) error {
	args := []string{
		"upgrade", "--install", Release, "charts/etcd-operator",
		"--namespace", Namespace, "--create-namespace", "--wait", "--timeout", "3m",
	}
	if s.Local != nil {
		digests, err := s.imageDigests()
		if err != nil {
			return err
		}
		args = append(args, "--set", "image.tag="+Tag)
		for component, digest := range digests {
			// The tag stays the same, so only a changed annotation makes Kubernetes replace the Pods of a changed image.
			args = append(args, "--set", component+".podAnnotations.image-digest="+digest)
		}
	}
	args = append(args, strings.Fields(os.Getenv("HELM_ARGS"))...)
	_, err := s.Helm(ctx, append(args, more...)...)
	return err
}

// Uninstall removes the release. It keeps the CRDs, and with them all clusters.
func (s *Stack) Uninstall(ctx context.Context) error {
	_, err := s.Helm(ctx, "uninstall", Release, "--namespace", Namespace, "--wait", "--timeout", "2m")
	return err
}

var indexDigest = regexp.MustCompile(`"digest":\s*"sha256:([0-9a-f]{16})`)

// imageDigests maps each component of the chart to the digest of its image.
func (s *Stack) imageDigests() (map[string]string, error) {
	digests := map[string]string{}
	for _, name := range operators {
		index, err := fileInArchive(filepath.Join(s.imageDir(), name+".tar"), "index.json")
		if err != nil {
			return nil, err
		}
		found := indexDigest.FindSubmatch(index)
		if found == nil {
			return nil, fmt.Errorf("image of %s: no digest in index.json", name)
		}
		digests[strings.Replace(name, "-operator", "Operator", 1)] = "d" + string(found[1])
	}
	return digests, nil
}

// Open builds those of the named programs that are not built, and starts the cluster. The images for LoadImages are built
// while the cluster starts. It writes its progress to out.
func Open(ctx context.Context, out io.Writer, names ...string) (*Stack, error) {
	log.SetLogger(logr.Discard()) // without a logger, controller-runtime prints a stack trace after 30 s
	s := &Stack{out: out}
	var err error
	if os.Getenv("KUBECONFIG") == "" {
		// Report missing packages before the long build, not after it.
		if err := cluster.Require(ctx, func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }); err != nil {
			return nil, err
		}
	}
	if s.cache, err = programs.Open(ctx); err != nil {
		return nil, err
	}
	modules, err := programs.Select(names...)
	if err != nil {
		return nil, err
	}
	if err := s.cache.Build(ctx, out, modules); err != nil {
		return nil, err
	}
	if s.bin, err = s.cache.Bin(); err != nil {
		return nil, err
	}
	if s.root, err = repository(); err != nil {
		return nil, err
	}
	if os.Getenv("KUBECONFIG") == "" {
		s.built = make(chan struct{})
		go func() {
			defer close(s.built)
			s.buildError = s.buildImages(ctx, names)
		}()
	}
	return s, s.connect(ctx)
}
