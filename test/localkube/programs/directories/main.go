// Directory-provisioner makes the volumes of the local Kubernetes: directories on the disks of its nodes. All of these disks
// are mounted on this machine. So it needs no Pod for each volume, which other provisioners of local volumes start twice.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// provisionerName is in the StorageClass.
const provisionerName = "localkube/directories"

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file to connect with")
	disks := flag.String("disks", "", "path of a node's disk on this machine; %s stands for the node's name")
	path := flag.String("path", "", "path of its disk on the node")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, directories{disks: *disks, path: *path}); err != nil {
		fmt.Fprintln(os.Stderr, "directory-provisioner:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string, d directories) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = 100, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect with %s: %w", kubeconfig, err)
	}
	controller.NewProvisionController(ctx, client, provisionerName, d,
		controller.LeaderElection(false), controller.Threadiness(8), controller.FailedProvisionThreshold(0), controller.FailedDeleteThreshold(0),
		controller.RateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, 10*time.Second)),
	).Run(ctx)
	return nil
}

// directories are volumes.
type directories struct{ disks, path string }

// Provision creates a directory on the disk of the node that the scheduler chose.
func (d directories) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	if o.SelectedNodeName == "" {
		return nil, controller.ProvisioningFinished, fmt.Errorf("no node is chosen for volume %s", o.PVName)
	}
	directory := d.onThisMachine(o.SelectedNodeName, o.PVName)
	if err := os.Mkdir(directory, 0o777); err != nil && !os.IsExist(err) {
		return nil, controller.ProvisioningFinished, fmt.Errorf("create volume %s: %w", o.PVName, err)
	}
	if err := os.Chmod(directory, 0o777); err != nil { // whatever the umask
		return nil, controller.ProvisioningFinished, fmt.Errorf("open volume %s to all users: %w", o.PVName, err)
	}
	node := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{o.SelectedNodeName}}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: o.PVC.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: filepath.Join(d.path, o.PVName)}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{node}}},
			}},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete removes the directory. A stopped node does not prevent that.
func (d directories) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	for _, term := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
		node := term.MatchExpressions[0].Values[0]
		if err := os.RemoveAll(d.onThisMachine(node, volume.Name)); err != nil {
			return fmt.Errorf("delete volume %s: %w", volume.Name, err)
		}
	}
	return nil
}

func (d directories) onThisMachine(node, volume string) string {
	return filepath.Join(fmt.Sprintf(d.disks, node), volume)
}
