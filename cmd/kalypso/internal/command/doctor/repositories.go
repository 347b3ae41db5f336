package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// controlPlane reads the environments, and reports whether there are any.
func (r *run) controlPlane(ctx context.Context) bool {
	r.Begin("reading the control plane")
	environments, diags := r.Loader.Environments(ctx)
	r.unreachable = r.Loader.Main() == nil && slices.ContainsFunc(diags, func(d diag.Diagnostic) bool {
		return d.Rule == giterror.RuleHostUnreachable || d.Rule == giterror.RuleRemoteFailed
	})
	r.addErrors("control-plane", diags)
	if main := r.Loader.Main(); main != nil {
		r.Known, r.Names = environments, session.EnvironmentNames(environments)
		r.ok("control-plane", "control plane: branch %q of %s has %s", main.Ref.Branch, r.shown(ctx, main.Ref), diag.Plural(len(r.Names), "environment"))
	}
	if repo, err := r.Flags.FindControlPlane(r.Host); err == nil && !r.unreachable {
		r.clock(ctx, r.where(model.Ref{Repo: repo}))
	}
	return len(r.Known) > 0
}

// addErrors adds the errors of reading the model. An environment without a promoted commit is a warning: every environment
// begins so.
func (r *run) addErrors(check string, diags diag.List) {
	for _, d := range diags.Only(diag.Error) {
		message := d.Message
		if !d.At.IsZero() {
			message = d.At.String() + ": " + message
		}
		if d.Rule == "not-promoted" {
			r.warn(check, d.Hint, "%s", message)
		} else {
			r.error(check, hintOf(d.Rule, d.Hint), "%s", message)
		}
	}
}

// where returns where a ref is read from; empty if it names no repository.
func (r *run) where(ref model.Ref) string {
	at, err := r.Reader.Where(ref)
	if err != nil {
		return ""
	}
	return at
}

// shown returns where a ref is read from, and with which credential.
func (r *run) shown(ctx context.Context, ref model.Ref) string {
	at, err := r.Reader.Locate(ref)
	switch {
	case err != nil || at.Address.Local():
		return r.where(ref)
	case at.Address.Scheme == "ssh":
		return at.Read + " (over ssh)"
	}
	if origin := r.origin(ctx, ref.Role, at.Read); origin != "" {
		return fmt.Sprintf("%s (with %s)", at.Read, origin)
	}
	return at.Read + " (without a credential)"
}

// origin returns where the token for a repository is from; empty if there is none.
func (r *run) origin(ctx context.Context, role model.Role, at string) string {
	_, origin, err := r.Reader.Credential(ctx, role, at)
	if err != nil {
		return ""
	}
	return origin
}

// maxSkew is by how much the clocks may differ: that is what the tokens of a GitHub App tolerate.
const maxSkew = time.Minute

// clock compares the clock of this machine with that of a Git server, which it sends no credential.
func (r *run) clock(ctx context.Context, at string) {
	if !strings.HasPrefix(at, "http") {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/info/refs?service=git-upload-pack", nil)
	if err != nil {
		r.unchecked("clock", "clock", err)
		return
	}
	client := http.Client{Transport: session.Transport(r.Host, r.Progress), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		r.unchecked("clock", "clock", giterror.Unreachable(request.URL.Host, err))
		return
	}
	_ = answer.Body.Close() // only the header is read
	date, err := http.ParseTime(answer.Header.Get("Date"))
	skew := r.Now().Sub(date).Round(time.Second)
	switch {
	case err != nil:
		r.unchecked("clock", "clock", fmt.Errorf("%s sends no date", request.URL.Host))
	case skew.Abs() > maxSkew:
		r.warn("clock", "synchronize the clock: otherwise GitHub refuses the tokens of a GitHub App",
			"the clock of this machine differs by %v from that of %s", skew, request.URL.Host)
	default:
		r.ok("clock", "the clock of this machine agrees with that of %s", request.URL.Host)
	}
}

// environment checks the branch of an environment and its GitOps repositories, and collects the application
// repositories without reading them.
func (r *run) environment(ctx context.Context, e *model.Environment) {
	name := e.Name.Value
	r.Begin("checking " + name)
	skip := func(source.Place) (string, bool) { return "", true }
	fleet, diags := r.Loader.FleetAt(ctx, e, r.Names, source.Pins{Commit: skip})
	r.addErrors("environment", diags)
	if fleet == nil || ctx.Err() != nil {
		return
	}
	ref := source.PlatformRef(e)
	r.ok("environment", "environment %q: branch %q of %s is readable", name, ref.Branch, r.shown(ctx, ref))
	for _, registration := range fleet.Registrations {
		ref := source.TenantRef(registration)
		if key := ref.Repo + " " + ref.Branch; !registration.Broken && !r.once[key] {
			r.once[key] = true
			r.applications = append(r.applications, ref)
		}
	}
	if len(fleet.GitOpsRepos) == 0 {
		r.warn("gitops-repo", "a GitOpsRepo names the branch that kalypso render publishes to", "environment %q has no GitOpsRepo", name)
	}
	for _, repo := range fleet.GitOpsRepos {
		if !repo.Broken {
			r.gitOps(ctx, name, repo)
		}
	}
}

// gitOps checks one GitOps repository of an environment.
func (r *run) gitOps(ctx context.Context, environment string, repo *model.GitOpsRepo) {
	const check = "gitops-repo"
	ref := source.OutputRef(repo)
	about := fmt.Sprintf("environment %q: GitOpsRepo %q: ", environment, repo.Name.Value)
	at := r.where(ref)
	tip, err := r.Reader.Tip(ctx, ref)
	var failed *giterror.Error
	switch {
	case at == "": // reading the environment has reported it
		return
	case errors.As(err, &failed) && failed.Rule == giterror.RuleBranchNotFound:
		r.warn(check, "kalypso render --env "+environment+" --create-branch creates it", "%s%v", about, err)
	case err != nil:
		r.errorOf(check, about, err)
		return
	case tip == "":
		r.error(check, "name a Git repository", "%s%s is a plain directory, so nothing can be published to it", about, at)
		return
	default:
		r.ok(check, "%sbranch %q of %s is readable", about, ref.Branch, r.shown(ctx, ref))
	}
	if err := r.Reader.CheckPush(ctx, ref); err != nil {
		r.errorOf("push", about, err)
	} else {
		r.ok("push", "%spush access to %s", about, at)
	}
	r.onGitHub(ctx, at, repo)
}

// registered checks the application repositories of the environments, all at once.
func (r *run) registered(ctx context.Context) {
	r.Begin("checking application repositories")
	r.Reader.Prepare(r.applications)
	errs := make([]error, len(r.applications))
	var wait sync.WaitGroup
	for i, ref := range r.applications {
		wait.Go(func() { _, errs[i] = r.Reader.Tip(ctx, ref) })
	}
	wait.Wait()
	var failed diag.List
	for i, ref := range r.applications {
		if errs[i] != nil {
			giterror.AddTo(&failed, ref, errs[i])
		}
	}
	r.addErrors("application", failed.Sorted())
	if readable := len(errs) - failed.Count(diag.Error); readable > 0 {
		r.ok("application", "application repositories: %d of %d readable", readable, len(errs))
	}
}
