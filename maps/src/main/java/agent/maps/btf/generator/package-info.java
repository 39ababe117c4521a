/** Java sources from BTF and headers: a flyweight for each struct, constants for each enum. */
package agent.maps.btf.generator;
