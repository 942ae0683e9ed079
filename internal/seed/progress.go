package seed

import "github.com/etcd-suite/etcd-operator/api/v1beta2"

// ProgressPort is where the init container tells over plain HTTP how far it is, until it ends: GET of ProgressPath
// yields a Progress as JSON. It is the port of etcd's metrics, on which nobody listens yet in that Pod.
const ProgressPort = v1beta2.MetricsPort

// ProgressPath of the URL.
const ProgressPath = "/progress"

// Progress is how far the init container is. It holds nothing that the EtcdRestore's status does not.
type Progress struct {
	// Percent of the work: the download is its first 70, the restore the rest.
	Percent int32 `json:"percent"`
}
