// Package moving decides how kubectl etcd migrate moves the clients of a running etcd to a new EtcdCluster: which objects that needs, how far it is, what
// to ask, and whether both sides have the same data.
package moving
