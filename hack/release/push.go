package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push sends the images, each as one index of all architectures, and the charts to a registry. It uses the credentials of
// docker login. It writes the digests to a file, so that they can be signed.
func push(ctx context.Context, opts options, stdout io.Writer) error {
	if opts.registry == "" {
		return errors.New("no registry is named: write for example --registry ghcr.io/etcd-suite")
	}
	version, err := chartVersion(filepath.Join(chartDir, "Chart.yaml"))
	if err != nil {
		return err
	}
	r := release{version: version, dir: opts.from}
	if err := r.checkDigests(); err != nil {
		return err
	}
	var digests strings.Builder
	for _, operator := range operators {
		ref := opts.registry + "/" + operator + ":" + version
		digest, err := pushImage(ctx, r.path(r.archive(operator)), ref)
		if err != nil {
			return fmt.Errorf("push %s: %w", ref, err)
		}
		fmt.Fprintf(&digests, "%s/%s %s\n", opts.registry, operator, digest)
	}
	for _, chart := range []string{releaseName, clusterChart} {
		digest, err := r.pushChart(ctx, opts, chart+"-"+version+".tgz")
		if err != nil {
			return err
		}
		fmt.Fprintf(&digests, "%s/charts/%s %s\n", opts.registry, chart, digest)
	}
	if err := os.MkdirAll(filepath.Dir(opts.digests), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(opts.digests, []byte(digests.String()), 0o644); err != nil {
		return err
	}
	fmt.Fprint(stdout, digests.String(), "\nInstall the suite from this registry with:\n\n  ", installCommand(opts.registry, version), "\n")
	return nil
}

// publicRegistry is what the chart pulls from without a value.
const publicRegistry = "ghcr.io/etcd-suite"

// installCommand installs the chart that was pushed, with the values that fit the images that were pushed.
func installCommand(registry, version string) string {
	install := "helm upgrade --install " + releaseName + " oci://" + registry + "/charts/etcd-operator --version " + version +
		" --namespace " + releaseName + " --create-namespace --wait --timeout 5m"
	if registry != publicRegistry {
		install += " --set image.prefix=" + registry
	}
	return install
}

// pushImage pushes the index in an OCI archive and returns its digest.
func pushImage(ctx context.Context, archive, ref string) (string, error) {
	tag, err := name.NewTag(ref)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "release-image-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := extract(archive, dir); err != nil {
		return "", fmt.Errorf("extract %s: %w", archive, err)
	}
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return "", err
	}
	digest, err := onlyIndex(outer, archive)
	if err != nil {
		return "", err
	}
	index, err := outer.ImageIndex(digest)
	if err != nil {
		return "", err
	}
	if err := remote.WriteIndex(tag, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return "", err
	}
	return digest.String(), nil
}

// onlyIndex returns the digest of the one index in an archive.
func onlyIndex(outer v1.ImageIndex, archive string) (v1.Hash, error) {
	list, err := outer.IndexManifest()
	if err != nil {
		return v1.Hash{}, fmt.Errorf("read %s: %w", archive, err)
	}
	if len(list.Manifests) != 1 || !list.Manifests[0].MediaType.IsIndex() {
		return v1.Hash{}, fmt.Errorf("%s must hold one index of several architectures", archive)
	}
	return list.Manifests[0].Digest, nil
}

var pushedDigest = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// pushChart pushes a chart with Helm, which knows its media types, and returns its digest.
func (r release) pushChart(ctx context.Context, opts options, chart string) (string, error) {
	args := []string{"push", r.path(chart), "oci://" + opts.registry + "/charts"}
	if loopback(opts.registry) {
		args = append(args, "--plain-http")
	}
	out, err := command(ctx, opts.helm, args...)
	if err != nil {
		return "", err
	}
	digest := pushedDigest.FindString(string(out))
	if digest == "" {
		return "", fmt.Errorf("helm push reported no digest: %s", out)
	}
	return digest, nil
}

func loopback(registry string) bool {
	host, _, _ := strings.Cut(registry, "/")
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// extract writes the regular files of a tar archive below dir.
func extract(archive, dir string) error {
	in, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer in.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for reader := tar.NewReader(in); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := extractFile(root, header.Name, reader); err != nil {
			return err
		}
	}
}

func extractFile(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	return errors.Join(err, out.Close())
}
