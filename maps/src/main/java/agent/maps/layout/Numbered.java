package agent.maps.layout;

/** A constant of a C enum, under the same number. */
public interface Numbered {
  int number();

  /** The C name without the prefix of its enum. */
  String name();
}
