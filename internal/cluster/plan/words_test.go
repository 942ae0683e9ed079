package plan

import "github.com/etcd-suite/etcd-operator/internal/cluster/plantest"

// The words of plantest without its name, because most lines of these tests use one.

type change = plantest.Change

const (
	guestID        = plantest.GuestID
	guestLabel     = plantest.GuestLabel
	mi             = plantest.Mi
	noClassMessage = plantest.NoClassMessage
	oldID          = plantest.OldID
	pausedMessage  = plantest.PausedMessage
	seedID         = plantest.SeedID
	year           = plantest.Year
)

var (
	accused         = plantest.Accused
	addedAhead      = plantest.AddedAhead
	addressed       = plantest.Addressed
	ahead           = plantest.Ahead
	allOutdated     = plantest.AllOutdated
	aSeed           = plantest.ASeed
	aside           = plantest.Aside
	asked           = plantest.Asked
	begins          = plantest.Begins
	begun           = plantest.Begun
	besideFails     = plantest.BesideFails
	blind           = plantest.Blind
	blockedBy       = plantest.BlockedBy
	budgeted        = plantest.Budgeted
	budgetOf        = plantest.BudgetOf
	certs           = plantest.Certs
	compacted       = plantest.Compacted
	consenting      = plantest.Consenting
	copied          = plantest.Copied
	create          = plantest.Create
	database        = plantest.Database
	defragmentedAgo = plantest.DefragmentedAgo
	defragmentedBy  = plantest.DefragmentedBy
	deniedBy        = plantest.DeniedBy
	ephemeral       = plantest.Ephemeral
	everyImage      = plantest.EveryImage
	failures        = plantest.Failures
	fencedBy        = plantest.FencedBy
	flagRecorded    = plantest.FlagRecorded
	forced          = plantest.Forced
	forcedAgo       = plantest.ForcedAgo
	forcing         = plantest.Forcing
	foreignStopped  = plantest.ForeignStopped
	foreignVoters   = plantest.ForeignVoters
	formed          = plantest.Formed
	fromCertManager = plantest.FromCertManager
	full            = plantest.Full
	gone            = plantest.Gone
	grace           = plantest.Grace
	guest           = plantest.Guest
	hashing         = plantest.Hashing
	hibernating     = plantest.Hibernating
	holds           = plantest.Holds
	initial         = plantest.Initial
	inPods          = plantest.InPods
	kept            = plantest.Kept
	knows           = plantest.Knows
	lacksName       = plantest.LacksName
	leads           = plantest.Leads
	learner         = plantest.Learner
	limited         = plantest.Limited
	lostAnnotation  = plantest.LostAnnotation
	managed         = plantest.Managed
	mayGo           = plantest.MayGo
	members         = plantest.Members
	nameOf          = plantest.NameOf
	nightly         = plantest.Nightly
	noClass         = plantest.NoClass
	noon            = plantest.Noon
	noQuorum        = plantest.NoQuorum
	ofVersion       = plantest.OfVersion
	onNoSpace       = plantest.OnNoSpace
	ontoPods        = plantest.OntoPods
	onVolume        = plantest.OnVolume
	outdated        = plantest.Outdated
	peerURLOf       = plantest.PeerURLOf
	pod             = plantest.Pod
	policy          = plantest.Policy
	quotaEnv        = plantest.QuotaEnv
	recorded        = plantest.Recorded
	refusesOperator = plantest.RefusesOperator
	removable       = plantest.Removable
	removed         = plantest.Removed
	restored        = plantest.Restored
	retained        = plantest.Retained
	running         = plantest.Running
	runs            = plantest.Runs
	seedName        = plantest.SeedName
	servicesFor     = plantest.ServicesFor
	serving         = plantest.Serving
	silent          = plantest.Silent
	size            = plantest.Size
	stateWith       = plantest.StateWith
	staticTLS       = plantest.StaticTLS
	stillRuns       = plantest.StillRuns
	stopped         = plantest.Stopped
	storage         = plantest.Storage
	unlimited       = plantest.Unlimited
	unreadyFor      = plantest.UnreadyFor
	upToDate        = plantest.UpToDate
	user            = plantest.User
	volume          = plantest.Volume
	volumesOf       = plantest.VolumesOf
	voter           = plantest.Voter
	votersOf        = plantest.VotersOf
	with            = plantest.With
	withEnv         = plantest.WithEnv
	withImage       = plantest.WithImage
	withoutPod      = plantest.WithoutPod
	withTLS         = plantest.WithTLS
)
