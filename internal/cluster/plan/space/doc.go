// Package space decides when members are defragmented and histories compacted, and gives advice if the space quota is too low.
package space
