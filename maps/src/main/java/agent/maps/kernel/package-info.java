/**
 * Defines and opens the kernel's BPF maps: definitions from BTF, typed access without allocation,
 * cursors, batches, mapped arrays and the ring buffer.
 */
package agent.maps.kernel;
