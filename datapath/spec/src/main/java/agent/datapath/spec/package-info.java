/**
 * Plain data and interfaces that the packages of the datapath and its callers share; it imports
 * none of them.
 */
package agent.datapath.spec;
