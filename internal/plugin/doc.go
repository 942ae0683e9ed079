// Package plugin holds what the command kubectl etcd decides and prints. Its functions are pure: objects in, a report or a new
// object out. internal/plugin/cli reads and writes Kubernetes.
package plugin
