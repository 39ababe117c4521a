package agent.maps.layout;

/** A constant of a C enum with the same number. */
public interface Numbered {
  int number();

  /** Returns the C name without the prefix of its enum. */
  String name();
}
