// Package restore decides how a verified EtcdRestore becomes the cluster: it fills a seed, proves it, fences and stops the old members, switches
// the clients, and goes back if that is not possible.
package restore
