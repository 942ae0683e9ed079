package status

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// sizeText is the size of a snapshot for people, such as "1.2 GiB". It is empty without a snapshot.
func sizeText(snapshot *v1beta2.Snapshot) string {
	if snapshot == nil {
		return ""
	}
	const step = 1024
	size, unit := float64(snapshot.Size), 0
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for size >= step && unit < len(units)-1 {
		size, unit = size/step, unit+1
	}
	if unit == 0 || size >= 100 {
		return fmt.Sprintf("%.0f %s", size, units[unit])
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}
