package agent.maps.kernel;

import agent.bindings.bpf.MapSpec;
import agent.maps.format.MapFormat;

/**
 * The properties of a node's map that BTF does not contain; the shipped objects declare the shape.
 *
 * @param name as declared in the objects
 * @param format of its keys and values
 * @param hasMirror whether only the agent writes the map, entry by entry, so that a mirror can
 *     follow
 * @param layout version of the layout of keys and values, from 1; a release that changes the layout
 *     raises it, so that the map of the previous release is known by the name of its pin
 */
public record MapProperties(String name, MapFormat format, boolean hasMirror, int layout) {
  /** Returns a copy with another version of the layout. */
  MapProperties withLayout(int version) {
    return new MapProperties(name, format, hasMirror, version);
  }

  /** Returns the name of the pin: that of the map, with the version of its layout from 2 on. */
  public String pinName() {
    return layout == 1 ? name : name + "_v" + layout;
  }

  /** Returns the definition of this map with the shape that an object declares. */
  MapDefinition of(MapSpec declared) {
    return new MapDefinition(declared, format, hasMirror);
  }
}
