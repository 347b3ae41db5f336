package main

// What git does to publish, as scripts: $1 is the URL, $2 an empty folder to work in, $3 the scene's own.
const (
	// gitHermetic keeps the configuration of the machine out.
	gitHermetic = `
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0
export GIT_AUTHOR_NAME=Bench GIT_AUTHOR_EMAIL=bench@example.com GIT_COMMITTER_NAME=Bench GIT_COMMITTER_EMAIL=bench@example.com
`
	// gitClone gets the trees of the branch, and no file.
	gitClone = `
git clone --quiet --filter=blob:none --depth 1 --no-checkout --branch dev "$1" "$2/clone"
cd "$2/clone"
`
	// gitIndex is the usual way to make a commit: by way of the index. --missing-ok keeps git from
	// fetching every file.
	gitIndex = gitClone + `
git read-tree HEAD
git hash-object -w --stdin-paths <"$3/sources" | sed 's/^/100644 /' | paste - "$3/names" | git update-index --index-info
tree=$(git write-tree --missing-ok)
git push --quiet origin "$(echo bench | git commit-tree -p HEAD "$tree"):refs/heads/deployment/dev"
`
	// gitImport is the fastest way that git has: no index.
	gitImport = gitClone + `
git fast-import --quiet <"$3/ten.stream"
git push --quiet origin deployment/dev
`
	// gitFirst makes a first commit.
	gitFirst = `
git init --quiet --bare "$2/new"
cd "$2/new"
git fast-import --quiet <"$3/all.stream"
git push --quiet "$1" deployment/dev
`
)
