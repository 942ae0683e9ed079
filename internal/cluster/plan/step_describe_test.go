package plan

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

func TestEvents(t *testing.T) {
	s := stateWith(formed, members(3))
	stalled := steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "quorum is lost", Stalled: true}
	warning := func(reason, action, note string, about planning.Object) []planning.Event {
		return []planning.Event{{Type: corev1.EventTypeWarning, Reason: reason, Action: action, Note: note, About: about}}
	}
	remove := steps.RemoveMember{Name: "m", Cause: state.LostData}
	tests := map[string]struct {
		step    steps.Step
		err     error
		changed bool
		want    []planning.Event
	}{
		"a step that was carried out is announced": {
			step: remove,
			want: []planning.Event{{
				Type: corev1.EventTypeNormal, Reason: "ReplacingMember", Action: v1beta2.ReasonReplacingMember,
				Note: steps.Describe(s, remove).Message, About: planning.Pod("m"),
			}},
		},
		"a stalled wait is announced when the status changes": {
			step: stalled, changed: true,
			want: warning(v1beta2.ReasonQuorumLost, "Wait", "quorum is lost", planning.Object{}),
		},
		"a stalled wait is not announced again":   {step: stalled},
		"a wait that ends by itself has no event": {step: steps.Wait{Message: "for a Pod"}, changed: true},
		"a cluster that is ready has no event":    {step: steps.Done{}, changed: true},
		"a failed restore is a warning":           {step: steps.FailRestore{Message: seedFailed}, want: warning("RestoreFailed", "Restore", seedFailed, planning.Object{})},
		"an error is announced when the status changes": {
			step: steps.Done{}, err: errors.New("no"), changed: true,
			want: warning(v1beta2.ReasonReconcileError, "Reconcile", "no", planning.Object{}),
		},
		"an error names the member that the step was about": {
			step: remove, err: errors.New("no"), changed: true,
			want: warning(v1beta2.ReasonReconcileError, "Reconcile", "no", planning.Pod("m")),
		},
		"the same error is not announced again": {step: steps.Done{}, err: errors.New("no")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Events(s, test.step, test.err, test.changed)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// everyStep has a step of each type. A step about one member or volume names it m.
var everyStep = []steps.Step{
	steps.ChangeAccounts{What: "add user m"}, steps.AnnounceAccounts{Users: 1}, steps.WriteUserCertificates{What: "user m: it expires"}, steps.AnnounceUserCertificates{Users: 1}, steps.RequestUserCertificates{What: "user m"}, steps.WithdrawUserCertificates{What: "user m"},
	steps.ApplyMetadata{Kind: "Secret", Name: "s"}, steps.AwaitSafetySnapshot{},
	steps.AddLearner{Name: "m"}, steps.AddToService{Name: "m"}, steps.AdoptSeed{}, steps.ApplyBudget{}, steps.ApplyNetworkPolicy{}, steps.ApplyServices{}, steps.AwaitResize{Message: "grows"}, steps.FenceWrites{ID: 1}, steps.UnfenceWrites{ID: 1}, steps.BeginBootstrap{},
	steps.AwaitSafetySnapshot{}, steps.BeginRemoval{Voter: "m", Name: "m"}, steps.BeginRecovery{Member: "m"}, steps.BeginRestore{}, steps.BeginSwitch{}, steps.ReturnToSeeding{}, steps.CancelDowngrade{}, steps.CancelRecovery{}, steps.CompactHistory{}, steps.CompleteRecovery{},
	steps.CompleteRestore{}, steps.CreateCA{}, steps.CreateMember{Name: "m"}, steps.CreateMembers{}, steps.CreateVolumes{}, steps.DefragmentMember{Name: "m", Reason: v1beta2.ReasonDefragmenting},
	steps.DeletePod{Name: "m", Reason: v1beta2.ReasonScaling}, steps.DeleteVolume{Name: "m", Reason: v1beta2.ReasonScaling}, steps.DisarmAlarm{Reason: v1beta2.ReasonNoSpace}, steps.Done{},
	steps.EnableDowngrade{}, steps.EndDefragmentation{}, steps.EndDefragmentation{Late: true}, steps.FailRestore{Message: seedFailed}, steps.ForceDeletePod{Name: "m"}, steps.ForceDeletePod{Name: "m", Stopped: true},
	steps.Hibernating{Message: "hibernates"}, steps.Idle{Reason: v1beta2.ReasonPaused, Message: "paused"}, steps.KeepVolume{Name: "m"}, steps.SetAsideVolume{Name: "m"}, steps.KeepVolume{Name: "m", Keep: true},
	steps.LoadCertificates{Name: "m"}, steps.MoveLeader{From: "m"}, steps.PromoteLearner{Name: "m"}, steps.PromoteStandby{Name: "m"}, steps.RecordForced{}, steps.RecordForcing{Member: "m"}, steps.RecordFormed{}, steps.RecordPromotion{Name: "m"}, steps.RemoveFromService{Name: "m"}, steps.RemoveMember{Name: "guest", Cause: "it is foreign", Foreign: true}, steps.RecordVersionChange{},
	steps.RelabelPod{Name: "m"}, steps.ForbidEmptyStart{Name: "m"}, steps.UnmarkVolume{Name: "m"}, steps.ReleaseMember{Name: "m"}, steps.RemoveMember{Name: "m"}, steps.RemoveMember{Name: "m", Cause: state.LostData}, steps.RemovePreviousCA{}, steps.HandOutCA{Cause: "it has none"}, steps.ReplaceCA{}, steps.RequestCertificates{},
	steps.RestoreLabels{Name: "m"}, steps.RestoreLabels{Name: "m", Volume: true},
	steps.ResizePod{Name: "m"}, steps.ResizeVolume{Name: "m"}, steps.StopMembers{}, steps.StopMembers{Except: 1}, steps.Advice{Reason: v1beta2.ReasonVersionNotAdvised, Message: "old"}, steps.VolumeMayFill{Name: "m", Message: "may fill"}, steps.Wait{Reason: v1beta2.ReasonSettling, Message: "waiting"}, steps.WithdrawBudget{}, steps.WithdrawNetworkPolicy{},
	steps.WriteCertificates{}, steps.WriteCertificates{Switch: true},
}

func TestEveryStepTypeIsAmongThoseThatAreTested(t *testing.T) {
	tested := map[string]bool{}
	for _, step := range everyStep {
		tested[reflect.TypeOf(step).Name()] = true
	}
	declared := stepTypes(t)
	for _, name := range declared {
		if !tested[name] {
			t.Errorf("everyStep has no %s", name)
		}
	}
	if len(declared) != len(tested) {
		t.Errorf("%d step types in the source, %d in everyStep", len(declared), len(tested))
	}
}

// gochecksumtype reports the same, minutes later.
func TestActHasACaseForEveryStep(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../act/act.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	handled := map[string]bool{}
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); !ok || f.Name.Name != "Act" {
			continue
		}
		ast.Inspect(declaration, func(node ast.Node) bool {
			if c, ok := node.(*ast.CaseClause); ok {
				for _, expression := range c.List {
					if s, ok := expression.(*ast.SelectorExpr); ok {
						handled[s.Sel.Name] = true
					}
				}
			}
			return true
		})
	}
	for _, name := range stepTypes(t) {
		if !handled[name] {
			t.Errorf("act has no case for %s", name)
		}
	}
}

// stepTypes are the names of all types of the package with a method describe.
func stepTypes(t *testing.T) []string {
	files, err := filepath.Glob("steps/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			if method, ok := declaration.(*ast.FuncDecl); ok && method.Recv != nil && method.Name.Name == "describe" {
				names = append(names, method.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	return names
}

func TestEveryStepDescribesItself(t *testing.T) {
	for _, step := range everyStep {
		d := steps.Describe(stateWith(), step)
		if d.Message == "" || d.Reason == "" || d.Requeue <= 0 {
			t.Errorf("%T is described as %+v", step, d)
		}
	}
}

func TestAnEventAboutOneMemberNamesItsPodOrVolume(t *testing.T) {
	for _, step := range everyStep {
		value := reflect.ValueOf(step)
		name := value.FieldByName("Name")
		if from := value.FieldByName("From"); from.IsValid() && value.FieldByName("To").IsValid() {
			name = from
		}
		if !name.IsValid() || name.String() != "m" {
			continue
		}
		for _, event := range steps.Describe(stateWith(formed, members(3)), step).Events {
			if event.About != planning.Pod("m") && event.About != planning.Volume("m") {
				t.Errorf("%T is about %+v", step, event.About)
			}
		}
	}
}
