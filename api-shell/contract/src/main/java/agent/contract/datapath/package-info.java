/** Kernel maps and the prefilter on the wire. */
package agent.contract.datapath;
