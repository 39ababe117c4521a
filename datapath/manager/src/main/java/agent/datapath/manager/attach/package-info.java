/** Hangs programs on hooks by pinned links or by filters, and replaces them without a gap. */
package agent.datapath.manager.attach;
