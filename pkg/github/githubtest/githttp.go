package githubtest

import (
	"net/http"
	"path/filepath"
	"strings"
)

// gitRepo finds the repository that git asks for, and the path below it. It is nil for a request to the API.
func (g *registry) gitRepo(path string) (*Repo, string) {
	name, below := "", ""
	for _, service := range []string{"info/refs", "git-upload-pack", "git-receive-pack"} {
		if before, ok := strings.CutSuffix(strings.TrimPrefix(path, "/"), "/"+service); ok {
			name, below = strings.TrimSuffix(before, ".git"), service
		}
	}
	if name == "" {
		return nil, ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	repo := g.repos[strings.ToLower(name)]
	if repo == nil || repo.options.Dir == "" {
		return nil, ""
	}
	return repo, below
}

// serveGit serves fetches and pushes of git, with a token for the password as on GitHub.
func (g *registry) serveGit(w http.ResponseWriter, r *http.Request, repo *Repo, below string) {
	push := strings.HasSuffix(below, "git-receive-pack") || r.URL.Query().Get("service") == "git-receive-pack"
	if status, text := g.refuseGit(r, repo, push); status != 0 {
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, text, status)
		return
	}
	handler, err := repo.git()
	if err != nil {
		g.violate(err.Error())
		http.Error(w, "git: "+err.Error(), http.StatusInternalServerError)
		return
	}
	inner := r.Clone(r.Context())
	inner.URL.Path = "/" + filepath.Base(repo.options.Dir) + "/" + below
	handler.ServeHTTP(w, inner)
}

// refuseGit says why git may not have what it asks for; the status is 0 if it may.
func (g *registry) refuseGit(r *http.Request, repo *Repo, push bool) (status int, text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, secret, given := r.BasicAuth()
	token := g.token(secret)
	need := "contents=read"
	if push {
		need = "contents=write"
	}
	switch {
	case given && token == nil:
		return http.StatusUnauthorized, "Invalid username or token."
	case !push && !repo.options.Private:
		return 0, ""
	case !given:
		return http.StatusUnauthorized, "Authentication required"
	case !token.reaches(repo) && repo.options.Private:
		return http.StatusNotFound, "Repository not found."
	case !token.reaches(repo) || !token.has(need):
		return http.StatusForbidden, "Permission to " + repo.Name + ".git denied to " + token.Login + "."
	case push && repo.options.Archived:
		return http.StatusForbidden, "This repository was archived so it is read-only."
	}
	return 0, ""
}
