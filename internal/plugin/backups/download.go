package backups

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

// ChooseObject is Choose for a snapshot that is only read. With the name of its EtcdBackup, it may be one that the status does not list any more.
func ChooseObject(cluster, backup, wanted string, all []v1beta2.EtcdBackup) (observed.Saved, error) {
	saved := observed.Snapshots(all)
	if len(saved) == 0 && wanted == "" {
		return observed.Saved{}, fmt.Errorf("there is no snapshot of EtcdCluster %s to download. No file was written. %s. Without a store, a member sends one: kubectl etcd download %s --now",
			cluster, strings.TrimSuffix(NoSnapshot(all, []string{cluster}, false), "."), cluster)
	}
	found, err := Choose(wanted, saved)
	if err == nil || wanted == "" {
		return found, err
	}
	if backup != "" && len(all) == 1 && strings.Contains(wanted, "/") {
		return observed.Saved{Backup: backup, Snapshot: v1beta2.Snapshot{Path: wanted}}, nil
	}
	return observed.Saved{}, fmt.Errorf("no EtcdBackup of EtcdCluster %s lists snapshot %s. No file was written. For one that is not listed, write --backup <name> --snapshot <bucket>/<key>", cluster, wanted)
}

// FileName returns the default name of the file of a snapshot. The file is neither compressed nor encrypted.
func FileName(cluster, object string) string {
	name, _, _ := strings.Cut(path.Base(object), ".db")
	return cluster + "-" + name + ".db"
}

// AtEndpoint returns a storage block with another URL of the store, or the same one for an empty URL.
func AtEndpoint(s v1beta2.Storage, endpoint string) v1beta2.Storage {
	s = *s.DeepCopy()
	switch {
	case endpoint == "":
	case s.S3 != nil:
		s.S3.Endpoint = endpoint
	case s.GCS != nil:
		s.GCS.Endpoint = endpoint
	case s.ABS != nil:
		s.ABS.Endpoint = endpoint
	}
	return s
}

// InsideHint returns what a user can do if a store with that URL is a Service of Kubernetes, which other machines do not reach.
func InsideHint(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || endpoint == "" {
		return ""
	}
	parts := strings.Split(u.Hostname(), ".")
	inside := len(parts) == 1 && parts[0] != "localhost" || len(parts) > 2 && parts[2] == "svc"
	if !inside {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	namespace := ""
	if len(parts) > 1 {
		namespace = " -n " + parts[1]
	}
	return fmt.Sprintf(" The store is a Service of Kubernetes, which your machine may not reach. Forward a port, and name it by --via %s://localhost:9000: kubectl%s port-forward service/%s 9000:%s",
		u.Scheme, namespace, parts[0], port)
}

// Downloaded returns what is known of a snapshot that was downloaded to a file.
func Downloaded(file string, f proof.Fetched, signed bool, width int) string {
	lines := []string{fmt.Sprintf("%s: revision %d, %d keys, %s, format of etcd %s.", file, f.Info.Revision, f.Info.Keys, terminal.Bytes(f.Info.Size), terminal.Or(f.Format()))}
	sum := f.SHA256
	switch {
	case f.Manifest == nil:
		lines = append(lines, "The SHA-256 that etcd wrote at its end is right, and the check of its pages found no fault. It has no manifest to compare it with.")
	case signed:
		lines = append(lines, "Its SHA-256, revision and number of keys are those of the signed manifest, and the check of its pages found no fault.")
	default:
		lines = append(lines, "Its SHA-256, revision and number of keys are those of the manifest, and the check of its pages found no fault.")
	}
	if !f.Encoding.Plain() {
		sum = ""
		if f.Manifest != nil {
			sum = f.Manifest.PlainSHA256
		}
		lines = append(lines, "The object is compressed or encrypted, and the file is not.")
	}
	lines = append(lines, "The file has all keys and values of the cluster in plain text. Only you can read it.")
	for i, line := range lines {
		lines[i] = terminal.Wrap(line, width, 0)
	}
	if sum != "" {
		lines = append(lines, "SHA-256: "+sum)
	}
	return strings.Join(append(lines, fmt.Sprintf("Hash:    %08x (as etcdutl snapshot status %s prints it)", f.Info.Hash, file)), "\n") + "\n"
}
