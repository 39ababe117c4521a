/**
 * BPF maps of the kernel: typed access without allocation, batches, cursors, mappings, the ring.
 */
package agent.maps.kernel;
