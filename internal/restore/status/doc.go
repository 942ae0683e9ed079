// Package status computes the status of an EtcdRestore after a pass.
package status
