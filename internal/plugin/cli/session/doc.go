// Package session is what all commands of kubectl etcd share: the streams, the connection to Kubernetes, questions, tables, and how a command
// follows what it has asked for.
package session
