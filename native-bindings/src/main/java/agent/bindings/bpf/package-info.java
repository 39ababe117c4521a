/**
 * Objects, programs, links, filters and maps of the kernel, and the file systems that hold them.
 */
package agent.bindings.bpf;
