package readme

import (
	"runtime"
	"strings"
)

// A Rule replaces a command that cannot run in the test.
type Rule struct{ Command, By, Why string }

// SecondStore is the address at which the local Kubernetes reaches the S3 server that the test starts on this machine.
const SecondStore = "198.18.255.253:7079"

// PrivateStore is the address of another one, whose certificate is of a private CA.
const PrivateStore = "198.18.255.253:7080"

// Rules are all replacements. A command that no rule names runs as it is written.
var Rules = []Rule{
	{"make images", "make images ARCH=" + runtime.GOARCH, "the nodes run on this machine, so they need its architecture only"},
	{"kind create cluster", ":", "the local Kubernetes replaces kind and runs already"},
	{
		"helm upgrade --install etcd-operator charts/etcd-operator", "helm upgrade --install etcd-operator charts/etcd-operator --set backupOperator.spool.keepFreePercent=1",
		"the nodes share the disk of this machine, which other programs fill",
	},
	{"https://s3.other-region.example.com", "http://" + SecondStore, "an S3 server on this machine, outside of Kubernetes, is the second location"},
	{"https://minio.minio.svc:9000", "https://" + PrivateStore, "an S3 server on this machine with a private CA takes the place of MinIO"},
	{`kind load image-archive "$image"`, `localkube load "$image"`, "the local Kubernetes replaces kind"},
}

// Replace applies the rules to a command and returns the rules that it applied.
func Replace(command string) (string, []Rule) {
	var applied []Rule
	for _, rule := range Rules {
		if strings.Contains(command, rule.Command) {
			command = strings.Replace(command, rule.Command, rule.By, 1)
			applied = append(applied, rule)
		}
	}
	return command, applied
}
