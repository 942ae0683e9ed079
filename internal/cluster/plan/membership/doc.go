// Package membership decides who is a member: how a cluster forms, who is added, promoted and removed, and what is done about foreign members.
package membership
