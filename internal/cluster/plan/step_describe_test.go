package plan

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

func TestEvents(t *testing.T) {
	s := state(formed, members(3))
	stalled := Wait{Reason: v1beta2.ReasonQuorumLost, Message: "quorum is lost", Stalled: true}
	warning := func(reason, action, note string, about planning.Object) []planning.Event {
		return []planning.Event{{Type: corev1.EventTypeWarning, Reason: reason, Action: action, Note: note, About: about}}
	}
	remove := RemoveMember{Name: "m", Cause: lostData}
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

// everyStep is one of each type, named m if it is about one member or volume.
var everyStep = []Step{
	AddLearner{Name: "m"}, AddToService{Name: "m"}, AdoptSeed{}, ApplyBudget{}, ApplyServices{}, AwaitResize{Message: "grows"}, BeginBootstrap{},
	BeginRecovery{Member: "m"}, BeginRestore{}, BeginSwitch{}, CancelDowngrade{}, CancelRecovery{}, CompactHistory{}, CompleteRecovery{},
	CompleteRestore{}, CreateCA{}, CreateMember{Name: "m"}, CreateMembers{}, CreateVolumes{}, DefragmentMember{Name: "m", Reason: v1beta2.ReasonDefragmenting},
	DeletePod{Name: "m", Reason: v1beta2.ReasonScaling}, DeleteVolume{Name: "m", Reason: v1beta2.ReasonScaling}, DisarmAlarm{Reason: v1beta2.ReasonNoSpace}, Done{},
	EnableDowngrade{}, EndDefragmentation{}, EndDefragmentation{Late: true}, FailRestore{Message: seedFailed}, ForceDeletePod{Name: "m"},
	Hibernating{Message: "hibernates"}, Idle{Reason: v1beta2.ReasonPaused, Message: "paused"}, KeepVolume{Name: "m"}, SetAsideVolume{Name: "m"}, KeepVolume{Name: "m", Keep: true},
	LoadCertificates{Name: "m"}, MoveLeader{From: "m"}, PromoteLearner{Name: "m"}, RecordForced{}, RecordFormed{}, RecordVersionChange{},
	RelabelPod{Name: "m"}, RemoveMember{Name: "m"}, RemoveMember{Name: "m", Cause: lostData}, RemovePreviousCA{}, ReplaceCA{}, RequestCertificates{},
	ResizeVolume{Name: "m"}, StopMembers{}, StopMembers{Except: 1}, Wait{Reason: v1beta2.ReasonSettling, Message: "waiting"}, WithdrawBudget{},
	WriteCertificates{}, WriteCertificates{Switch: true},
}

func TestEveryStepTypeIsAmongThoseThatAreTested(t *testing.T) {
	tested := map[string]bool{}
	for _, step := range everyStep {
		tested[reflect.TypeOf(step).Name()] = true
	}
	source := func(info fs.FileInfo) bool { return !strings.HasSuffix(info.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), ".", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range packages["plan"].Files {
		for _, declaration := range file.Decls {
			method, ok := declaration.(*ast.FuncDecl)
			if !ok || method.Recv == nil || method.Name.Name != "describe" {
				continue
			}
			found++
			if name := method.Recv.List[0].Type.(*ast.Ident).Name; !tested[name] {
				t.Errorf("everyStep has no %s", name)
			}
		}
	}
	if found != len(tested) {
		t.Errorf("%d step types in the source, %d in everyStep", found, len(tested))
	}
}

func TestEveryStepDescribesItself(t *testing.T) {
	for _, step := range everyStep {
		d := Describe(state(), step)
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
		for _, event := range Describe(state(formed, members(3)), step).Events {
			if event.About != planning.Pod("m") && event.About != planning.Volume("m") {
				t.Errorf("%T is about %+v", step, event.About)
			}
		}
	}
}
