package validate

import (
	"encoding/xml"
	"io"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// junitSuites is a file as JUnit writes it: a test case for what concerns all environments, and one for each environment.
type junitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure"`
	// Output are warnings and notices of a test case that does not fail.
	Output string `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// addCase appends a test case, which fails if there are errors.
func (s *junitSuite) addCase(name string, diags diag.List) {
	diags = diags.Sorted()
	var text strings.Builder
	for _, d := range diags {
		text.WriteString(diag.Format(d, diag.Style{}))
	}
	c := junitCase{Class: "kalypso", Name: name, Output: text.String()}
	if errs := diags.Only(diag.Error); len(errs) > 0 {
		c.Failure, c.Output = &junitFailure{diags.Summary(), errs[0].Rule, text.String()}, ""
		s.Failures++
	}
	s.Cases = append(s.Cases, c)
	s.Tests++
}

// writeJUnit writes what was found in the run and in each environment.
func writeJUnit(run *session.Session, _ diag.List) error {
	suite := junitSuite{Name: "kalypso validate"}
	suite.addCase("model", run.Diags)
	for _, r := range run.Results {
		suite.addCase(r.Environment.Name.Value, r.Diags)
	}
	document, err := xml.MarshalIndent(junitSuites{Suite: suite}, "", "  ")
	if err == nil {
		_, err = io.WriteString(run.Stdout, xml.Header+string(document)+"\n")
	}
	return err
}
