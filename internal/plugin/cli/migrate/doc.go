// Package migrate holds the command that moves the clients of a running etcd to a new EtcdCluster.
package migrate
