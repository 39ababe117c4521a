package agent.maps.layout;

/** A constant of a C enum with the same number. */
public interface Numbered {
  int number();
}
