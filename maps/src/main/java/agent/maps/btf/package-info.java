/** Reads BTF from objects and from the kernel, and holds the layouts of Java against it. */
package agent.maps.btf;
