// Package access holds the commands that reach etcd itself: etcdctl in a Pod, certificates and addresses of clients, users, measurements.
package access
