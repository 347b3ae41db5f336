package model

import (
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model/yamldoc"
)

// parser decodes one document.
type parser struct {
	*yamldoc.Document
	source       *Source
	registration *WorkloadRegistration
	// limits are those of the source, for texts that hold YAML themselves.
	limits Limits
	// diags holds what was found in this document.
	diags *diag.List
	kind  string
}
