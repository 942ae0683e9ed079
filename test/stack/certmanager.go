package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// ErrNoCertManager is returned if the Kubernetes of KUBECONFIG has no cert-manager. StartCertManager installs it only
// in the local Kubernetes.
var ErrNoCertManager = errors.New("cert-manager is not installed")

const certManager = "github.com/cert-manager/cert-manager"

// certManagerCRDs are the CRDs that cert-manager's issuing controllers watch.
var certManagerCRDs = []string{"certificaterequests", "certificates", "clusterissuers", "issuers"}

// StartCertManager starts cert-manager in the local Kubernetes. If KUBECONFIG names another Kubernetes, it only checks
// that cert-manager is installed there, and returns ErrNoCertManager if it is not.
func (s *Stack) StartCertManager(ctx context.Context) error {
	if s.Local == nil {
		if _, err := s.Kubectl(ctx, "get", "crd", "certificates.cert-manager.io"); err != nil {
			return errors.Join(ErrNoCertManager, err)
		}
		return nil
	}
	crds, err := s.certManagerRelease(ctx)
	if err != nil {
		return err
	}
	args := []string{"apply", "--server-side"}
	for _, name := range certManagerCRDs {
		args = append(args, "-f", filepath.Join(crds, "cert-manager.io_"+name+".yaml"))
	}
	if _, err := s.Kubectl(ctx, args...); err != nil {
		return err
	}
	if err := s.established(ctx, "crd/certificates.cert-manager.io", "crd/issuers.cert-manager.io"); err != nil {
		return err
	}
	if err := s.applyManifest(ctx, "cert-manager"); err != nil {
		return err
	}
	_, err = s.Kubectl(ctx, "-n", "cert-manager", "rollout", "status", "deployment/cert-manager", "--timeout", rolloutLimit)
	return err
}

// established waits until the API server serves the new kinds. It retries because kubectl wait fails at once for a CRD
// that has no status yet.
func (s *Stack) established(ctx context.Context, crds ...string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, last = s.Kubectl(ctx, append([]string{"wait", "--for=condition=Established", "--timeout=10s"}, crds...)...)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// certManagerRelease returns the directory of the CRDs in the Go module from which cert-manager is built.
func (s *Stack) certManagerRelease(ctx context.Context) (string, error) {
	out, err := s.run(ctx, "go", "-C", filepath.Join("test", "localkube", "programs", "cert-manager"), "mod", "download", "-json", certManager)
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &module); err != nil {
		return "", fmt.Errorf("find %s: %w", certManager, err)
	}
	return filepath.Join(module.Dir, "deploy", "crds"), nil
}
