package gitops

import "context"

type Withdrawal struct{ Environment, Head, Base, Why string }

func Submit(context.Context, PullRequests, Submission) (SubmissionResult, error) { return SubmissionResult{}, nil }
func Withdraw(context.Context, PullRequests, Withdrawal) ([]PullRequest, error) { return nil, nil }
