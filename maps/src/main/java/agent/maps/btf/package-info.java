/** Parses BTF and ELF objects, and compares the layouts that Java declares with BTF. */
package agent.maps.btf;
