// Package edit makes the changes that commands ask for in an EtcdCluster or EtcdBackup, and follows them until they are done.
package edit
