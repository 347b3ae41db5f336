// Package program runs programs of others: one that tells what clusters run, and one that follows a deployment.
//
// In: the text of a command, which no shell reads, and a promote.Deployment, which the program finds in its environment;
// the secrets of kalypso it does not find there. Out: of the first promote.Sighting values or a promote.FleetError, of
// the second that it ended well. What they print is bounded or handed on as it comes, and they end with the run.
package program
