package plan

import "github.com/etcd-suite/etcd-operator/internal/cluster/plantest"

// The words of plantest without its name, because most lines of these tests use one.

type change = plantest.Change

const (
	oldID  = plantest.OldID
	seedID = plantest.SeedID
)

var (
	begun           = plantest.Begun
	blockedBy       = plantest.BlockedBy
	budgetOf        = plantest.BudgetOf
	certs           = plantest.Certs
	damaged         = plantest.Damaged
	ephemeral       = plantest.Ephemeral
	formed          = plantest.Formed
	fromCertManager = plantest.FromCertManager
	gone            = plantest.Gone
	grace           = plantest.Grace
	initial         = plantest.Initial
	joining         = plantest.Joining
	justAdded       = plantest.JustAdded
	learner         = plantest.Learner
	managed         = plantest.Managed
	members         = plantest.Members
	nameOf          = plantest.NameOf
	noClass         = plantest.NoClass
	noQuorum        = plantest.NoQuorum
	noon            = plantest.Noon
	ofVersion       = plantest.OfVersion
	onVolume        = plantest.OnVolume
	peerURLOf       = plantest.PeerURLOf
	pod             = plantest.Pod
	policy          = plantest.Policy
	removed         = plantest.Removed
	secure          = plantest.Secure
	servicesFor     = plantest.ServicesFor
	silent          = plantest.Silent
	size            = plantest.Size
	stateWith       = plantest.StateWith
	stillRuns       = plantest.StillRuns
	unreadyFor      = plantest.UnreadyFor
	volume          = plantest.Volume
	voter           = plantest.Voter
	with            = plantest.With
	withImage       = plantest.WithImage
	withTLS         = plantest.WithTLS
	withoutPod      = plantest.WithoutPod
)
