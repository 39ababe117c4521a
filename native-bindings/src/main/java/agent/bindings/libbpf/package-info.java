/** What jextract makes of the system's libbpf headers; generated, never edited. */
package agent.bindings.libbpf;
