/**
 * The deny list at XDP: which cells of the bitmaps it sets, and how a change reaches the kernel.
 */
package agent.datapath.manager.prefilter;
