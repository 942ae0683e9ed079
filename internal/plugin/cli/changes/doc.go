// Package changes holds the commands that change an EtcdCluster or suspend an EtcdBackup. internal/plugin decides what is written.
package changes
