// Package repair decides about members that do not serve or whose data is wrong: who is waited for, and who is replaced.
package repair
