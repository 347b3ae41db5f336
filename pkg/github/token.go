package github

import (
	"context"
	"fmt"
	"time"
)

// Token is a credential for GitHub.
type Token struct {
	// Value is the secret.
	Value string
	// Minted is when it was made for this run. Zero is a token that was there before: one that is refused
	// is then refused for good, while a token that was just made may not be known everywhere yet.
	Minted time.Time
	// Expires is when it ends; zero is unknown.
	Expires time.Time
}

// TokenSource hands out the token for the next request.
type TokenSource interface {
	Token(ctx context.Context) (Token, error)
}

// appTokens is a TokenSource of a GitHub App.
type appTokens interface {
	// renew makes the next token a new one, in place of one that GitHub refuses.
	renew(value string)
	// appID is the id of the App.
	appID() string
}

// StaticToken is the token of a variable. The empty one asks GitHub without a token.
type StaticToken string

// Token returns the token.
func (s StaticToken) Token(context.Context) (Token, error) { return Token{Value: string(s)}, nil }

// Format hides the token from whoever prints what holds it, with any verb.
func (s StaticToken) Format(f fmt.State, _ rune) { fmt.Fprint(f, "***") }

// Format hides the secret.
func (t Token) Format(f fmt.State, _ rune) { fmt.Fprint(f, "***") }
