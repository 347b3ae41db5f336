// Package htmlreport makes the report of a fleet: one HTML file that needs nothing else, with the matrix of deployment targets
// and cluster types of each environment, why each is where it is, its configuration and its manifests. The same input gives
// the same bytes.
//
// The file holds an index of all environments as JSON, and for each cluster type what is on it as compressed JSON, which the
// browser unpacks when somebody looks at it: so a fleet of 300 cluster types and 1,500 targets opens at once. Everything that
// the model says is data in it; a policy in the head lets the browser run nothing but the script that is embedded here.
package htmlreport
