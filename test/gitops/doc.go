// Package gitops runs the health checks of docs/gitops.md as Argo CD does. It is a module of its own, because it needs an
// interpreter of Lua.
package gitops
