/** Computes the bitmaps of the XDP deny list and writes its changes to the tries and bitmaps. */
package agent.datapath.manager.prefilter;
