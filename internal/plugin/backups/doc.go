// Package backups chooses and makes the objects of commands about snapshots: EtcdBackups, EtcdRestores, points and files.
package backups
