package models

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The golden files of the contract have every field; the Java client reads the same ones.
const goldenFiles = "../../contract/src/test/resources/golden/*.json"

var goldenModels = map[string]any{
	"DaemonConfigurationModel":       &DaemonConfiguration{},
	"DaemonStatusModel":              &DaemonStatus{},
	"DebugInformationModel":          &DebugInformation{},
	"EndpointBatchDeleteRequest":     &EndpointBatchDeleteRequest{},
	"EndpointChangeRequest":          &EndpointChangeRequest{},
	"EndpointConfigurationModel":     &EndpointConfiguration{},
	"EndpointConfigurationSpecModel": &EndpointConfigurationSpec{},
	"EndpointHealthModel":            &EndpointHealth{},
	"EndpointLabelsModel":            &EndpointLabels{},
	"EndpointLogEntryModel":          &EndpointLogEntry{},
	"EndpointModel":                  &Endpoint{},
	"IdentityInUseModel":             &IdentityInUse{},
	"IdentityModel":                  &Identity{},
	"IpamAllocationModel":            &IPAMAllocation{},
	"LabelConfigurationModel":        &LabelConfiguration{},
	"MapContentsModel":               &MapContents{},
	"MapListModel":                   &MapList{},
	"MetricModel":                    &Metric{},
	"ModuleHealthModel":              &ModuleHealth{},
	"NodeAddressingModel":            &NodeAddressing{},
	"NodeListModel":                  &NodeList{},
	"PolicyModel":                    &Policy{},
	"PolicyResolutionModel":          &PolicyResolution{},
	"PolicyResolutionRequest":        &PolicyResolutionRequest{},
	"FqdnLookupModel":                &FqdnLookup{},
	"PrefilterListModel":             &PrefilterList{},
	"PrefilterModel":                 &Prefilter{},
	"RuleModel":                      &Rule{},
	"SelectorModel":                  &Selector{},
	"ServiceModel":                   &Service{},
	"ServiceSpecModel":               &ServiceSpec{},
}

func TestGoldenFilesAreReadAndWrittenWhole(t *testing.T) {
	files, err := filepath.Glob(goldenFiles)
	if err != nil || len(files) < 20 {
		t.Fatalf("%d golden files in %s: %v", len(files), goldenFiles, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			model, known := goldenModels[name]
			if !known {
				t.Fatal("there is no model of this golden file")
			}
			golden, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			decoder := json.NewDecoder(bytes.NewReader(golden))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(model); err != nil {
				t.Fatal(err)
			}
			assertComplete(t, name, reflect.ValueOf(model).Elem())
			encoded, err := json.Marshal(model)
			if err != nil {
				t.Fatal(err)
			}
			if want, got := canonical(t, golden), canonical(t, encoded); want != got {
				t.Errorf("golden file and written model differ\nwant %s\ngot  %s", want, got)
			}
		})
	}
}

func canonical(t *testing.T, text []byte) string {
	t.Helper()
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(sorted)
}

// assertComplete finds fields that the golden file does not have.
func assertComplete(t *testing.T, path string, value reflect.Value) {
	t.Helper()
	switch value.Kind() {
	case reflect.Struct:
		for i := 0; i < value.NumField(); i++ {
			assertComplete(t, path+"."+value.Type().Field(i).Name, value.Field(i))
		}
	case reflect.Pointer:
		if value.IsNil() {
			t.Errorf("%s is not in the golden file", path)
			return
		}
		assertComplete(t, path, value.Elem())
	case reflect.Slice:
		if value.Len() == 0 {
			t.Errorf("%s is not in the golden file", path)
		}
		for i := 0; i < value.Len(); i++ {
			assertComplete(t, path+"[]", value.Index(i))
		}
	case reflect.String, reflect.Map:
		if value.Len() == 0 {
			t.Errorf("%s is not in the golden file", path)
		}
	}
}

func TestAnEmptyListIsNotAnAbsentOne(t *testing.T) {
	rule := Rule{
		EndpointSelector: &EndpointSelector{},
		Ingress:          []IngressRule{{FromEndpoints: []EndpointSelector{}}, {}},
	}
	encoded, err := json.Marshal(&rule)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"endpointSelector":{},"ingress":[{"fromEndpoints":[]},{}]}`
	if string(encoded) != want {
		t.Errorf("want %s, got %s", want, encoded)
	}
	var read Rule
	if err := json.Unmarshal(encoded, &read); err != nil {
		t.Fatal(err)
	}
	if read.Ingress[0].FromEndpoints == nil || read.Ingress[1].FromEndpoints != nil {
		t.Errorf("an empty and an absent list are read as %#v", read.Ingress)
	}
}

func TestARequiredFieldIsAlwaysWritten(t *testing.T) {
	encoded, err := json.Marshal(EndpointChangeRequest{SyncBuildEndpoint: Ptr(false)})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"state":"","sync-build-endpoint":false}`; string(encoded) != want {
		t.Errorf("want %s, got %s", want, encoded)
	}
}

func TestAPortIsANumberOrAName(t *testing.T) {
	for text, want := range map[string]PortText{`"80"`: "80", `80`: "80", `"http"`: "http"} {
		var port Port
		if err := json.Unmarshal([]byte(`{"port":`+text+`}`), &port); err != nil || port.Port != want {
			t.Errorf("%s is read as %q: %v", text, port.Port, err)
		}
	}
	for _, text := range []string{`8.5`, `true`, `[80]`, `{}`} {
		var port Port
		if err := json.Unmarshal([]byte(`{"port":`+text+`}`), &port); err == nil {
			t.Errorf("%s is read as %q", text, port.Port)
		}
	}
}

func TestAnICMPTypeIsANumberOrAName(t *testing.T) {
	for text, want := range map[string]string{`8`: `8`, `"8"`: `8`, `"EchoRequest"`: `"EchoRequest"`} {
		var field ICMPField
		if err := json.Unmarshal([]byte(`{"type":`+text+`}`), &field); err != nil {
			t.Errorf("%s is not read: %v", text, err)
		}
		if encoded, err := json.Marshal(field); err != nil || string(encoded) != `{"type":`+want+`}` {
			t.Errorf("%s is written as %s: %v", text, encoded, err)
		}
	}
	for _, text := range []string{`8.5`, `true`, `[8]`, `{}`} {
		var field ICMPField
		if err := json.Unmarshal([]byte(`{"type":`+text+`}`), &field); err == nil {
			t.Errorf("%s is read as %q", text, field.Type)
		}
	}
}

func TestRulesAreReadFromTheText(t *testing.T) {
	policy := Policy{Policy: `[{"endpointSelector":{},"ingress":[{}]}]`, Revision: 7}
	rules, err := policy.Rules()
	if err != nil || len(rules) != 1 || len(rules[0].Ingress) != 1 {
		t.Errorf("read %v: %v", rules, err)
	}
	broken := Policy{Policy: `[{`, Revision: 8}
	if _, err := broken.Rules(); err == nil || !strings.Contains(err.Error(), "revision 8") {
		t.Errorf("broken rules are %v", err)
	}
}
