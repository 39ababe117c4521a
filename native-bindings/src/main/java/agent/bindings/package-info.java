/**
 * The kernel's BPF calls from Java: libbpf and the few system calls beside it, without allocation
 * on the hot ones.
 */
package agent.bindings;
