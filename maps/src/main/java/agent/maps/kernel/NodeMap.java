package agent.maps.kernel;

import agent.bindings.MapSpec;
import agent.maps.format.MapFormat;

/**
 * The properties of a node's map that BTF does not contain; the shipped objects declare the shape.
 *
 * @param name as declared in the objects
 * @param format of its keys and values
 * @param hasMirror whether only the agent writes the map, entry by entry, so that a mirror can
 *     follow
 */
public record NodeMap(String name, MapFormat format, boolean hasMirror) {
  /** Returns the definition of this map with the shape that an object declares. */
  MapDefinition of(MapSpec declared) {
    return new MapDefinition(declared, format, hasMirror);
  }
}
