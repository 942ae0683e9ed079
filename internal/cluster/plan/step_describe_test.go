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
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

func TestEvents(t *testing.T) {
	s := stateWith(formed, members(3))
	stalled := Wait{Reason: v1beta2.ReasonQuorumLost, Message: "quorum is lost", Stalled: true}
	warning := func(reason, action, note string, about planning.Object) []planning.Event {
		return []planning.Event{{Type: corev1.EventTypeWarning, Reason: reason, Action: action, Note: note, About: about}}
	}
	remove := RemoveMember{Name: "m", Cause: state.LostData}
	tests := map[string]struct {
		step    Step
		err     error
		changed bool
		want    []planning.Event
	}{
		"a step that was carried out is announced": {
			step: remove,
			want: []planning.Event{{
				Type: corev1.EventTypeNormal, Reason: "ReplacingMember", Action: v1beta2.ReasonReplacingMember,
				Note: Describe(s, remove).Message, About: planning.Pod("m"),
			}},
		},
		"a stalled wait is announced when the status changes": {
			step: stalled, changed: true,
			want: warning(v1beta2.ReasonQuorumLost, "Wait", "quorum is lost", planning.Object{}),
		},
		"a stalled wait is not announced again":   {step: stalled},
		"a wait that ends by itself has no event": {step: Wait{Message: "for a Pod"}, changed: true},
		"a cluster that is ready has no event":    {step: Done{}, changed: true},
		"a failed restore is a warning":           {step: FailRestore{Message: seedFailed}, want: warning("RestoreFailed", "Restore", seedFailed, planning.Object{})},
		"an error is announced when the status changes": {
			step: Done{}, err: errors.New("no"), changed: true,
			want: warning(v1beta2.ReasonReconcileError, "Reconcile", "no", planning.Object{}),
		},
		"an error names the member that the step was about": {
			step: remove, err: errors.New("no"), changed: true,
			want: warning(v1beta2.ReasonReconcileError, "Reconcile", "no", planning.Pod("m")),
		},
		"the same error is not announced again": {step: Done{}, err: errors.New("no")},
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
var everyStep = []Step{
	ApplyMetadata{Kind: "Secret", Name: "s"}, AwaitSafetySnapshot{},
	AddLearner{Name: "m"}, AddToService{Name: "m"}, AdoptSeed{}, ApplyBudget{}, ApplyNetworkPolicy{}, ApplyServices{}, AwaitResize{Message: "grows"}, FenceWrites{ID: 1}, UnfenceWrites{ID: 1}, BeginBootstrap{},
	AwaitSafetySnapshot{}, BeginRemoval{Voter: "m", Name: "m"}, BeginRecovery{Member: "m"}, BeginRestore{}, BeginSwitch{}, ReturnToSeeding{}, CancelDowngrade{}, CancelRecovery{}, CompactHistory{}, CompleteRecovery{},
	CompleteRestore{}, CreateCA{}, CreateMember{Name: "m"}, CreateMembers{}, CreateVolumes{}, DefragmentMember{Name: "m", Reason: v1beta2.ReasonDefragmenting},
	DeletePod{Name: "m", Reason: v1beta2.ReasonScaling}, DeleteVolume{Name: "m", Reason: v1beta2.ReasonScaling}, DisarmAlarm{Reason: v1beta2.ReasonNoSpace}, Done{},
	EnableDowngrade{}, EndDefragmentation{}, EndDefragmentation{Late: true}, FailRestore{Message: seedFailed}, ForceDeletePod{Name: "m"}, ForceDeletePod{Name: "m", Stopped: true},
	Hibernating{Message: "hibernates"}, Idle{Reason: v1beta2.ReasonPaused, Message: "paused"}, KeepVolume{Name: "m"}, SetAsideVolume{Name: "m"}, KeepVolume{Name: "m", Keep: true},
	LoadCertificates{Name: "m"}, MoveLeader{From: "m"}, PromoteLearner{Name: "m"}, RecordForced{}, RecordForcing{Member: "m"}, RecordFormed{}, RecordPromotion{Name: "m"}, RemoveFromService{Name: "m"}, RemoveMember{Name: "guest", Cause: "it is foreign", Foreign: true}, RecordVersionChange{},
	RelabelPod{Name: "m"}, ForbidEmptyStart{Name: "m"}, UnmarkVolume{Name: "m"}, ReleaseMember{Name: "m"}, RemoveMember{Name: "m"}, RemoveMember{Name: "m", Cause: state.LostData}, RemovePreviousCA{}, ReplaceCA{}, RequestCertificates{},
	RestoreLabels{Name: "m"}, RestoreLabels{Name: "m", Volume: true},
	ResizePod{Name: "m"}, ResizeVolume{Name: "m"}, StopMembers{}, StopMembers{Except: 1}, Advice{Reason: v1beta2.ReasonVersionNotAdvised, Message: "old"}, VolumeMayFill{Name: "m", Message: "may fill"}, Wait{Reason: v1beta2.ReasonSettling, Message: "waiting"}, WithdrawBudget{}, WithdrawNetworkPolicy{},
	WriteCertificates{}, WriteCertificates{Switch: true},
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
	files, err := filepath.Glob("*.go")
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
		d := Describe(stateWith(), step)
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
		for _, event := range Describe(stateWith(formed, members(3)), step).Events {
			if event.About != planning.Pod("m") && event.About != planning.Volume("m") {
				t.Errorf("%T is about %+v", step, event.About)
			}
		}
	}
}
