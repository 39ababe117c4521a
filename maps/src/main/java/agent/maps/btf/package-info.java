/** Parses BTF and ELF objects. */
package agent.maps.btf;
