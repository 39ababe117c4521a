/** Contains the bindings that jextract generates from the system's libbpf headers; never edited. */
package agent.bindings.libbpf;
