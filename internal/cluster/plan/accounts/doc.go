// Package accounts has the rules about users and roles in etcd, and whether its authentication is on.
package accounts
