package githubtest

// App is a GitHub App.
type App struct{}
