/** Plain data and interfaces of the datapath that its packages and its callers share. */
package agent.datapath.manager.spec;
