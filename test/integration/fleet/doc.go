// Package fleet runs many EtcdClusters on one machine: a real kube-apiserver and the real program of cluster-operator, with
// a faked kubelet and faked etcd members. One process answers for all members, each of which has a loopback address.
package fleet
