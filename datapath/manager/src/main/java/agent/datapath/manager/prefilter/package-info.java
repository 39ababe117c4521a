/** Computes the bitmaps and tables of the XDP deny list and writes their changes to the kernel. */
package agent.datapath.manager.prefilter;
