package operator

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcd-suite/etcd-operator/internal/operator/checkup"
)

// CheckInstallation runs what helm test asks for, if it is the first argument. It returns the exit code of the process.
func CheckInstallation() (code int, asked bool) {
	if len(os.Args) < 2 || os.Args[1] != checkup.Command {
		return 0, false
	}
	return checkup.Main(ctrl.SetupSignalHandler(), leaseLabels(Version)[versionLabel], os.Args[2:], os.Stdout), true
}
